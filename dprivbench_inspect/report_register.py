"""Runs → the `evaluation_report` block of an entry in the public register of Inspect evals."""

import math
import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import yaml

from dprivbench_inspect.report_formats import clean
from dprivbench_inspect.report_runs import Run

# What a reader of the register compares; the names are those of the log.
_METRICS = {
    "dprivbench_cat1": ("accuracy", "mean over mechanisms", "pair accuracy"),
    "dprivbench_cat2": ("F1", "precision", "recall", "accuracy", "pair accuracy"),
    "dprivbench_hard": ("F1", "precision", "recall", "accuracy", "pair accuracy"),
    "dprivbench_calibrate": ("equal", "too little", "too much", "unreadable"),
    "dprivbench_grader_check": (),
}
_ALWAYS = ("no verdict", "truncated", "replies")


def evaluation_report(runs: Sequence[Run]) -> str:
    """YAML of the block: a result a run, and how each was made.

    Raises:
        ValueError: The runs are of several task versions, or none has a result to publish.
    """
    runs = [run for run in runs if _METRICS[run.task]]
    versions = sorted({str(run.facts.get("full_task_version", run.version)) for run in runs})
    if not runs:
        raise ValueError("no run among the logs has a result for the register")
    if len(versions) > 1:
        raise ValueError(f"one report is of one task version, these logs are of {versions}")
    commits = sorted({_commit(run) for run in runs})
    block: dict[str, Any] = {
        "results": [_result(run) for run in runs],
        "commit": commits[0] if len(commits) == 1 else commits,
        "version": versions[0],
        "command": "\n".join(dict.fromkeys(map(_command, runs))),
        "timestamp": max(run.log.stats.completed_at for run in runs),
        "notes": "\n".join(map(_note, runs)),
    }
    text: str = yaml.safe_dump(
        {"evaluation_report": block}, sort_keys=False, allow_unicode=True, width=100
    )
    return text


def _result(run: Run) -> dict[str, Any]:
    numbers = {
        name: run.metrics[name]
        for name in (*_METRICS[run.task], *_ALWAYS)
        if name in run.metrics and not math.isnan(run.metrics[name])
    }
    begin, end = run.log.stats.started_at, run.log.stats.completed_at
    return {
        "model": clean(run.model),
        "task": run.task,
        "provider": clean(run.model.split("/")[0]),
        "time": _duration(begin, end),
        "date": str(end)[:10],
        "metrics": [{"key": key, "value": round(value, 4)} for key, value in numbers.items()],
    }


def _duration(begin: str, end: str) -> str:
    if not begin or not end:
        return "unknown"
    seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def _commit(run: Run) -> str:
    revision = run.log.eval.revision
    if revision is None:
        return "unknown"
    return f"{revision.commit}{' with changes' if revision.dirty else ''}"


def _command(run: Run) -> str:
    """The command line that asks the same again."""
    spec = run.log.eval
    parts = ["inspect", "eval", f"dprivbench_inspect/{run.task}", "--model", clean(spec.model)]
    for name, value in spec.task_args_passed.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        parts += ["-T", f"{name}={clean(text)}"]
    for name, role in (spec.model_roles or {}).items():
        models = role if isinstance(role, list) else [role]
        parts += ["--model-role", f"{name}={','.join(clean(m.model) for m in models)}"]
    settings = {"epochs": spec.config.epochs, "limit": spec.config.limit}
    settings |= spec.model_generate_config.model_dump(
        include={"temperature", "seed", "max_tokens", "reasoning_effort"}, exclude_none=True
    )
    for name, value in settings.items():
        if value is not None and not (name == "epochs" and value == 1):
            text = "-".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            parts += [f"--{name.replace('_', '-')}", text]
    return shlex.join(parts)


def _note(run: Run) -> str:
    done = run.log.results.completed_samples if run.log.results else 0
    facts = run.facts
    revision = f" at {facts['revision']}" if facts.get("revision") else ""
    return clean(
        f"{run.model}, {run.task}: {run.planned} replies planned, {done} done, "
        f"{facts.get('n_questions', '?')} questions from {facts.get('source', '?')}{revision} "
        f"(hash {str(facts.get('questions_hash'))[:8]}), {run.epochs} epochs, inspect_ai "
        f"{run.log.eval.packages.get('inspect_ai')}, package {facts.get('package_version')}"
    )
