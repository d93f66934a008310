"""One row of an audit → its anytime-valid bounds."""

import math
from functools import partial

import numpy as np

from contextleak_inspect.adaptive import Choice, Goal, bets, choices, choose, epsilon_running
from contextleak_inspect.audit_run import Run
from contextleak_inspect.bounds import EpsilonBound, Setting
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.rao_blackwell import hit_probability
from contextleak_inspect.rows import (
    Row,
    audit_rows,
    fixed_grid,
    fixed_threshold,
    perfect_scores,
    row_setting,
    score_noise,
)


def anytime_row(
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


def anytime_bound(run: Run, index: int) -> float:
    """The anytime-valid ε of a row that an early stop goes by, in nats; 0.0 before any pair."""
    setting = row_setting(run.config, audit_rows(run.config)[index])
    e_process, integrated = anytime_row(run, index, setting, both=False)
    found = integrated or e_process
    return found.value if found else 0.0


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
