"""One row of an audit → every number that it reports, each with how it came about."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from contextleak_inspect.adaptive import Choice, Goal, bets, choices, choose, epsilon_running
from contextleak_inspect.audit_run import WORLDS, Arm, Run
from contextleak_inspect.betting import accuracy_at_any_time
from contextleak_inspect.bounds import EpsilonBound, Setting, epsilon_bound
from contextleak_inspect.calibration import FloatArray, gdp_epsilon
from contextleak_inspect.estimators import epsilon_best_of, epsilon_lower_bound
from contextleak_inspect.gaussian_model import epsilon_if_gaussian
from contextleak_inspect.mechanisms import count_votes
from contextleak_inspect.mixtures import best_accuracy
from contextleak_inspect.point_estimates import best_threshold_optimistic, empirical_epsilon_paper
from contextleak_inspect.possible import Possible, possible
from contextleak_inspect.rao_blackwell import hit_probability
from contextleak_inspect.rates import Accuracy, accuracy, unclipped_epsilon
from contextleak_inspect.roc import auc, epsilon_dkw, tpr_at_fpr
from contextleak_inspect.scoring import (
    Row,
    audit_rows,
    fixed_grid,
    fixed_threshold,
    perfect_scores,
    row_setting,
    row_sigma,
    score_noise,
)
from contextleak_inspect.thresholds import (
    Cut,
    fixed_cut,
    fixed_rank_cut,
    grid_cuts,
    holdout_cut,
    missing_against_auditor,
)
from contextleak_inspect.vote_laws import VoteLaw
from contextleak_inspect.votes import TrialVotes

TARGET_FPRS = (0.1, 0.05, 0.01)
SAME_EMBEDDING = 1e-4  # one text, embedded in batches of other lengths, differs by less


@dataclass(frozen=True, kw_only=True)
class RowAudit:
    """What an audit says in one row; None where the run does not allow a number (yet).

    Attributes:
        row: Observation level and claimed ε.
        setting: Observation, neighbours and scope of every number here.
        n_in: Trials with the canary, failed ones included.
        n_out: Trials without it.
        accuracy: Balanced accuracy at a threshold from other trials (or the only one), with its
            interval, which holds at any time where the run may stop early.
        accuracy_optimistic: Balanced accuracy at the threshold best for these very trials.
        auc: Chance that a score with the canary exceeds one without.
        tpr: TPR at each of `TARGET_FPRS`, point estimates.
        paper: The paper's empirical ε, a plug-in with a ceiling of its own.
        bound: Clopper-Pearson bound under the audit's threshold rule (a band's under "dkw").
        gaussian: ε if the answers never vary, so that the release is Gaussian DP; no bound where
            they do.
        e_process: Anytime-valid bound from the noise as drawn.
        integrated: The same with the known noise integrated out.
        exact: Frozen answers only: ε of the mechanism with these answers, no trials needed.
        possible: The most any attack can show.
    """

    row: Row
    setting: Setting
    n_in: int
    n_out: int
    accuracy: Accuracy | None = None
    accuracy_optimistic: float | None = None
    auc: float | None = None
    tpr: tuple[float, ...] | None = None
    paper: EpsilonBound | None = None
    bound: EpsilonBound | None = None
    gaussian: EpsilonBound | None = None
    e_process: EpsilonBound | None = None
    integrated: EpsilonBound | None = None
    exact: EpsilonBound | None = None
    exact_accuracy: float | None = None
    possible: Possible


def audit_row(run: Run, index: int) -> RowAudit:
    """All numbers of one row of a run, finished or not.

    Point estimates use the trials that are there. Bounds for a fixed number of trials appear once
    every planned trial is accounted for; one that failed or is lost counts as a wrong guess.
    Anytime-valid bounds use the trials before the first open one.

    Args:
        run: The trials.
        index: Which of `audit_rows`.
    """
    config, row = run.config, audit_rows(run.config)[index]
    setting = row_setting(config, row)
    n_labels = len(run.records[0].labels) if run.records else 2
    start = partial(
        RowAudit, row=row, setting=setting, possible=possible(config, row, n_labels=n_labels)
    )
    inside, outside = run.arms["in"], run.arms["out"]
    counted = partial(start, n_in=int(inside.asked.sum()), n_out=int(outside.asked.sum()))
    if config.calls == "frozen":
        exact, exact_accuracy = _exact(run, row, setting)
        return counted(exact=exact, exact_accuracy=exact_accuracy)
    e_process, integrated = _anytime(run, index, setting)
    counted = partial(counted, e_process=e_process, integrated=integrated)
    if not (inside.asked.any() and outside.asked.any()):
        return counted()
    scores_in, scores_out = _judged(inside, outside, index)
    cut = _accuracy_cut(run, index, scores_in, scores_out)
    interval = accuracy if config.stop_at is None else accuracy_at_any_time
    return counted(
        accuracy=cut and interval(cut.canary_in, cut.canary_out, confidence=config.confidence),
        accuracy_optimistic=best_threshold_optimistic(
            scores_in, scores_out
        ).balanced_accuracy_optimistic,
        auc=auc(scores_in, scores_out),
        tpr=tuple(tpr_at_fpr(scores_in, scores_out, fpr).tpr for fpr in TARGET_FPRS),
        paper=empirical_epsilon_paper(
            scores_in, scores_out, delta=config.delta, fpr=config.target_fpr, setting=setting
        ),
        bound=_bound(run, index, setting, scores_in, scores_out) if run.complete else None,
        gaussian=_gaussian(run, index, setting, scores_in, scores_out) if run.complete else None,
    )


def audited_rows(run: Run) -> list[RowAudit]:
    """All rows of a run."""
    return [audit_row(run, index) for index in range(len(audit_rows(run.config)))]


def main_bound(run: Run, audited: RowAudit) -> EpsilonBound | None:
    """The bound that the audit's configuration names; None where there is none yet."""
    if run.config.calls == "frozen":
        return audited.exact
    if run.config.bound == "e_process":
        return audited.integrated or audited.e_process
    return audited.bound


