"""citations(): a reply's "Used:" line → does it cite what the question rests on?"""

from collections.abc import Sequence
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from dprivbench_inspect.citations import Citation, Cited, citation_summary, parse_citations
from dprivbench_inspect.parsing import visible_text
from dprivbench_inspect.refusals import from_task
from dprivbench_inspect.retrieval import recall
from dprivbench_inspect.scorers import reply_content
from dprivbench_inspect.versions import told

CITING = 1  # moves when the same reply may be read otherwise


@metric(scores="unreduced")
def citation_rates() -> Metric:
    """Recall and precision of citations, replies without any, and what the search found."""

    def compute(scores: list[SampleScore]) -> Value:
        return citation_summary(citations_of(scores))

    return compute


@scorer(metrics=[citation_rates()])
def citations() -> Scorer:
    """Compare the ids that a reply cites with those of the theorems that the question rests on.

    The value is the recall: the share of the right theorems that is cited. Everything else stands
    in the metadata, so a log can be scored again.
    """

    async def score(state: TaskState, target: Target) -> Score:
        right, shown = (
            from_task(state.metadata, key, "citations", "dprivbench_hard")
            for key in ("right", "shown")
        )
        cited = parse_citations(visible_text(reply_content(state.output)), shown)
        return Score(
            value=recall(cited.shown if cited else [], right),
            answer=", ".join(cited.shown) if cited else None,
            explanation=f"Rests on {', '.join(right)}.",
            metadata={
                "epoch": state.epoch,
                "cited": cited._asdict() if cited else None,
                "citing": CITING,
                **told(state.metadata),
            },
        )

    return score


def citations_of(scores: Sequence[SampleScore]) -> list[Citation]:
    """Citations from the scores of `citations`, one a question and epoch; others are left out."""
    found = []
    for sample_score in scores:
        own: dict[str, Any] = sample_score.score.metadata or {}
        about: dict[str, Any] = sample_score.sample_metadata or {}
        if "citing" not in own:
            continue
        cited = own["cited"]
        found.append(
            Citation(
                str(sample_score.sample_id),
                tuple(about["right"]),
                tuple(about["shown"]),
                Cited(tuple(cited["shown"]), tuple(cited["other"])) if cited else None,
                own.get("epoch", 1),
            )
        )
    return found
