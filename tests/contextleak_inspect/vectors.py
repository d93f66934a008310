"""Formula name of a vector file → our public functions. No arithmetic here, only calls."""

from collections.abc import Callable, Mapping
from typing import Any

from contextleak_inspect.calibration import (
    analytic_sigma,
    classical_sigma,
    gaussian_epsilon,
    gdp_compose,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    randomized_response,
)
from contextleak_inspect.rao_blackwell import flip_probability_upper, rao_blackwell_rate
from contextleak_inspect.subsampling import subsampled_gaussian_epsilon
from contextleak_inspect.tradeoffs import dp_accuracy, dp_tpr, gdp_accuracy, gdp_tpr

Inputs = Mapping[str, Any]

FORMULAS: dict[str, Callable[[Inputs], object]] = {
    "analytic_sigma": lambda v: analytic_sigma(v["eps"], v["delta"], v["sensitivity"]),
    "classical_sigma": lambda v: {
        "sigma": classical_sigma(v["eps"], v["delta"], v["sensitivity"]),
        "actual_eps": gaussian_epsilon(
            classical_sigma(v["eps"], v["delta"], v["sensitivity"]), v["delta"], v["sensitivity"]
        ),
    },
    "dp_acc": lambda v: dp_accuracy(v["eps"], v["delta"]),
    "dp_tpr": lambda v: dp_tpr(v["fpr"], v["eps"], v["delta"]),
    "flip_prob_upper": lambda v: flip_probability_upper(v["R"], v["alpha"]),
    "gdp_acc": lambda v: gdp_accuracy(v["mu"]),
    "gdp_composition": lambda v: {
        "mu": gdp_compose(v["mu"], v["T"]),
        "eps": gdp_epsilon(gdp_compose(v["mu"], v["T"]), v["delta"]),
    },
    "gdp_delta": lambda v: gdp_delta(v["eps"], v["mu"]),
    "gdp_eps": lambda v: gdp_epsilon(v["mu"], v["delta"]),
    "gdp_mu": lambda v: gdp_mu(v["eps"], v["delta"]),
    "gdp_tpr": lambda v: gdp_tpr(v["fpr"], v["mu"]),
    "k_randomized_response": lambda v: {
        "p_keep": randomized_response(v["eps"], v["k"]).keep,
        "p_other": randomized_response(v["eps"], v["k"]).other,
    },
    "poisson_subsampled_gaussian_eps": lambda v: subsampled_gaussian_epsilon(
        v["noise_multiplier"], v["q"], v["T"], v["delta"]
    ),
    "rao_blackwell_rate": lambda v: rao_blackwell_rate(v["votes"], v["m"], v["sigma"], v["t"]),
}
