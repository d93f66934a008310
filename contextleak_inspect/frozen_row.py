"""One row of an audit with frozen answers → the exact ε of the mechanism that gives them."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contextleak_inspect.audit_run import WORLDS, Run
from contextleak_inspect.bounds import EpsilonBound, Setting, epsilon_bound
from contextleak_inspect.calibration import gdp_epsilon
from contextleak_inspect.mechanisms import count_votes
from contextleak_inspect.mixtures import best_accuracy, true_epsilon
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.rows import Row, row_sigma
from contextleak_inspect.vote_laws import VoteLaw, outcome_law
from contextleak_inspect.votes import TrialVotes

SAME_EMBEDDING = 1e-4  # one text, embedded in batches of other lengths, differs by less


def exact_row(run: Run, row: Row, setting: Setting) -> tuple[EpsilonBound | None, float | None]:
    """ε and best accuracy of the mechanism whose answers are frozen as they were given.

    None if the answers changed between repeats: then no such mechanism was seen. A released label
    speaks by whichever label it is, the canary's or another.
    """
    config = run.config
    failed = any(record.failed(world) for record in run.records for world in record.votes)
    if not run.records or failed or not answers_repeat(run.records) or row.level == "text":
        return None, None
    record, sigma = run.records[0], row_sigma(config, row)
    if row.level in {"histogram", "embedding"}:
        step = _moved(record)
        mu = 0.0 if step == 0 or math.isinf(sigma) else step / sigma if sigma else math.inf
        epsilon = gdp_epsilon(mu, config.delta)
        best = best_accuracy(VoteLaw(np.array([0.0, 1.0]), np.array([1.0, 0.0])), mu)
    else:
        inside, outside = (
            [label_probability(counts, sigma, label) for label in range(len(record.labels))]
            for counts in _histograms(record)
        )
        law = outcome_law(np.array(inside), np.array(outside))
        epsilon = true_epsilon(law, math.inf, config.delta).value
        best = best_accuracy(law, math.inf)
    if math.isinf(epsilon):  # without noise the two worlds are told apart for certain
        return None, best
    bound = epsilon_bound(
        epsilon,
        confidence=None,
        method="exact, answers frozen",
        threshold_rule="fixed",
        delta=config.delta,
        ceiling=math.inf,
        n=len(run.records),
        setting=setting,
    )
    return bound, best


def answers_repeat(records: Sequence[TrialVotes]) -> bool:
    """No answer changed between repeats of a trial: votes are equal, and embeddings to rounding."""
    if len({(record.votes["in"], record.votes["out"]) for record in records}) > 1:
        return False
    along = [r.embedded.along["in"] + r.embedded.along["out"] for r in records if r.embedded]
    return not along or bool(np.ptp(along, axis=0).max() < SAME_EMBEDDING)


def _moved(record: TrialVotes) -> float:
    """How far the canary moves what noise is added to: the histogram, or the mean embedding."""
    if record.embedded is not None:
        return record.embedded.between or 0.0
    counts_in, counts_out = _histograms(record)
    return float(np.linalg.norm(counts_in - counts_out))


def _histograms(record: TrialVotes) -> list[NDArray[np.int64]]:
    """Clean votes with the canary and without it."""
    return [count_votes(record.votes[world], len(record.labels)) for world in WORLDS]
