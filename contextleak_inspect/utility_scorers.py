"""utility(): replies → accuracy or ROUGE-1 for every defense and ε; asks no model."""

import math
from typing import TYPE_CHECKING

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from contextleak_inspect.config import audit_config
from contextleak_inspect.utility_solvers import UtilityAnswers
from contextleak_inspect.versions import told

if TYPE_CHECKING:
    from contextleak_inspect.config import AuditConfig

DRAWS = 400  # noise draws behind the mean over an ESA release; questions are what counts


@metric
def utility_limits() -> Metric:
    """Mean over questions with limits that hold together with probability 0.95; nan before any."""

    def compute(scores: list[SampleScore]) -> Value:
        from contextleak_inspect.utility import mean_utility

        values = [s.score.as_float() for s in scores]
        if not values:
            return dict.fromkeys(("mean", "lower", "upper"), math.nan)
        found = mean_utility(values)
        return {"mean": found.mean, "lower": found.lower, "upper": found.upper}

    return compute


@scorer(metrics=[{"*": [utility_limits()]}])
def utility(epsilon: str | float | list[float] | None = None) -> Scorer:
    """Accuracy (1 for the right label) or ROUGE-1 of a question under each defense.

    Known noise is integrated out for votes and averaged over draws for embeddings, so a value is
    what the defense gives on average. Texts made from keywords exist at the ε of the run only.

    Args:
        epsilon: Claimed ε; None keeps those of the run.
    """

    async def score(state: TaskState, target: Target) -> Score:
        answers = state.store_as(UtilityAnswers)
        if not answers.replies:
            return Score.unscored(reason="no_response")
        given = {} if epsilon is None else {"epsilon": epsilon}
        config = audit_config(answers.config | given)
        values = _labels(config, answers) if answers.labels else _texts(config, answers, state)
        return Score(
            value=dict(values),
            answer=answers.replies["few_shot"],
            metadata=told(state.metadata) or None,
        )

    return score


def _labels(config: "AuditConfig", answers: UtilityAnswers) -> dict[str, float]:
    from contextleak_inspect.config import UNPARSED
    from contextleak_inspect.rows import epsilon_text, vote_sigma
    from contextleak_inspect.utility import majority_right, randomized_right, right_answers
    from contextleak_inspect.votes import read_label

    labels = answers.labels
    truth = [labels.index(answers.answer)]

    def vote(reply: str) -> int:
        index = read_label(reply, labels)
        return UNPARSED if index is None else index

    values = {
        name: float(right_answers([vote(reply)], truth)[0])
        for name, reply in answers.replies.items()
    }
    shards = [[vote(reply) for reply in answers.shards]]
    few_shot = [vote(answers.replies["few_shot"])]
    flipped, noisy = {}, {}
    for epsilon in config.epsilon:
        name = f"ε={epsilon_text(epsilon)}"
        if epsilon == 0:
            noisy[f"rnm {name}"] = flipped[f"label_rr {name}"] = values["zero_shot"]
            continue
        sigma = vote_sigma(epsilon, config.delta, config.neighbouring, config.noise_calibration)
        noisy[f"rnm {name}"] = float(majority_right(shards, truth, len(labels), sigma)[0])
        kept = randomized_right(few_shot, truth, len(labels), epsilon)
        flipped[f"label_rr {name}"] = float(kept[0])
    return values | noisy | flipped


def _texts(config: "AuditConfig", answers: UtilityAnswers, state: TaskState) -> dict[str, float]:
    from contextleak_inspect.config import stream
    from contextleak_inspect.rows import Row, epsilon_text, row_sigma
    from contextleak_inspect.text_releases import noisy_texts
    from contextleak_inspect.utility import chosen_rouge, rouge1

    values = {name: rouge1(answers.answer, reply) for name, reply in answers.replies.items()}
    rouges = [rouge1(answers.answer, text) for text in answers.candidates]
    question = f"{state.metadata['part']}-{state.metadata['question']:05d}"
    for epsilon in config.epsilon:
        name = f"esa ε={epsilon_text(epsilon)}"
        if epsilon == 0 or answers.embedded is None:
            values[name] = sum(rouges) / len(rouges)
            continue
        sigma = row_sigma(config, Row("embedding", epsilon))
        rng = stream(config.seed, "utility esa", question, epsilon)
        values[name] = chosen_rouge(
            rouges, noisy_texts(answers.embedded, "out", sigma, rng, DRAWS).choices
        )
    return values
