"""What `make demo` shows: models that need no network on all questions, a real one on a few."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import click
from inspect_ai import eval as run
from inspect_ai.hooks import Hooks, SampleEnd, hooks
from inspect_ai.model import Model

from dprivbench_inspect import tasks
from dprivbench_inspect.named_model import named_model
from dprivbench_inspect.report_formats import as_text
from dprivbench_inspect.report_runs import read_runs
from dprivbench_inspect.report_tables import accuracy_table, f1_table


class _Step(NamedTuple):
    """One run of the demo."""

    task: str
    model: str | Model
    arguments: dict[str, Any]
    options: dict[str, Any]  # for Inspect's eval


OFFLINE = (
    _Step("dprivbench_cat1", "dprivbench/always-yes", {}, {}),
    _Step("dprivbench_cat1", "dprivbench/always-no", {}, {}),
    _Step("dprivbench_cat1", "dprivbench/symbolic", {}, {}),
    _Step("dprivbench_cat2", "dprivbench/always-yes", {}, {}),
    _Step("dprivbench_cat2", "dprivbench/always-no", {}, {}),
)
_SHORT = {"max_tokens": 256, "temperature": 0.0}


def demo(model: str, log_dir: str) -> None:
    """Run all steps and print the tables.

    Args:
        model: The real model, by Inspect's name; where it cannot be had, the reason is printed and
            the others run.
        log_dir: Where the logs go.

    Raises:
        click.ClickException: A run failed, or there can be no such folder.
        KeyboardInterrupt: Ctrl-C during a run; what is finished has been printed.
    """
    try:
        Path(log_dir).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"--log-dir {log_dir}: {error}") from error
    steps = [*OFFLINE, *_real_steps(model)]
    logs: list[str] = []
    for number, step in enumerate(steps, start=1):
        if number == len(OFFLINE) + 1:
            _show_replies()
        click.echo(f"{number}/{len(steps)} {step.task} with {step.model} ", nl=False)
        start = time.monotonic()
        made = run(
            getattr(tasks, step.task)(**step.arguments),
            model=step.model,
            log_dir=log_dir,
            display="none",
            **step.options,
        )
        if not made or made[0].status == "cancelled":
            click.echo("stopped")
            _show_tables(logs)
            raise KeyboardInterrupt
        [log] = made
        if log.status != "success":
            raise click.ClickException(f"the run ended with status {log.status}: {log.error}")
        count = log.results.completed_samples if log.results else 0
        click.echo(f" {count} replies in {time.monotonic() - start:.0f} s")
        logs.append(log.location)
    _show_tables(logs)
    click.echo(f"More: dprivbench report {log_dir}")
    click.echo(f"Look at every reply: inspect view start --log-dir {log_dir}")


def _show_tables(logs: list[str]) -> None:
    """All models in one table for each category; the real one answered fewer questions."""
    if not logs:
        return
    runs, _ = read_runs(logs)
    for task, table in (("dprivbench_cat1", accuracy_table), ("dprivbench_cat2", f1_table)):
        if asked := [run for run in runs if run.task == task]:
            click.echo("\n" + as_text(table(asked)))


def _real_steps(name: str) -> list[_Step]:
    """Twenty questions of Category 1 and ten of Category 2, or none with a word why."""
    # A small model hardly ever boxes an answer unless its replies are held to that form.
    held: dict[str, Any] = {"grammar": "yes_no"} if name.startswith("gguf/") else {}
    try:
        model = named_model(name, **held)
    except ValueError as error:
        click.echo(f"Without a real model: {error}")
        return []
    few = {"functions": list(range(1, 6)), "mechanisms": ["laplace", "gaussian_zcdp"]}
    return [
        _Step("dprivbench_cat1", model, few, _SHORT),
        _Step("dprivbench_cat2", model, {}, _SHORT | {"limit": 10, "sample_shuffle": 1}),
    ]


def _show_replies() -> None:
    """A dot for every reply from here on. Hooks known at Inspect's start would be announced."""

    @hooks(name="dprivbench_demo", description="shows that replies come in")
    class Dots(Hooks):
        async def on_sample_end(self, data: SampleEnd) -> None:
            click.echo(".", nl=False)
