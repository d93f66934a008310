"""How many trials and model calls an audit needs to show a given ε, before any is made."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from contextleak_inspect.calibration import FloatArray, gdp_mu
from contextleak_inspect.power import (
    Claim,
    accuracy_power,
    betting_power,
    clopper_pearson_power,
    fixed_rank_power,
    growth,
    pair_power,
)
from contextleak_inspect.rates import unclipped_epsilon
from contextleak_inspect.releases import Planned, Release, releases
from contextleak_inspect.vote_laws import VoteLaw

MOST_TRIALS = 10_000_000  # more are not searched for
_CUTS = 160  # thresholds that are tried, evenly spread over the scores
Power = Callable[[int], float]  # trials of each world → chance to show ε
_TestPower = Callable[[FloatArray, Claim, int], float]


class ModelCalls(NamedTuple):
    """Calls of the model for one audit, by what is asked anew.

    Attributes:
        naive: Every trial anew for every ε.
        reuse_noise: One set of answers a trial, known noise drawn for each ε.
        paired: Both worlds of a pair share the answers of the unchanged shards.
        frozen: `repeats` repeats of the same prompts; speaks of the mechanism with those answers.
    """

    naive: int
    reuse_noise: int
    paired: int
    frozen: int


class Row(NamedTuple):
    """One method at one claimed ε.

    Attributes:
        claimed: ε of the noise; None for a heuristic defense.
        true_epsilon: The most that any attack on this release can show at δ.
        method: Name of the bound; "any" where nothing can show the ε asked for.
        model_based: It assumes answers that do not vary, and these do: no bound.
        cut: How the score is cut.
        arguments: What the task is told for it, but for the trials; None where no task reports it.
        trials: Trials of both worlds together; None where no number is enough.
        calls: Model calls, one set of answers a trial.
        calls_paired: Model calls in paired mode; None where that does not hold.
        power_at: Chance to show ε from this number of trials in each world.
    """

    claimed: float | None
    true_epsilon: float
    method: str
    model_based: bool
    cut: str
    arguments: dict[str, str] | None
    trials: int | None
    calls: int | None
    calls_paired: int | None
    power_at: Power


class _Cut(NamedTuple):
    label: str
    power: Power
    arguments: dict[str, str] | None


class _Method(NamedTuple):
    name: str
    cuts: list[_Cut]
    paired: bool
    model_based: bool = False


def model_calls(m: int, trials: int, epsilons: int, repeats: int = 20) -> ModelCalls:
    """Model calls of an audit with m shards, this many trials and values of ε.

    >>> model_calls(10, 100, 7).paired
    550
    """
    for name, value in [("m", m), ("trials", trials), ("epsilons", epsilons), ("repeats", repeats)]:
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    return ModelCalls(
        naive=epsilons * trials * m,
        reuse_noise=trials * m,
        paired=math.ceil(trials / 2) * (m + 1),
        frozen=repeats * (m + 1),
    )


def plan(planned: Planned) -> list[Row]:
    """Trials and calls that each method needs, for each claimed ε.

    Exact for methods that count, simulated for bets (see `power`). Where a threshold is fixed it
    is the best for these error rates; the audit has to fix it beforehand, from theory or from
    calibration trials.

    Raises:
        ValueError: An argument is out of range; the message names it.
    """
    return [row for release in releases(planned) for row in _rows(planned, release)]


def smallest_trials(power: Power, wanted: float, most: int) -> int | None:
    """Trials of each world at which `power` reaches `wanted`, by doubling and halving.

    Exact up to 200, then to half a per cent. Powers of counts rise in saw teeth, so a slightly
    smaller number may do as well. None where even `most` are not enough.
    """
    low, high = 0, min(8, most)
    while power(high) < wanted:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= wanted else (middle, high)
    return high


def _rows(planned: Planned, release: Release) -> Iterator[Row]:
    if release.truth <= planned.show:
        yield Row(release.claimed, release.truth, "any", False, "", None, None, None, None, _never)
        return
    shards = release.law.canary_in.size - 1
    for method in _methods(planned, release):
        per_world, cut = _fewest(method.cuts, planned.power)
        calls = None if per_world is None else model_calls(shards, 2 * per_world, 1)
        yield Row(
            claimed=release.claimed,
            true_epsilon=release.truth,
            method=method.name,
            model_based=method.model_based,
            cut=cut.label,
            arguments=cut.arguments,
            trials=None if per_world is None else 2 * per_world,
            calls=calls.reuse_noise if calls else None,
            calls_paired=calls.paired if calls and method.paired and shards > 1 else None,
            power_at=cut.power,
        )


def _fewest(cuts: list[_Cut], wanted: float) -> tuple[int | None, _Cut]:
    """The cut that needs the fewest trials; most others are ruled out by one look."""
    best: int | None = None
    which = _Cut(cuts[0].label if cuts else "", _never, None)
    most = MOST_TRIALS // 2
    for cut in cuts:
        if most < 1 or (best is not None and cut.power(most) < wanted):
            continue
        found = smallest_trials(cut.power, wanted, most)
        if found is not None:
            best, which, most = found, cut, found - 1
    return best, which


def _methods(planned: Planned, release: Release) -> Iterator[_Method]:
    claim = Claim(planned.show, planned.delta, 1 - planned.confidence)
    law, tests = release.law, release.tests[:: max(1, len(release.tests) // _CUTS)]
    tpr, fpr = tests @ law.canary_in, tests @ law.canary_out
    varies = bool(max(np.sum(law.canary_in > 0), np.sum(law.canary_out > 0)) > 1)
    gains = growth(law, tests, claim, drawn=True)

    def label(i: int) -> str:
        return f"fixed, FPR {fpr[i]:.2g}" if release.scores else "fixed"

    def fixed(i: int) -> dict[str, str] | None:
        """What tells the task to cut there: theory's FPR is that of no vote for the canary."""
        if not release.scores:
            return {}
        if release.noisy:
            return (
                {"threshold": "fixed", "fixed_fpr": f"{by_theory:.4g}"}
                if 0 < (by_theory := float(tests[i][0])) < 1
                else None
            )
        return {"threshold": "fixed"} if i == 0 else None  # between none and one vote

    def cuts(power: _TestPower, useful: NDArray[np.bool_]) -> list[_Cut]:
        """The tests in question, the most telling first."""
        return [
            _Cut(label(int(i)), partial(power, tests[i], claim), fixed(int(i)))
            for i in np.argsort(-gains)
            if useful[i]
        ]

    swapped = VoteLaw(law.canary_out, law.canary_in)
    sides = [("", law, tests), (", misses", swapped, 1 - tests)]

    def best_bet(*, drawn: bool) -> tuple[float, int, int]:
        """Its growth, whether it is on hits (0) or with the worlds swapped on misses, and test."""
        return max(
            (float(found.max()), side, int(found.argmax()))
            for side, (_, seen, hits) in enumerate(sides)
            for found in [growth(seen, hits, claim, drawn=drawn)]
        )

    def bets(gain: float, side: int, i: int, *, drawn: bool) -> list[_Cut]:
        name, seen, hits = sides[side]
        power = partial(pair_power, seen, hits[i], claim, drawn=drawn)
        told = {"bound": "e_process", "stop_at": f"{claim.epsilon:g}"}
        return [_Cut(label(i) + name, power if gain > 0 else _never, told)]

    shows = unclipped_epsilon(tpr, fpr, delta=claim.delta) > claim.epsilon
    count = partial(clopper_pearson_power, law)
    yield _Method("clopper_pearson", cuts(count, shows), paired=True)
    if release.scores:
        fpr_at = planned.target_fpr
        rank = partial(fixed_rank_power, law, release.tests, claim, fpr=fpr_at)
        # worlds of a pair may share answers that vary; the rank would depend on the other world
        told = {"threshold": "fixed_rank", "target_fpr": f"{fpr_at:g}"}
        cut = _Cut(f"fixed_rank, FPR {fpr_at:g}", rank, told)
        yield _Method("clopper_pearson", [cut], paired=False)
    if release.gaussian:
        mu = gdp_mu(claim.epsilon, claim.delta)
        with np.errstate(invalid="ignore"):  # both rates 0 or both 1
            far_apart = ndtri(tpr) - ndtri(fpr) > mu
        read = partial(clopper_pearson_power, law, gaussian_mu=mu)
        yield _Method(
            "gaussian_clopper_pearson", cuts(read, far_apart), paired=True, model_based=varies
        )
    yield _Method("e_process", bets(*best_bet(drawn=True), drawn=True), paired=True)
    if release.noisy:
        gain, side, i = best_bet(drawn=False)
        yield _Method("e_process, noise integrated", bets(gain, side, i, drawn=False), paired=True)
        limits = partial(betting_power, law, tests[i], claim)
        yield _Method("betting, noise integrated", [_Cut(label(i), limits, None)], paired=True)
    for name, anytime in [("accuracy_clopper_pearson", False), ("accuracy_e_process", True)]:
        guess = partial(accuracy_power, release.accuracy, claim, anytime=anytime)
        yield _Method(name, [_Cut("fixed, best accuracy", guess, None)], paired=False)


def _never(_: int) -> float:
    return 0.0
