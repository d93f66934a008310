"""μ of Gaussian DP from hits and trials: tighter than ε from rates, if the model holds."""

import math
from typing import NamedTuple

from scipy.special import ndtri

from contextleak_inspect.bounds import (
    PAPER,
    EpsilonBound,
    Outcomes,
    Setting,
    alpha_at,
    arm_sizes,
    check_rule,
    epsilon_bound,
)
from contextleak_inspect.calibration import gdp_epsilon
from contextleak_inspect.estimators import RULES, perfect_outcomes, rate_limits


class MuBound(NamedTuple):
    """A lower bound on μ of Gaussian DP; `unclipped` is below 0 where there is no evidence."""

    value: float
    unclipped: float


def mu_lower_bound(
    canary_in: Outcomes, canary_out: Outcomes, *, confidence: float = 0.95
) -> MuBound:
    """Lower bound on μ: Φ⁻¹(1 - FPR) - Φ⁻¹(FNR) at the upper limits, error split in two.

    Holds only if the release has a Gaussian trade-off curve. Source: arXiv:2302.07956.
    """
    arm_sizes(canary_in, canary_out)
    check_rule(canary_in.threshold_rule, RULES, "mu_lower_bound")
    tpr, fpr = rate_limits(canary_in, canary_out, alpha_at(confidence))
    unclipped = float(ndtri(tpr) - ndtri(fpr))
    return MuBound(max(0.0, unclipped), unclipped)


def epsilon_if_gaussian(
    canary_in: Outcomes,
    canary_out: Outcomes,
    *,
    answers_vary: bool,
    delta: float,
    confidence: float = 0.95,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """ε in nats of the μ that the outcomes show, for a release with Gaussian noise.

    A bound where the trade-off curve is Gaussian: the noisy aggregate of answers that do not vary
    between trials. Where they vary the release is a mixture, the value can exceed its ε, and the
    record says `model_based`: a test of the claimed μ, not a bound.

    Args:
        canary_in: Hits and trials with the canary.
        canary_out: Hits and trials without it.
        answers_vary: Whether answers differ between trials of one world.
        delta: δ of the guarantee, in (0, 1).
        confidence: Probability that the bound on μ holds under the model.
        setting: What was audited; must be the noisy aggregate.

    Raises:
        ValueError: δ is 0 (Gaussian noise has no finite ε there), or another stage was observed.
    """
    if setting.observation != "noisy_aggregate":
        raise ValueError(
            "only a noisy aggregate has a Gaussian trade-off curve, "
            f"got observation {setting.observation!r}; use epsilon_lower_bound"
        )
    arms = arm_sizes(canary_in, canary_out)
    rule = canary_in.threshold_rule
    shown = mu_lower_bound(canary_in, canary_out, confidence=confidence)
    perfect = mu_lower_bound(*perfect_outcomes(canary_in, canary_out), confidence=confidence)
    return epsilon_bound(
        signed_gdp_epsilon(shown.unclipped, delta),
        confidence=confidence,
        method="gaussian_clopper_pearson",
        threshold_rule=rule,
        delta=delta,
        ceiling=gdp_epsilon(perfect.value, delta),
        arms=arms,
        kind="model_based" if answers_vary else "bound",
        setting=setting,
    )


def signed_gdp_epsilon(mu: float, delta: float) -> float:
    """ε of μ-Gaussian DP, continued to negative μ as -ε(-μ): for unclipped values only.

    Raises:
        ValueError: δ is 0, where ε would be infinite, which is never reported as a bound.
    """
    if delta == 0:
        raise ValueError("delta is 0, at which a Gaussian curve has no finite ε; give δ in (0, 1)")
    return math.copysign(gdp_epsilon(abs(mu), delta), mu)