def anytime_bound(run: Run, index: int) -> float:
    """The anytime-valid ε of a row that an early stop goes by, in nats; 0.0 before any pair."""
    setting = row_setting(run.config, audit_rows(run.config)[index])
    e_process, integrated = _anytime(run, index, setting, both=False)
    found = integrated or e_process
    return found.value if found else 0.0


def _judged(inside: Arm, outside: Arm, index: int) -> tuple[FloatArray, FloatArray]:
    """Scores of the trials that were asked, failed ones against the auditor."""
    scores_in = inside.scores[inside.asked, index]
    scores_out = outside.scores[outside.asked, index]
    return missing_against_auditor(scores_in, scores_out, planned=scores_in.size + scores_out.size)


def _accuracy_cut(
    run: Run, index: int, scores_in: FloatArray, scores_out: FloatArray
) -> Cut | None:
    row = audit_rows(run.config)[index]
    if row.one_bit:
        return fixed_cut(scores_in, scores_out, fixed_threshold(run.config, row))
    return _holdout(run, scores_in, scores_out)


def _holdout(run: Run, scores_in: FloatArray, scores_out: FloatArray) -> Cut | None:
    """The threshold of the calibration part on the rest; None while a part lacks a world."""
    inside, outside = run.arms["in"], run.arms["out"]
    first_in, first_out = inside.calibration[inside.asked], outside.calibration[outside.asked]
    parts = (
        scores_in[first_in],
        scores_out[first_out],
        scores_in[~first_in],
        scores_out[~first_out],
    )
    return holdout_cut(*parts) if all(part.size for part in parts) else None


def _cut(run: Run, index: int, scores_in: FloatArray, scores_out: FloatArray) -> Cut | None:
    """By the audit's rule, where it names one threshold; fixed for one bit and for grid and dkw."""
    config, row = run.config, audit_rows(run.config)[index]
    if not row.one_bit and config.threshold == "fixed_rank":
        return fixed_rank_cut(scores_in, scores_out, config.target_fpr)
    if not row.one_bit and config.threshold == "holdout":
        return _holdout(run, scores_in, scores_out)
    return fixed_cut(scores_in, scores_out, fixed_threshold(config, row))


def _bound(
    run: Run, index: int, setting: Setting, scores_in: FloatArray, scores_out: FloatArray
) -> EpsilonBound | None:
    config, row = run.config, audit_rows(run.config)[index]
    delta, confidence = config.delta, config.confidence
    if not row.one_bit and config.threshold == "dkw":
        return epsilon_dkw(
            scores_in, scores_out, delta=delta, confidence=confidence, setting=setting
        )
    if not row.one_bit and config.threshold == "grid":
        cuts = grid_cuts(scores_in, scores_out, fixed_grid(config, row))
        cells = [(cut.canary_in, cut.canary_out) for cut in cuts]
        return epsilon_best_of(cells, delta=delta, confidence=confidence, setting=setting)
    cut = _cut(run, index, scores_in, scores_out)
    return cut and epsilon_lower_bound(
        cut.canary_in, cut.canary_out, delta=delta, confidence=confidence, setting=setting
    )


