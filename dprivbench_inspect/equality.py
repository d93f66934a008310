"""Whether two formulas are equal, by sympy in a process of its own that is stopped at a limit.

Simplifying a formula can take for ever, and a model chooses the formula. So sympy never runs here:
a worker does it, and one that takes too long is killed and started anew when it is next needed.
"""

import atexit
import contextlib
import json
import subprocess
import sys
import threading
from typing import IO, Any

from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tree import Names, Node

LIMIT = 3.0  # seconds for one pair of formulas
_START_LIMIT = 120.0  # seconds until sympy is imported, on a machine that is busy
PLAIN = Names(entry="", vectors=frozenset())  # no letter of a formula stands for data


def proved_equal(left: str, right: str, limit: float = LIMIT) -> bool:
    r"""Whether sympy shows within the limit that two formulas in LaTeX are equal.

    Letters stand for positive numbers, n for a whole one. False says that it was not shown.
    """
    return _WORKER.ask([left, right], limit)


class _Worker:
    """A process that answers one pair at a time; started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        atexit.register(self.stop)

    def ask(self, formulas: list[str], limit: float) -> bool:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    encoding="utf-8",
                )
                if self._line(self._process, "", _START_LIMIT) != "ready":
                    raise RuntimeError(
                        f"the sympy worker, {sys.executable} -m {__name__}, does not start"
                    )
            return self._line(self._process, json.dumps(formulas), limit) == "True"

    @staticmethod
    def _line(process: "subprocess.Popen[str]", request: str, limit: float) -> str:
        """The worker's next line; empty if it was killed at the limit, or died of the request."""
        timer = threading.Timer(limit, process.kill)
        timer.start()
        try:
            if request:
                _pipe(process.stdin).write(f"{request}\n")
                _pipe(process.stdin).flush()
            line = _pipe(process.stdout).readline().strip()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            _end(process)
        return line

    def stop(self) -> None:
        if self._process is not None:
            _end(self._process)


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.wait()
    _pipe(process.stdout).close()
    with contextlib.suppress(BrokenPipeError):  # of a request that was not read
        _pipe(process.stdin).close()


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None  # asked for above
    return stream


_WORKER = _Worker()


def simplifies_to_equal(left: str, right: str) -> bool:
    r"""The same without a limit, in this process; for formulas that are known to be harmless.

    >>> simplifies_to_equal(r"\frac{2n}{n^2}", r"2n^{-1}")
    True
    """
    import sympy as sp

    difference = _to_sympy(read_formula(left, PLAIN)) - _to_sympy(read_formula(right, PLAIN))
    forms = (difference, difference.rewrite(sp.exp))
    return any(sp.simplify(form) == 0 for form in forms)


def _symbol(name: str) -> Any:
    import sympy as sp

    return sp.Symbol(name.lstrip("\\"), positive=True, integer=True if name == "n" else None)


def _to_sympy(node: Node) -> Any:
    import sympy as sp

    args = [_to_sympy(arg) for arg in node.args]
    operations: dict[str, Any] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b,
        "neg": lambda a: -a,
        "abs": sp.Abs,
        "max": sp.Max,
        "min": sp.Min,
        "floor": sp.floor,
        "ceil": sp.ceiling,
    }
    calls = {
        "exp": sp.exp,
        "log": sp.log,
        "sin": sp.sin,
        "cos": sp.cos,
        "tan": sp.tan,
        "sinh": sp.sinh,
        "cosh": sp.cosh,
        "tanh": sp.tanh,
        "arctan": sp.atan,
        "arcsin": sp.asin,
        "arccos": sp.acos,
    }
    match node.op:
        case "num":
            return sp.Rational(repr(node.value))
        case "sym":
            return {"e": sp.E, r"\pi": sp.pi}.get(node.name, _symbol(node.name))
        case "call":
            return calls[node.name](*args)
    return operations[node.op](*args)


def main() -> None:
    """Answer requests from standard input, one a line, until it ends."""
    import sympy  # noqa: F401  # before the clock of the first request starts

    print("ready", flush=True)
    for line in sys.stdin:
        print(simplifies_to_equal(*json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
