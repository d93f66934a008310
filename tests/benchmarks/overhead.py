"""What our part of a run costs: 588 questions x 5 epochs with always-yes, beside a bare task.

The bare task sends the same prompts with Inspect's own `generate()` and `match()`. Both run in one
process, in turns and each first as often as second, so that a busy machine and what the process has
gathered slow both. Prints wall and CPU time and their ratio.

python tests/benchmarks/overhead.py [repeats, 4 unless given]
"""

import gc
import sys
import tempfile
import time
from typing import NamedTuple

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import match
from inspect_ai.solver import generate

from dprivbench_inspect.prompts import prompt_for
from dprivbench_inspect.tasks import dprivbench_cat1

EPOCHS = 5


class Cost(NamedTuple):
    """Seconds of one run."""

    wall: float
    cpu: float


def bare_task(ours: Task) -> Task:
    """The same prompts, put together beforehand."""
    samples = [
        Sample(
            id=sample.id,
            input=prompt_for("zero_shot", str(sample.input), exemplars="", pair=""),
            target=sample.target,
        )
        for sample in ours.dataset
    ]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match())


def cost(task: Task) -> Cost:
    """Seconds that one run of the task takes."""
    gc.collect()
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        (log,) = eval(
            task, model="dprivbench/always-yes", epochs=EPOCHS, log_dir=folder, display="none"
        )
        assert log.status == "success", log.error
        return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def main(repeats: int = 4) -> None:
    """Time both tasks in turns and print the best of each."""
    ours = dprivbench_cat1()
    bare = bare_task(ours)
    for task in (bare, ours):
        eval(
            task, model="dprivbench/always-yes", limit=5, display="none", log_dir=tempfile.mkdtemp()
        )
    ours_costs: list[Cost] = []
    bare_costs: list[Cost] = []
    for number in range(repeats):
        turns = [(bare, bare_costs), (ours, ours_costs)]
        for task, costs in turns if number % 2 == 0 else reversed(turns):
            costs.append(cost(task))
        print(f"{number + 1}/{repeats} bare {bare_costs[-1]}, ours {ours_costs[-1]}", flush=True)
    for name, index in (("wall", 0), ("CPU", 1)):
        best_bare, best_ours = (min(c[index] for c in costs) for costs in (bare_costs, ours_costs))
        n = len(ours.dataset) * EPOCHS
        print(
            f"{name}: bare {best_bare:.1f} s, ours {best_ours:.1f} s for {n} replies, "
            f"ratio {best_ours / best_bare:.3f}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
