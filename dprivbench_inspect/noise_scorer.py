"""noise_scale(): a boxed formula → equal, too little, too much or unreadable."""

from collections.abc import Sequence

from anyio import to_thread
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from dprivbench_inspect.boxes import last_box
from dprivbench_inspect.expressions import RESULTS, Comparison, compare_boxed, grid
from dprivbench_inspect.noise_results import NoiseAnswer, noise_summary
from dprivbench_inspect.parsing import CUT_SHORT, read_reply, visible_text
from dprivbench_inspect.refusals import from_task
from dprivbench_inspect.scorers import reply_content, reply_stop_reason
from dprivbench_inspect.versions import told

NOISE_GRADING = 1  # moves when the same reply may get another result


@metric(scores="unreduced")
def noise_rates() -> Metric:
    """Shares of equal, too little, too much and unreadable, with intervals and per mechanism."""

    def compute(scores: list[SampleScore]) -> Value:
        return noise_summary(noise_answers_of(scores))

    return compute


@scorer(metrics=[noise_rates()])
def noise_scale() -> Scorer:
    """Compare the formula in the last box with the smallest noise that makes the claim true.

    Too little at one n, ε or constant is too little: the claim is broken there. Everything the
    comparison needs stands in the sample, so a log can be scored again. Sympy runs beside the
    event loop, in a process with a time limit.
    """

    async def score(state: TaskState, target: Target) -> Score:
        content, stop_reason = reply_content(state.output), reply_stop_reason(state.output)
        box = last_box(visible_text(content))
        if box is None:
            reason = read_reply(content, stop_reason).reason or "invalid_format"
            found = Comparison("unreadable", f"no box: {reason}")
        else:
            parameter, constants = (
                from_task(state.metadata, key, "noise_scale", "dprivbench_calibrate")
                for key in ("parameter", "constants")
            )
            values = grid(parameter, constants)
            found = await to_thread.run_sync(compare_boxed, box, target.text, values)
        return Score(
            value={result: float(found.result == result) for result in RESULTS},
            answer=box,
            explanation=found.reason,
            reason="invalid_response_format" if found.result == "unreadable" else None,
            metadata={
                "epoch": state.epoch,
                "result": found.result,
                "truncated": stop_reason in CUT_SHORT,
                "grading": NOISE_GRADING,
                **told(state.metadata),
            },
        )

    return score


def noise_answers_of(scores: Sequence[SampleScore]) -> list[NoiseAnswer]:
    """Answers from the scores of `noise_scale`, one a question and epoch; others are left out.

    The result is read from the value, so that a log that was edited counts as it says.
    """
    answers = []
    for sample_score in scores:
        value, own = sample_score.score.value, sample_score.score.metadata or {}
        if not isinstance(value, dict) or not value.keys() >= set(RESULTS):
            continue
        mechanism = str((sample_score.sample_metadata or {}).get("mechanism"))
        result = max(RESULTS, key=lambda result: float(value[result] or 0))
        answers.append(
            NoiseAnswer(str(sample_score.sample_id), mechanism, result, own.get("epoch", 1))
        )
    return answers
