import dataclasses
import math

import pytest

from contextleak_inspect.bounds import (
    Outcomes,
    Setting,
    alpha_at,
    confidence_at,
    epsilon_bound,
    score_array,
    unit_values,
)


def _bound(unclipped: float, **changes: object) -> object:
    fields = {
        "confidence": 0.95,
        "method": "m",
        "threshold_rule": "fixed",
        "delta": 0.0,
        "ceiling": 1.0,
        "arms": (3, 4),
    }
    return epsilon_bound(unclipped, **{**fields, **changes})  # type: ignore[arg-type]


def test_the_floor_at_zero_never_hides_what_was_found() -> None:
    bound = _bound(-0.3)
    assert (bound.value, bound.unclipped) == (0.0, -0.3)  # type: ignore[attr-defined]


@pytest.mark.parametrize("shown", [math.inf, math.nan])
def test_no_record_holds_an_infinite_bound(shown: float) -> None:
    with pytest.raises(ValueError, match="no finite run can show"):
        _bound(shown)


def test_a_large_bound_is_not_capped() -> None:
    assert _bound(55.5).value == 55.5  # type: ignore[attr-defined]


def test_a_record_says_everything_a_reader_needs_and_is_frozen() -> None:
    bound = _bound(0.5, setting=Setting("final_output", "add_remove", "conditional_on_answers"))
    assert dataclasses.asdict(bound) == {  # type: ignore[call-overload]
        "value": 0.5,
        "unclipped": 0.5,
        "confidence": 0.95,
        "kind": "bound",
        "method": "m",
        "threshold_rule": "fixed",
        "delta": 0.0,
        "n": 7,
        "n_in": 3,
        "n_out": 4,
        "ceiling": 1.0,
        "observation": "final_output",
        "neighbouring": "add_remove",
        "scope": "conditional_on_answers",
    }
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.value = 1.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(("hits", "trials"), [(3, 2), (-1, 2)])
def test_more_hits_than_trials_are_refused(hits: int, trials: int) -> None:
    with pytest.raises(ValueError, match=f"{hits} hits in {trials} trials"):
        Outcomes(hits, trials)


def test_shares_of_hits_are_not_counts() -> None:
    with pytest.raises(TypeError):
        Outcomes(0.5, 2)  # type: ignore[arg-type]


def test_confidence_and_error_probability_are_each_others_complement() -> None:
    assert alpha_at(confidence_at(0.05)) == pytest.approx(0.05, abs=1e-16)
    for impossible in (0.0, 1.0, -0.1, 2.0):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            alpha_at(impossible)
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            confidence_at(impossible)


def test_scores_that_are_not_numbers_get_a_clear_error() -> None:
    with pytest.raises(ValueError, match=r"scores_in holds 1 scores .* missing_against_auditor"):
        score_array([1.0, math.nan], "scores_in")
    with pytest.raises(ValueError, match="non-empty"):
        score_array([], "scores_in")
    assert score_array([math.inf, -math.inf], "scores_in").size == 2


def test_values_outside_the_unit_interval_are_refused() -> None:
    for values in ([1.1], [-0.1], [math.nan], [], [[0.5]]):
        with pytest.raises(ValueError, match="values"):
            unit_values(values, "values")
