"""The full table of coverage: how often each method exceeds the true ε, as CSV.

python -m tests.benchmarks.coverage coverage.csv [audits]

Exact enumeration for counts, seeded simulation of 2,000 audits for the rest. The last lines say
which bounds exceeded the truth more often than allowed (none should), and which numbers that are
no bounds never exceeded it (none should).
"""

import csv
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.contextleak_inspect.audit_methods import METHODS
from tests.contextleak_inspect.coverage import (
    Row,
    enumerated,
    enumerated_gaussian,
    ever_refuted,
    simulated,
)
from tests.contextleak_inspect.worlds import EPSILONS, worlds

EXACT_ARMS = [(25, 25), (50, 100), (100, 25), (500, 500), (3000, 100), (3000, 3000)]
SIMULATED_ARMS = [(25, 25), (100, 50), (500, 500), (3000, 1000)]
LARGE_WORLDS = ("gaussian ε=0", "votes q=r=0.01 ε=1", "votes q=r=0.01 ε=10")


def rows(audits: int) -> Iterator[Row]:
    """Every row of the table."""
    for arms in EXACT_ARMS:
        for epsilon in EPSILONS:
            for delta in (0.0, 1e-5, 0.01):
                yield from enumerated(*arms, epsilon, delta)
            yield from enumerated_gaussian(*arms, epsilon)
    for world in worlds():
        seed = zlib.crc32(world.name.encode())
        yield from ever_refuted(world, 500, audits, seed)
        for arms in SIMULATED_ARMS:
            if max(arms) < 3000 or world.name in LARGE_WORLDS:
                yield from simulated(world, *arms, audits, seed, tuple(METHODS))


def main(path: Path, audits: int) -> None:
    """Write the table and print what contradicts the promises, and a summary per method."""
    done: list[Row] = []
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        for row in rows(audits):
            writer.writerow(row)
            file.flush()
            done.append(row)
    print(f"{'method':36} {'kind':12} {'rows':>5} {'worst':>8}  where")
    for method, kind in sorted({(row.method, row.kind) for row in done}):
        mine = [row for row in done if (row.method, row.kind) == (method, kind)]
        worst = max(mine, key=lambda row: row.exceeded)
        where = f"{worst.world}, {worst.n_in} + {worst.n_out}"
        print(f"{method:36} {kind:12} {len(mine):5} {worst.exceeded:8.4f}  {where}")
    broken = [row for row in done if row.kind == "bound" and row.exceeded > row.allowed]
    print(f"bounds above what is allowed: {broken or 'none'}")
    kinds = {row.kind for row in done} - {"bound", "credible"}
    tame = [kind for kind in kinds if all(r.exceeded <= r.allowed for r in done if r.kind == kind)]
    print(f"kinds that are no bounds and never exceeded: {tame or 'none'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
