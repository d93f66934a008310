"""Every formula of the reference vectors, through our public functions."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from tests.contextleak_inspect.vectors import FORMULAS


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(entry) for key, entry in value.items()}
    return np.asarray([float(entry) for entry in np.atleast_1d(value)])


def _distance(ours: Any, theirs: Any) -> float:
    if isinstance(theirs, dict):
        return max(_distance(ours[key], theirs[key]) for key in theirs)
    assert ours.shape == theirs.shape
    if np.array_equal(ours, theirs):  # infinities
        return 0.0
    return float(np.abs(ours - theirs).max())


@pytest.mark.filterwarnings("ignore:the classical Gaussian")
def test_all_reference_vectors(shared: pathlib.Path) -> None:
    vectors = json.loads((shared / "spec" / "audit_vectors.json").read_text(encoding="utf-8"))
    wrong = {}
    for vector in vectors["vectors"]:
        ours = FORMULAS[vector["formula"]](vector["inputs"])
        distance = _distance(_numbers(ours), _numbers(vector["output"]))
        if not distance <= vector["tol"]:
            wrong[vector["id"]] = distance
    assert not wrong


@pytest.mark.parametrize("formula", ["steinke_eps", "eps_cp"])
def test_a_vector_that_is_off_is_noticed(formula: str, shared: pathlib.Path) -> None:
    vectors = json.loads((shared / "spec" / "audit_vectors.json").read_text(encoding="utf-8"))
    vector = next(v for v in vectors["vectors"] if v["formula"] == formula)
    ours = FORMULAS[formula](vector["inputs"])
    assert _distance(_numbers(ours), _numbers(vector["output"] + 1e-3)) > vector["tol"]


@pytest.mark.parametrize(
    ("formula", "inputs", "output"),
    [
        ("analytic_sigma", {"eps": "inf", "delta": 1e-5, "sensitivity": 1.0}, 0.0),
        ("analytic_sigma", {"eps": 0.0, "delta": 1e-5, "sensitivity": 1.0}, "inf"),
        ("gdp_mu", {"eps": "inf", "delta": 1e-5}, "inf"),
        ("gdp_eps", {"mu": "inf", "delta": 1e-5}, "inf"),
        ("gdp_eps", {"mu": 1.0, "delta": 0.0}, "inf"),
        ("gdp_eps", {"mu": 0.0, "delta": 0.0}, 0.0),
        ("gdp_delta", {"eps": 1.0, "mu": "inf"}, 1.0),
        ("gdp_delta", {"eps": "inf", "mu": 1.0}, 0.0),
        ("gdp_acc", {"mu": "inf"}, 1.0),
        ("gdp_tpr", {"fpr": 0.1, "mu": "inf"}, 1.0),
        ("gdp_tpr", {"fpr": 0.0, "mu": 1.0}, 0.0),
        ("dp_acc", {"eps": "inf", "delta": 0.0}, 1.0),
        ("dp_tpr", {"fpr": 0.1, "eps": "inf", "delta": 0.0}, 1.0),
        ("k_randomized_response", {"eps": "inf", "k": 3}, {"p_keep": 1.0, "p_other": 0.0}),
        ("eps_from_rates", {"tpr": 0.0, "fpr": 0.0, "delta": 0.0, "two_sided": True}, 0.0),
        ("eps_from_rates", {"tpr": 1.0, "fpr": 1.0, "delta": 0.0, "two_sided": True}, 0.0),
    ],
)
def test_the_ends_of_the_scales_are_exact(
    formula: str, inputs: dict[str, object], output: object
) -> None:
    assert _distance(_numbers(FORMULAS[formula](inputs)), _numbers(output)) == 0.0
