"""What our part of an audit costs: 100 trials of 10 shards, beside a solver that only asks.

The bare solver sends the same prompts with the same seeds through Inspect's own `collect()` and
`generate()`. Both run in one process, in turns, so that a busy machine slows both. Prints CPU and
wall time per trial, their ratio, and the size of the log per trial.

python tests/benchmarks/ensemble_overhead.py [repeats]
"""

import pathlib
import sys
import tempfile
import time
from typing import NamedTuple

from inspect_ai import Task, eval
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect

from contextleak_inspect.calls import ask, generate_config
from contextleak_inspect.config import audit_config
from contextleak_inspect.dataset import audit_dataset
from contextleak_inspect.solvers import ensemble
from contextleak_inspect.trials import Audit, plan_calls, prepare_audit


class Cost(NamedTuple):
    """Seconds of one run, and kilobytes of its log."""

    cpu: float
    wall: float
    log_kb: float


@solver
def only_ask(audit: Audit) -> Solver:
    """The same calls, put together beforehand; the replies are dropped."""
    planned = {trial.number: plan_calls(audit, trial) for trial in audit.trials}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        trial, model = audit.trials[state.metadata["trial"]], get_model()
        calls = planned[trial.number]
        await collect(*(ask(model, audit, trial, call) for call in calls))
        state.output = ModelOutput.from_content("m", "done")
        return state

    return solve


def cost(audit: Audit, asking: Solver) -> Cost:
    """What one run costs."""
    task = Task(dataset=audit_dataset(audit), solver=asking, config=generate_config(audit))
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = time.process_time(), time.perf_counter()
        (log,) = eval(task, model="contextleak/simulated", log_dir=folder, display="none")
        assert log.status == "success", log.error
        size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir()) / 1000
        return Cost(time.process_time() - cpu, time.perf_counter() - wall, size)


def main(repeats: int = 5) -> None:
    """Time both in turns and print the best of each."""
    audit = prepare_audit(audit_config({"null_controls": 0}))
    cost(audit, only_ask(audit))
    bare, ours = [], []
    for number in range(repeats):
        bare.append(cost(audit, only_ask(audit)))
        ours.append(cost(audit, ensemble(audit)))
        print(f"{number + 1}/{repeats} bare {bare[-1]}, ours {ours[-1]}", flush=True)
    n = len(audit.trials)
    for name, index in (("CPU", 0), ("wall", 1)):
        best_bare, best_ours = (min(c[index] for c in costs) for costs in (bare, ours))
        print(
            f"{name} per trial: bare {1000 * best_bare / n:.1f} ms, "
            f"ours {1000 * best_ours / n:.1f} ms, ratio {best_ours / best_bare:.3f}"
        )
    print(f"log per trial: bare {bare[-1].log_kb / n:.1f} kB, ours {ours[-1].log_kb / n:.1f} kB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
