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
