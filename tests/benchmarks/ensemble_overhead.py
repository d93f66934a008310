"""What our part of an audit of 100 trials and 10 shards costs, beside a solver that only asks.

The bare task sends the same prompts with the same seeds through Inspect's own `collect()` and
`generate()` and scores with Inspect's `includes()`; its prompts are made beforehand. Ours is the
whole audit at five ε, scorer, live and final metrics included. `collect()` logs a span around each
call; a second bare task asks without, as ours does. All are plain `Task` objects: Inspect looks up
the package of a registered one, whatever it does. Each run has a process of its own, as a user's
has, or the collector of garbage would walk through earlier logs; the runs take turns whose order
changes, so that a busy machine slows all of them; the medians of the ratios count.
Inspect renews live metrics by the wall clock, about once a second: where others use the
machine too, a trial lasts longer, more renewals fall on it, and our ratio comes out too high.

Prints CPU and wall time per trial, their ratio, what a run costs beyond its trials (Inspect renders
our table of numbers even where it displays nothing), and the size of the log per trial.

python tests/benchmarks/ensemble_overhead.py [rounds]
"""

import multiprocessing
import pathlib
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

from inspect_ai import Task, eval
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect

from contextleak_inspect.calls import ask, at_once, generate_config
from contextleak_inspect.config import audit_config
from contextleak_inspect.dataset import audit_dataset
from contextleak_inspect.tasks import audit_task
from contextleak_inspect.trials import Audit, plan_calls, prepare_audit


class Cost(NamedTuple):
    """Seconds of one run, and kilobytes of its log."""

    cpu: float
    wall: float
    log_kb: float


@solver
def only_ask(audit: Audit, spans: bool) -> Solver:
    """The same calls, put together beforehand; the replies are dropped."""
    planned = {trial.number: plan_calls(audit, trial) for trial in audit.trials}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        trial, model = audit.trials[state.metadata["trial"]], get_model()
        calls = planned[trial.number]
        asked = [ask(model, audit, trial, call) for call in calls]
        await (collect(*asked) if spans else at_once(asked))
        state.output = ModelOutput.from_content("m", "done")
        return state

    return solve


def bare_task(audit: Audit, *, spans: bool = True) -> Task:
    """An audit's calls and nothing else."""
    return Task(
        dataset=audit_dataset(audit),
        solver=only_ask(audit, spans),
        scorer=includes(),
        config=generate_config(audit),
    )


def cost(name: str, trials: int) -> Cost:
    """What one run of a new process costs; a short one before it loads and warms everything."""
    audits = [
        prepare_audit(audit_config({"null_controls": 0, "trials": count})) for count in (4, trials)
    ]
    warm, task = [MAKERS[name](audit) for audit in audits]
    with tempfile.TemporaryDirectory() as folder:
        eval(warm, model="contextleak/simulated", log_dir=folder, display="none")
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = time.process_time(), time.perf_counter()
        (log,) = eval(task, model="contextleak/simulated", log_dir=folder, display="none")
        assert log.status == "success", log.error
        size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir()) / 1000
        return Cost(time.process_time() - cpu, time.perf_counter() - wall, size)


MAKERS = {
    "bare": bare_task,
    "bare without spans": partial(bare_task, spans=False),
    "ours": audit_task,
}


def main(rounds: int = 7, few: int = 20, many: int = 100) -> None:
    """Time both in turns at two numbers of trials; print what a trial and what a run costs."""
    costs: dict[tuple[str, int], list[Cost]] = {}
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as new_process:
        for number in range(1, rounds + 1):
            for trials in (few, many):
                for name in sorted(MAKERS, reverse=bool(number % 2)):
                    found = new_process.submit(cost, name, trials).result()
                    costs.setdefault((name, trials), []).append(found)
                    print(f"{number}/{rounds} {name} {trials}: {found}", flush=True)
    for kind, index in (("CPU", 0), ("wall", 1)):
        parts = {
            name: [
                _trial_and_run(a[index], b[index], few, many)
                for a, b in zip(costs[name, few], costs[name, many], strict=True)
            ]
            for name in MAKERS
        }
        for name, found in parts.items():
            trial, run = (statistics.median(round_[part] for round_ in found) for part in (0, 1))
            both = list(zip(found, parts["ours"], strict=True))
            per_trial = statistics.median(b[0] / a[0] for a, b in both)
            of_100 = statistics.median((b[1] + 100 * b[0]) / (a[1] + 100 * a[0]) for a, b in both)
            print(
                f"{kind}, {name}: a trial {1000 * trial:.1f} ms, a run {run:.2f} s; ours to this: "
                f"{per_trial:.3f} a trial, {of_100:.3f} with the run's share in 100 trials"
            )
    sizes = {name: costs[name, many][-1].log_kb / many for name in MAKERS}
    print("log per trial:", ", ".join(f"{name} {size:.1f} kB" for name, size in sizes.items()))


def _trial_and_run(few_cost: float, many_cost: float, few: int, many: int) -> tuple[float, float]:
    """Seconds of one trial, and of a run without its trials."""
    trial = (many_cost - few_cost) / (many - few)
    return trial, few_cost - few * trial


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
