"""One row of an audit with frozen answers → the exact ε of the mechanism that gives them."""

import math
from collections.abc import Sequence

import numpy as np

from contextleak_inspect.audit_run import WORLDS, Run
from contextleak_inspect.bounds import EpsilonBound, Setting, epsilon_bound
from contextleak_inspect.calibration import gdp_epsilon
from contextleak_inspect.mechanisms import count_votes
from contextleak_inspect.mixtures import best_accuracy
from contextleak_inspect.rates import unclipped_epsilon
from contextleak_inspect.rows import Row, audit_rows, row_sigma
from contextleak_inspect.vote_laws import VoteLaw
from contextleak_inspect.votes import TrialVotes

SAME_EMBEDDING = 1e-4  # one text, embedded in batches of other lengths, differs by less


def exact_row(run: Run, row: Row, setting: Setting) -> tuple[EpsilonBound | None, float | None]:
    """ε and best accuracy of the mechanism whose answers are frozen as they were given.

    None if the answers changed between repeats: then no such mechanism was seen. The label's ε
    speaks of the event that the canary's label is released.
    """
    config = run.config
    failed = any(record.failed(world) for record in run.records for world in record.votes)
    if not run.records or failed or not answers_repeat(run.records) or row.level == "text":
        return None, None
    record = run.records[0]
    if row.level in {"histogram", "embedding"}:
        step = _moved(record)
        sigma = row_sigma(config, row)
        mu = 0.0 if step == 0 or math.isinf(sigma) else step / sigma if sigma else math.inf
        epsilon = gdp_epsilon(mu, config.delta)
        frozen = VoteLaw(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
        best = best_accuracy(frozen, mu)
    else:
        column = audit_rows(config).index(row)
        # every trial holds both worlds, so it stands in both arms at its own number
        tpr, fpr = (float(run.arms[world].clean[record.trial, column]) for world in ("in", "out"))
        epsilon = max(
            0.0,
            unclipped_epsilon(tpr, fpr, delta=config.delta),
            unclipped_epsilon(fpr, tpr, delta=config.delta),
        )
        best = 0.5 + abs(tpr - fpr) / 2
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
    counts_in, counts_out = (
        count_votes(record.votes[world], len(record.labels)) for world in WORLDS
    )
    return float(np.linalg.norm(counts_in - counts_out))
