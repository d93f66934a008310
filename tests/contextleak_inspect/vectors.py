"""Formula name of a vector file → our public functions. No arithmetic here, only calls."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from contextleak_inspect.betting import betting_bounds
from contextleak_inspect.bounds import Outcomes, confidence_at
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
from contextleak_inspect.canary_effect import esa_mu, rnm_label_rates, rnm_mu
from contextleak_inspect.credible import epsilon_credible, epsilon_posterior
from contextleak_inspect.estimators import (
    delta_lower_bound,
    epsilon_from_accuracy,
    epsilon_lower_bound,
)
from contextleak_inspect.gaussian_model import mu_lower_bound
from contextleak_inspect.one_run import (
    epsilon_one_run,
    epsilon_one_run_if_gaussian,
    one_run_mu_lower_bound,
    one_run_p_value,
)
from contextleak_inspect.plan import model_calls
from contextleak_inspect.point_estimates import best_threshold_optimistic
from contextleak_inspect.rao_blackwell import flip_probability_upper, rao_blackwell_rate
from contextleak_inspect.rates import (
    clopper_pearson,
    dkw,
    empirical_bernstein,
    epsilon_from_rates,
)
from contextleak_inspect.roc import auc
from contextleak_inspect.sequential import (
    epsilon_from_guesses,
    epsilon_from_pairs,
    guess_log_wealth,
    pair_log_wealth,
)
from contextleak_inspect.subsampling import subsampled_gaussian_epsilon
from contextleak_inspect.thresholds import fixed_rank_cut, fixed_rank_fpr_upper
from contextleak_inspect.tradeoffs import dp_accuracy, dp_tpr, gdp_accuracy, gdp_tpr
from contextleak_inspect.vote_laws import poisson_binomial_pmf

Inputs = Mapping[str, Any]


def _reading(formula: Callable[[Inputs], object]) -> Callable[[Inputs], object]:
    """The same callable for inputs as files write them, where an infinity is the text "inf"."""
    infinities = {"inf": math.inf, "-inf": -math.inf}
    return lambda v: formula({
        k: infinities.get(x, x) if isinstance(x, str) else x for k, x in v.items()
    })


def _worlds(v: Inputs) -> tuple[Outcomes, Outcomes]:
    return Outcomes(v["tp"], v["n1"]), Outcomes(v["fp"], v["n0"])


def _fixed_rank(v: Inputs) -> dict[str, object]:
    cut = fixed_rank_cut(v["s1"], v["s0"], v["fpr"])
    return {
        "k": cut.canary_out.hits,
        "threshold": cut.threshold,
        "fp_observed": cut.false_alarms,
        "tp": cut.canary_in.hits,
    }


_FORMULAS: dict[str, Callable[[Inputs], object]] = {
    "analytic_sigma": lambda v: analytic_sigma(v["eps"], v["delta"], v["sensitivity"]),
    "classical_sigma": lambda v: {
        "sigma": classical_sigma(v["eps"], v["delta"], v["sensitivity"]),
        "actual_eps": gaussian_epsilon(
            classical_sigma(v["eps"], v["delta"], v["sensitivity"]), v["delta"], v["sensitivity"]
        ),
    },
    "dp_acc": lambda v: dp_accuracy(v["eps"], v["delta"]),
    "dp_tpr": lambda v: dp_tpr(v["fpr"], v["eps"], v["delta"]),
    "esa_mu": lambda v: {
        "mu": esa_mu(v["m"], v["sigma_mean"], v["distance"], v["cos_angle"]),
        "acc": gdp_accuracy(esa_mu(v["m"], v["sigma_mean"], v["distance"], v["cos_angle"])),
    },
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
    "llm_calls": lambda v: {
        "naive": model_calls(v["m"], v["n"], v["K"], v["R"]).naive,
        "reuse_noise": model_calls(v["m"], v["n"], v["K"], v["R"]).reuse_noise,
        "paired": model_calls(v["m"], v["n"], v["K"], v["R"]).paired,
        "deterministic": model_calls(v["m"], v["n"], v["K"], v["R"]).frozen,
    },
    "poisson_binomial_pmf": lambda v: poisson_binomial_pmf(v["p"]),
    "poisson_subsampled_gaussian_eps": lambda v: subsampled_gaussian_epsilon(
        v["noise_multiplier"], v["q"], v["T"], v["delta"]
    ),
    "rao_blackwell_rate": lambda v: rao_blackwell_rate(v["votes"], v["m"], v["sigma"], v["t"]),
    "rnm_hist_mu": lambda v: {
        "score_difference": rnm_mu(v["sigma"], "difference"),
        "score_yc_only": rnm_mu(v["sigma"], "count"),
        "acc_difference": gdp_accuracy(rnm_mu(v["sigma"], "difference")),
        "acc_yc_only": gdp_accuracy(rnm_mu(v["sigma"], "count")),
    },
    "rnm_label_rates": lambda v: rnm_label_rates(
        v["m"], v["k_absent"], v["k_present"], v["sigma"]
    )._asdict(),
    # bounds from trials
    "acc_eprocess": lambda v: guess_log_wealth(v["correct"], epsilon=v["eps"], delta=v["delta"]),
    "acc_eprocess_eps": lambda v: (
        epsilon_from_guesses(
            v["correct"], fair_coins=True, delta=v["delta"], confidence=confidence_at(v["alpha"])
        ).value
    ),
    "auc": lambda v: auc(v["s1"], v["s0"]),
    "best_threshold_accuracy": lambda v: {
        "plain": best_threshold_optimistic(v["s1"], v["s0"]).accuracy_optimistic,
        "balanced": best_threshold_optimistic(v["s1"], v["s0"]).balanced_accuracy_optimistic,
    },
    "betting_bounds": lambda v: betting_bounds(v["x"], v["alpha"])._asdict(),
    "clopper_pearson_one_sided": lambda v: clopper_pearson(v["k"], v["n"], v["alpha"])._asdict(),
    "dkw": lambda v: dkw(v["n"], v["alpha"])._asdict(),
    "empirical_bernstein_halfwidth": lambda v: empirical_bernstein(v["x"], v["alpha"]),
    "eps_acc_cp": lambda v: (
        epsilon_from_accuracy(
            Outcomes(v["correct"], v["guesses"]),
            Outcomes(0, 0),
            fair_coins=True,
            delta=v["delta"],
            confidence=confidence_at(v["alpha"]),
        ).value
    ),
    "eps_cp": lambda v: (
        epsilon_lower_bound(
            *_worlds(v),
            delta=v["delta"],
            confidence=confidence_at(v["alpha"]),
            two_sided=v.get("two_sided", False),
        ).value
    ),
    "eps_from_rates": lambda v: epsilon_from_rates(
        v["tpr"], v["fpr"], delta=v["delta"], two_sided=v.get("two_sided", False)
    ),
    "eps_gdp_cp": lambda v: gdp_epsilon(
        mu_lower_bound(*_worlds(v), confidence=confidence_at(v["alpha"])).value, v["delta"]
    ),
    "fdp_one_run": lambda v: {
        "mu": one_run_mu_lower_bound(
            v["m"], v["guesses"], v["correct"], confidence=confidence_at(v["p"])
        ).value,
        "eps": epsilon_one_run_if_gaussian(
            v["m"], v["guesses"], v["correct"], delta=v["delta"], confidence=confidence_at(v["p"])
        ).value,
    },
    "fixed_rank_fpr_upper": lambda v: fixed_rank_fpr_upper(v["n0"], v["k"], v["alpha"]),
    "fixed_rank_threshold": _fixed_rank,
    "hockey_stick_lb": lambda v: (
        delta_lower_bound(*_worlds(v), epsilon=v["eps"], confidence=confidence_at(v["alpha"])).value
    ),
    "joint_beta_eps": lambda v: (
        epsilon_credible(*_worlds(v), delta=v["delta"], confidence=confidence_at(v["alpha"])).value
    ),
    "joint_beta_prob": lambda v: epsilon_posterior(*_worlds(v), epsilon=v["eps"], delta=v["delta"]),
    "mu_cp": lambda v: mu_lower_bound(*_worlds(v), confidence=confidence_at(v["alpha"])).value,
    "pair_eprocess": lambda v: pair_log_wealth(
        v["fx"], v["fy"], epsilon=v["eps"], delta=v["delta"]
    ),
    "pair_eprocess_eps": lambda v: (
        epsilon_from_pairs(
            v["fx"], v["fy"], delta=v["delta"], confidence=confidence_at(v["alpha"])
        ).value
    ),
    "steinke_eps": lambda v: (
        epsilon_one_run(
            v["m"], v["r"], v["v"], delta=v["delta"], confidence=confidence_at(v["p"])
        ).value
    ),
    "steinke_p_value": lambda v: one_run_p_value(
        v["m"], v["r"], v["v"], epsilon=v["eps"], delta=v["delta"]
    ),
}

FORMULAS = {name: _reading(formula) for name, formula in _FORMULAS.items()}
