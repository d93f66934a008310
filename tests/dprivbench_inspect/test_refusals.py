"""Refusals are one line, for Python a ValueError and for the command line click's own error."""

from pathlib import Path

import click
import pytest
from inspect_ai import eval, score
from inspect_ai.scorer import Scorer

from dprivbench_inspect.attribution_scorer import labelled_cause
from dprivbench_inspect.citation_scorer import citations
from dprivbench_inspect.noise_scorer import noise_scale
from dprivbench_inspect.refusals import ArgumentError, from_task, one_line_errors
from dprivbench_inspect.scorers import verdict
from dprivbench_inspect.tasks import dprivbench_cat1


@pytest.mark.parametrize("error", [ValueError("no\n  good"), FileNotFoundError("no\tgood")])
def test_a_refusal_becomes_one_line_with_its_cause(error: Exception) -> None:
    @one_line_errors
    def build() -> None:
        raise error

    with pytest.raises(ArgumentError, match=r"^no good$") as caught:
        build()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, click.ClickException)
    assert caught.value.__cause__ is error


def test_a_fault_of_ours_stays_what_it_is() -> None:
    @one_line_errors
    def build() -> None:
        raise KeyError("nothing of the user's")

    with pytest.raises(KeyError):
        build()


def test_what_a_task_wrote_is_found_or_its_task_named() -> None:
    assert from_task({"right": ["zcdp"]}, "right", "citations", "dprivbench_hard") == ["zcdp"]
    with pytest.raises(ArgumentError, match=r"citations is for logs of dprivbench_hard: .*'right'"):
        from_task({}, "right", "citations", "dprivbench_hard")


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (noise_scale(), "noise_scale is for logs of dprivbench_calibrate: a sample has no 'par"),
        (citations(), "citations is for logs of dprivbench_hard: a sample has no 'right'"),
        (labelled_cause(), "labelled_cause is for logs of dprivbench_grader_check: a sample has"),
        (verdict(synonyms="maybe"), "synonyms is true or false, got 'maybe'"),  # type: ignore[arg-type]
    ],
    ids=["noise_scale", "citations", "labelled_cause", "synonyms"],
)
def test_scoring_again_with_what_does_not_fit_the_log_is_refused(
    scorer: Scorer, message: str, tmp_path: Path
) -> None:
    task = dprivbench_cat1(mechanisms="laplace", functions=1)
    (log,) = eval(task, model="dprivbench/always-yes", log_dir=str(tmp_path), display="log")
    with pytest.raises(ArgumentError, match=message):
        score(log, scorer, action="append", display="log")
