"""What our part of an audit costs: 100 trials of 10 shards, beside a solver that only asks.

The bare task sends the same prompts with the same seeds through Inspect's own `collect()` and
`generate()` and scores with Inspect's `includes()`. Ours is the whole audit at five ε, scorer, live
and final metrics included. They run in one process, in turns, so that a busy machine slows both.
Prints CPU and wall time per trial, their ratio, and the size of the log per trial.

python tests/benchmarks/ensemble_overhead.py [repeats]
"""

import pathlib
import sys
import tempfile
import time
from typing import NamedTuple

from inspect_ai import Task, eval
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect

from contextleak_inspect.calls import ask, generate_config
from contextleak_inspect.config import audit_config
from contextleak_inspect.dataset import audit_dataset
from contextleak_inspect.tasks import contextleak_classification
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


def bare_task(audit: Audit) -> Task:
    """An audit's calls and nothing else."""
    return Task(
        dataset=audit_dataset(audit),
        solver=only_ask(audit),
        scorer=includes(),
        config=generate_config(audit),
    )


def cost(task: Task) -> Cost:
    """What one run costs."""
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = time.process_time(), time.perf_counter()
        (log,) = eval(task, model="contextleak/simulated", log_dir=folder, display="none")
        assert log.status == "success", log.error
        size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir()) / 1000
        return Cost(time.process_time() - cpu, time.perf_counter() - wall, size)


def main(repeats: int = 3, few: int = 50, many: int = 250) -> None:
    """Time both in turns at two numbers of trials; print what a trial and what a run costs."""
    costs: dict[tuple[str, int], list[Cost]] = {}
    for number in range(repeats + 1):
        for trials in (few, many):
            settings = {"null_controls": 0, "trials": trials}
            audit = prepare_audit(audit_config(settings))
            for name, task in (
                ("bare", bare_task(audit)),
                ("ours", contextleak_classification(null_controls=0, trials=trials)),
            ):
                found = cost(task)
                if number:  # the first round warms up
                    costs.setdefault((name, trials), []).append(found)
                    print(f"{number}/{repeats} {name} {trials}: {found}", flush=True)
    for kind, index in (("CPU", 0), ("wall", 1)):
        best = {key: min(found[index] for found in runs) for key, runs in costs.items()}
        slope = {n: (best[n, many] - best[n, few]) / (many - few) for n in ("bare", "ours")}
        fixed = {n: best[n, few] - few * slope[n] for n in ("bare", "ours")}
        at_100 = {n: fixed[n] + 100 * slope[n] for n in ("bare", "ours")}
        print(
            f"{kind}: a trial costs {1000 * slope['bare']:.1f} ms bare, "
            f"{1000 * slope['ours']:.1f} ms ours, ratio {slope['ours'] / slope['bare']:.3f}; a run "
            f"{fixed['bare']:.2f} s and {fixed['ours']:.2f} s; 100 trials with all of it, ratio "
            f"{at_100['ours'] / at_100['bare']:.3f}"
        )
    sizes = {n: costs[n, many][-1].log_kb / many for n in ("bare", "ours")}
    print(f"log per trial: bare {sizes['bare']:.1f} kB, ours {sizes['ours']:.1f} kB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
