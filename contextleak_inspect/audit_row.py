"""One row of an audit → every number that it reports, each with how it came about."""

import math
from dataclasses import dataclass
from functools import partial

from contextleak_inspect.anytime_row import anytime_row
from contextleak_inspect.audit_run import Arm, Run
from contextleak_inspect.betting import accuracy_at_any_time
from contextleak_inspect.bounds import EpsilonBound, Setting
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.estimators import epsilon_best_of, epsilon_lower_bound
from contextleak_inspect.frozen_row import exact_row
from contextleak_inspect.gaussian_model import epsilon_if_gaussian
from contextleak_inspect.point_estimates import best_threshold_optimistic, empirical_epsilon_paper
from contextleak_inspect.possible import Possible, possible
from contextleak_inspect.rates import Accuracy, accuracy
from contextleak_inspect.roc import auc, epsilon_dkw, tpr_at_fpr
from contextleak_inspect.rows import (
    Row,
    audit_rows,
    fixed_grid,
    fixed_threshold,
    row_setting,
    row_sigma,
)
from contextleak_inspect.thresholds import (
    Cut,
    fixed_cut,
    fixed_rank_cut,
    grid_cuts,
    holdout_cut,
    missing_against_auditor,
)

TARGET_FPRS = (0.1, 0.05, 0.01)


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
        exact, exact_accuracy = exact_row(run, row, setting)
        return counted(exact=exact, exact_accuracy=exact_accuracy)
    e_process, integrated = anytime_row(run, index, setting)
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
