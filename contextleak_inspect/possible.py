"""What any attack could show in one row of an audit: the theory beside the measurement."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from contextleak_inspect.canary_effect import esa_mu, rnm_mu
from contextleak_inspect.config import AuditConfig
from contextleak_inspect.mixtures import best_accuracy, best_tpr, true_epsilon
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.rows import Row, row_sigma
from contextleak_inspect.theory import label_rr_curve
from contextleak_inspect.vote_laws import VoteLaw, outcome_law, vote_law


class Possible(NamedTuple):
    """The best that any attack can do on the release of a row, at given error rates of the model.

    Attributes:
        accuracy: Best balanced accuracy.
        tpr: Best TPR at the audit's target FPR.
        epsilon: ε of the attacked pair at the audit's δ, the most that a bound may show in the
            long run.
    """

    accuracy: float
    tpr: float
    epsilon: float


NOTHING = Possible(math.nan, math.nan, math.nan)


def possible(
    config: AuditConfig,
    row: Row,
    *,
    n_labels: int = 2,
    false_votes: float = 0.0,
    misses: float = 0.0,
    step: float = 2.0,
) -> Possible:
    """The best any attack can do in this row; nan where no noise of known law is added.

    With both rates 0, a model that never errs, the histogram's is the ceiling for every model,
    since mixing only lowers divergences; a label can show more where errors bring votes close to
    a tie. Other rates hold as far as shards err independently.

    Args:
        config: The audit.
        row: One of its rows.
        n_labels: Number of labels to vote for.
        false_votes: Chance of a shard without the canary to vote for its label.
        misses: Chance of a shard with the canary not to do so.
        step: Of embeddings, ‖e_c - e_c̄‖ · cos between the two replies and the detector; 2 is the
            most that unit vectors allow. A released text shows at most as much.
    """
    if row.epsilon is None or row.level == "keywords" or math.isnan(false_votes + misses):
        return NOTHING
    if row.epsilon == 0:
        return Possible(0.5, config.target_fpr, 0.0)
    settings = (config.ensemble, config.vote_balance == "tied", config.delta, config.target_fpr)
    if config.defense == "esa":
        sigma = row_sigma(config, row)
        return _esa(sigma, config.ensemble, false_votes, misses, min(step, 2.0), *settings[2:])
    if config.defense == "label_rr":
        return _label_rr(row.epsilon, n_labels + 1, false_votes, misses, *settings[2:])
    return _rnm(
        row.level == "label", row_sigma(config, row), n_labels, false_votes, misses, *settings
    )


@lru_cache(maxsize=4096)
def _rnm(
    label_only: bool,
    sigma: float,
    n_labels: int,
    false_votes: float,
    misses: float,
    m: int,
    tied: bool,
    delta: float,
    fpr: float,
) -> Possible:
    half = (m - 1) // 2 if tied else 0
    unchanged = [1 - misses] * half + [false_votes] * (m - 1 - half)
    law = vote_law(m, false_votes=false_votes, misses=misses, clean_votes=unchanged)
    mu = rnm_mu(sigma)
    if label_only:
        law, mu = _label_law(law, sigma, n_labels), math.inf
    return _best(law, mu, delta, fpr)


@lru_cache(maxsize=4096)
def _esa(
    sigma: float, m: int, false_votes: float, misses: float, step: float, delta: float, fpr: float
) -> Possible:
    law = vote_law(m, false_votes=false_votes, misses=misses)
    return _best(law, esa_mu(m, sigma, max(step, 0.0)), delta, fpr)


@lru_cache(maxsize=4096)
def _label_rr(
    epsilon: float, n_options: int, false_votes: float, misses: float, delta: float, fpr: float
) -> Possible:
    law = vote_law(1, false_votes=false_votes, misses=misses)
    [point] = label_rr_curve([epsilon], n_options=n_options, law=law, delta=delta, fpr=fpr)
    return Possible(point.accuracy, point.tpr, point.epsilon)


def _label_law(law: VoteLaw, sigma: float, n_labels: int) -> VoteLaw:
    """Which label is released, where all votes but the canary's go to one other label.

    The other labels, without votes, are alike and count as one outcome: they win more often where
    the canary took a vote from the leader.
    """
    k = np.arange(law.canary_in.size)
    counts = np.stack([k, k[::-1], *([0 * k] * (n_labels - 1))], axis=-1)
    wins = [label_probability(counts, sigma, target) for target in range(min(n_labels, 3))]
    wins[2:] = [(n_labels - 2) * third for third in wins[2:]]
    return outcome_law(*(v @ np.stack(wins, axis=-1) for v in (law.canary_in, law.canary_out)))


def _best(law: VoteLaw, mu: float, delta: float, fpr: float) -> Possible:
    return Possible(
        best_accuracy(law, mu), best_tpr(law, mu, fpr), true_epsilon(law, mu, delta).value
    )