def _gaussian(
    run: Run, index: int, setting: Setting, scores_in: FloatArray, scores_out: FloatArray
) -> EpsilonBound | None:
    """Of the histogram only. That no answer varied in this run does not prove that none can."""
    config, row = run.config, audit_rows(run.config)[index]
    if row.level not in {"histogram", "embedding"} or not 0 < row_sigma(config, row) < math.inf:
        return None
    cut = _cut(run, index, scores_in, scores_out)
    return cut and epsilon_if_gaussian(
        cut.canary_in,
        cut.canary_out,
        answers_vary=True,
        delta=config.delta,
        confidence=config.confidence,
        setting=setting,
    )


def _anytime(
    run: Run, index: int, setting: Setting, *, both: bool = True
) -> tuple[EpsilonBound | None, EpsilonBound | None]:
    """E-processes on the noise as drawn, and with known noise integrated out.

    The j-th trial with the canary is paired with the j-th without, among those before the first
    open one. Failed trials hit without the canary and miss with it.
    """
    config, row = run.config, audit_rows(run.config)[index]
    inside, outside = run.arms["in"], run.arms["out"]
    pairs = min(int((arm.numbers < run.prefix).sum()) for arm in (inside, outside))
    planned = min(len(inside), len(outside))
    if pairs == 0:
        return None, None
    goal = Goal(config.delta, config.confidence, planned, config.stop_at)
    scores_in = np.where(np.isnan(s := inside.scores[:pairs, index]), -np.inf, s)
    scores_out = np.where(np.isnan(s := outside.scores[:pairs, index]), np.inf, s)
    clean_in, clean_out = inside.clean[:pairs, index], outside.clean[:pairs, index]
    known = row.epsilon is not None

    def drawn(block: slice, cuts: FloatArray) -> tuple[FloatArray, FloatArray]:
        return (
            (scores_in[block, np.newaxis] > cuts).astype(float),
            (scores_out[block, np.newaxis] > cuts).astype(float),
        )

    def chances(block: slice, cuts: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not known:
            return drawn(block, cuts)
        found = [
            _hit_chances(clean[block], score_noise(config, row), cuts)
            for clean in (clean_in, clean_out)
        ]
        return np.where(np.isnan(found[0]), 0.0, found[0]), np.where(
            np.isnan(found[1]), 1.0, found[1]
        )

    cuts = _cuts(run, row)
    chosen = choices(pairs, _first_choice(run, row, cuts, goal), cuts, chances, goal)
    bound = partial(
        epsilon_running, delta=config.delta, confidence=config.confidence, setting=setting
    )
    e_process = integrated = None
    if both or not known:
        e_process = bound(*bets(chosen, drawn), method="e_process")
    if known:
        integrated = bound(*bets(chosen, chances), method="e_process, noise integrated")
    return e_process, integrated


def _hit_chances(clean: FloatArray, noise: float | None, cuts: FloatArray) -> FloatArray:
    """Chances of a hit, shape (n, t), at each threshold (t,) or at each trial's own (n, 1).

    Without noise they are `clean`.
    """
    if noise is None:
        return np.broadcast_to(clean[:, np.newaxis], (clean.size, cuts.shape[-1]))
    if cuts.ndim > 1:
        return hit_probability(clean[:, np.newaxis], noise, cuts)
    distinct, where = np.unique(clean, return_inverse=True)  # votes take few values
    return hit_probability(distinct[:, np.newaxis], noise, cuts)[where]


def _cuts(run: Run, row: Row) -> FloatArray:
    """Thresholds that a bet may use, fixed before the trials."""
    config = run.config
    if row.level == "log-probability":
        return np.linspace(-20.0, 20.0, 401)
    if row.one_bit:
        return np.array([0.5])
    between = np.array(fixed_grid(config, row))
    noise = score_noise(config, row)
    if not noise or math.isinf(noise):
        return between
    return np.linspace(between[0] - 1 - 3 * noise, between[-1] + 1 + 3 * noise, 101)


def _first_choice(run: Run, row: Row, cuts: FloatArray, goal: Goal) -> Choice:
    """Where the first pairs are cut: as theory says for a model that never errs."""
    if row.level == "log-probability":
        return Choice(math.inf, misses=False)  # theory says nothing; the first pairs only teach
    noise = score_noise(run.config, row)
    if noise is None or noise == 0 or math.isinf(noise):
        return Choice(fixed_threshold(run.config, row), misses=False)
    out, inside = (
        hit_probability(np.array([[score]]), noise, cuts) for score in perfect_scores(run.config)
    )
    return choose(inside, out, cuts, goal)


def _exact(run: Run, row: Row, setting: Setting) -> tuple[EpsilonBound | None, float | None]:
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
