"""What `make demo` shows: noisy votes of a simulated model, then a real one and what it repeats."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click
from inspect_ai import eval as run
from inspect_ai.hooks import Hooks, SampleEnd, hooks
from inspect_ai.model import Model

from contextleak_inspect.arguments import ArgumentError, named_model
from contextleak_inspect.audit_row import audited_rows
from contextleak_inspect.overview import Audited, overview
from contextleak_inspect.report_audits import read_audits
from contextleak_inspect.tasks import contextleak_classification


class _Step(NamedTuple):
    """One audit of the demo."""

    about: str
    model: str | Model
    arguments: dict[str, Any]
    options: dict[str, Any]  # for Inspect's eval


OFFLINE = (
    _Step("noisy votes", "contextleak/simulated", {"epsilon": [1, 8, "inf"], "trials": 100}, {}),
)
# Fewer exemplars and trials than an audit has, so that two cores answer in time.
SHORT: dict[str, Any] = {
    "trials": 24,
    "balanced": True,
    "n_exemplars": 6,
    "null_controls": 0,
    "seed": 3,
}
_COMPLETION = {"query": "begun_completion", "membership": "logprob"}
_CALL = {"max_tokens": 16, "max_connections": 1}


def demo(model: str, log_dir: str) -> None:
    """Run all audits and print their tables.

    Args:
        model: The real model, by Inspect's name; where it cannot be had, the reason is printed and
            the simulated one stands alone.
        log_dir: Where the logs go.

    Raises:
        click.ClickException: A run failed.
        KeyboardInterrupt: Ctrl-C during a run; what is finished has been printed.
    """
    steps = [*OFFLINE, *_real_steps(model)]
    logs: list[str] = []
    bars: list[Callable[[int], None]] = []
    for number, step in enumerate(steps, start=1):
        task = contextleak_classification(**step.arguments)
        name = f"{number}/{len(steps)} {step.about} with {step.model}"
        start = time.monotonic()
        with click.progressbar(length=len(task.dataset), label=name) as bar:
            bars.append(bar.update)
            if number == len(OFFLINE) + 1:
                _count_trials(bars)
            made = run(task, model=step.model, log_dir=log_dir, display="none", **step.options)
        if not made or made[0].status == "cancelled":
            click.echo("  stopped")
            _show_table(logs)
            raise KeyboardInterrupt
        [log] = made
        if log.status != "success":
            raise click.ClickException(f"the run ended with status {log.status}: {log.error}")
        count = log.results.completed_samples if log.results else 0
        click.echo(f"  {count} trials in {time.monotonic() - start:.0f} s")
        logs.append(log.location)
    _show_table(logs)
    click.echo(f"More on each audit: contextleak report {log_dir}")
    click.echo(f"Look at every trial: inspect view start --log-dir {log_dir}")


def _show_table(logs: list[str]) -> None:
    if logs:
        audits, _ = read_audits(logs)
        rows = overview([
            Audited(a.header.eval.model, a.run.config, audited_rows(a.run)) for a in audits
        ])
        click.echo(f"\nContextLeak: does the reply give the canary away?\n{rows}\n")


def _real_steps(name: str) -> list[_Step]:
    """A query that small models cannot follow, then one that they can, without and with a defense.

    Where there is no model, none and a word why.
    """
    try:
        model = named_model(name)
    except ArgumentError as error:
        click.echo(f"Without a real model: {error}")
        return []
    told = SHORT | _COMPLETION
    asked = SHORT | {"query": "if_then_explicit"}
    return [
        _Step("no defense, if-then question", model, asked | {"defense": "none"}, _CALL),
        _Step("no defense, completion", model, told | {"defense": "none"}, _CALL),
        _Step("faux secrets, completion", model, told | {"defense": "faux_secrets"}, _CALL),
    ]


def _count_trials(bars: Sequence[Callable[[int], None]]) -> None:
    """Each trial from here on moves the last bar. Hooks known at Inspect's start are announced."""

    @hooks(name="contextleak_demo", description="shows how far the trials are")
    class Count(Hooks):
        async def on_sample_end(self, data: SampleEnd) -> None:
            bars[-1](1)
