"""Composition under Poisson subsampling, by the optional dp-accounting package."""

import math


def subsampled_gaussian_epsilon(
    noise_multiplier: float, rate: float, queries: int, delta: float
) -> float:
    """ε of Gaussian releases that each see a fresh Poisson sample of the data, add_remove only.

    Computed by dp-accounting from privacy loss distributions. It does not hold for an audit in
    which the canary always stands in the prompt: there the rate is 1.

    Args:
        noise_multiplier: σ over the L2 sensitivity of one release, above 0.
        rate: Chance of each record to be in the sample of a query, in (0, 1].
        queries: Number of releases.
        delta: δ of the guarantee, in (0, 1).

    Raises:
        ImportError: dp-accounting is not installed.
        ValueError: An argument is out of range; the message names it.
    """
    if not 0 < noise_multiplier < math.inf:
        raise ValueError(f"noise_multiplier must be positive and finite, got {noise_multiplier}")
    if not 0 < rate <= 1:
        raise ValueError(f"rate must be in (0, 1], got {rate}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1), got {delta}")
    if queries < 1:
        raise ValueError(f"queries must be at least 1, got {queries}")
    try:
        from dp_accounting import dp_event
        from dp_accounting.pld import PLDAccountant
    except ImportError as error:
        raise ImportError(
            "subsampled composition needs dp-accounting: pip install 'inspect-dp[accounting]'"
        ) from error
    release = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise_multiplier))
    return float(PLDAccountant().compose(release, queries).get_epsilon(delta))
