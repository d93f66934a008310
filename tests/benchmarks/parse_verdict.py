"""How long `parse_verdict` takes at worst: odd strings of up to 100 kB, the limit is 10 ms.

python tests/benchmarks/parse_verdict.py [number of random strings, 100000 unless given]
"""

import itertools
import random
import sys
import time

from dprivbench_inspect.parsing import parse_verdict

SIZE = 100_000
PIECES = [
    *(
        "{",
        "}",
        "{}",
        "{x}",
        "\\",
        "\\{",
        "\\\\{",
        "$",
        "\\,",
        " ",
        "\n",
        "yes",
        "<",
        "\x02",
        "\ufeff",
    ),
    *("\\boxed{", "\\boxed {", "\\boxed{yes}", "\\boxed{no}\n", "\\boxed{maybe}", "\\boxed{}"),
    *(
        "\\boxed{\\text{Yes}}",
        "\\boxed{\\boxed{",
        "\\fbox{é}",
        "boxed{",
        "\x08oxed{",
        "\\boxed{...",
    ),
    *(
        "<think>",
        "</think>",
        "<think>a</think>",
        "<thinking ",
        "<reasoning>",
        "\\text{",
        "\\color[",
    ),
    *("\\color{", "\\textcolor{red}{", "\\hspace{", "I cannot ", "\u0301\u0316", "e\u0301", "𝐲𝐞𝐬"),
]


def milliseconds(text: str, repeats: int = 1) -> float:
    """CPU time of one call, the best of some."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        parse_verdict(text)
        times.append(time.process_time() - start)
    return 1000 * min(times)


def regular() -> list[str]:
    """Every piece repeated to the full size, and every two pieces after each other."""
    full = [(piece * SIZE)[:SIZE] for piece in PIECES]
    half = [(piece * SIZE)[: SIZE // 2] for piece in PIECES]
    return full + [first + second for first, second in itertools.product(half, half)]


def mixed(rng: random.Random) -> str:
    """Some pieces at random, repeated to a size that is uniform in its logarithm."""
    pieces = rng.sample(PIECES, rng.randint(1, 5))
    size = int(SIZE ** rng.uniform(0.2, 1))
    if rng.random() < 0.5:
        return ("".join(pieces) * size)[:size]
    return "".join(rng.choices(pieces, k=size))[:size]


def main() -> None:
    """Print the worst case among all strings."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = random.Random(0)
    parse_verdict("\\boxed{yes}")
    strings = itertools.chain(regular(), (mixed(rng) for _ in range(number)))
    slowest: list[tuple[float, str]] = []
    total = 0
    for text in strings:
        total += 1
        slowest = sorted([*slowest, (milliseconds(text), text)], reverse=True)[:20]
    again = sorted(((milliseconds(text, 5), text) for _, text in slowest), reverse=True)
    print(f"{total} strings of up to {SIZE} characters; the slowest, best of five:")
    for worst, text in again[:5]:
        print(f"{worst:6.2f} ms  {len(text):6d}  {text[:30]!r} … {text[-30:]!r}")


if __name__ == "__main__":
    main()
