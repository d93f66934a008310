"""Logs of runs that nobody ran: written with Inspect's own records, in a few milliseconds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score

from dprivbench_inspect.dataset import load_questions, question_to_sample
from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.questions import Label
from dprivbench_inspect.summaries import accuracy_summary

Answers = Mapping[tuple[str, int], Label | None]  # question and epoch → verdict


def samples_of(category: int, ids: Sequence[str]) -> list[Sample]:
    """Bundled questions by id, as the tasks ask them."""
    by_id = {q.id: q for q in load_questions(category).questions}
    return [question_to_sample(by_id[question]) for question in ids]


def run_log(
    samples: Sequence[Sample],
    answers: Answers,
    *,
    model: str = "lab/model",
    task: str = "dprivbench_cat1",
    arguments: Mapping[str, Any] | None = None,
    eval_id: str = "e1",
    status: str = "success",
    version: int = 1,
    facts: Mapping[str, Any] | None = None,
    grading: int = 1,
    created: str = "2026-11-01T10:00:00+00:00",
    metrics: Mapping[str, float] | None = None,
    scorer: str = "verdict",
) -> EvalLog:
    """A log whose replies have these verdicts; where none is given the sample has an error."""
    epochs = max((epoch for _, epoch in answers), default=1)
    found, outcomes = [], []
    for epoch in range(1, epochs + 1):
        for sample in samples:
            key = str(sample.id), epoch
            label: Label = "yes" if sample.target == "yes" else "no"
            scores = {}
            if key in answers:
                verdict = answers[key]
                scores[scorer] = Score(
                    value={
                        "correct": float(verdict == label),
                        "yes": float(verdict == "yes"),
                        "no": float(verdict == "no"),
                    },
                    answer=verdict,
                    metadata={
                        "epoch": epoch,
                        "label": label,
                        "how": "box" if verdict else "none",
                        "reason": None if verdict else "refusal",
                        "truncated": False,
                        "grading": grading,
                    },
                )
                outcomes.append(Outcome(key[0], label, verdict, epoch))
            found.append(
                EvalSample(
                    id=sample.id or "",
                    epoch=epoch,
                    input=sample.input,
                    target=sample.target,
                    metadata=sample.metadata or {},
                    output=ModelOutput.from_content(model, "a reply"),
                    scores=scores,
                )
            )
    numbers = dict(metrics or accuracy_summary(outcomes))
    planned = len(samples) * epochs
    return EvalLog(
        status=status,  # type: ignore[arg-type]
        eval=EvalSpec(
            created=created,
            task=task,
            task_id=eval_id,
            eval_id=eval_id,
            run_id=eval_id,
            task_version=version,
            dataset=EvalDataset(samples=len(samples)),
            model=model,
            config=EvalConfig(epochs=epochs),
            packages={"inspect_ai": "0.3.285"},
            metadata={
                "full_task_version": f"{version}-A",
                "task_comparability_version": version,
                "source": "bundled",
                "n_questions": len(samples),
                "arguments": {"prompt": "zero_shot", **(arguments or {})},
                **(facts or {}),
            },
        ),
        results=EvalResults(
            total_samples=planned,
            completed_samples=len(outcomes),
            scores=[
                EvalScore(
                    name=scorer,
                    scorer=scorer,
                    metrics={name: EvalMetric(name=name, value=v) for name, v in numbers.items()},
                )
            ],
        ),
        stats=EvalStats(started_at=created, completed_at=created),
        samples=found,
    )


def write(log: EvalLog, path: Path) -> Path:
    """The log as a file; its suffix says in which format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_eval_log(log, str(path))
    return path
