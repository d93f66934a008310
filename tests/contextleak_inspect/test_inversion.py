import math

import pytest

from contextleak_inspect.inversion import TOLERANCE, smallest_accepted


def test_evidence_that_only_falls_crosses_zero_once() -> None:
    assert smallest_accepted(lambda e: 2 - e) == pytest.approx(2, abs=1e-12)
    assert smallest_accepted(lambda e: 9.5 - e) == pytest.approx(9.5, abs=1e-12)


def test_without_evidence_at_zero_the_crossing_lies_below() -> None:
    assert smallest_accepted(lambda e: -0.75 - e) == pytest.approx(-0.75, abs=1e-12)
    assert smallest_accepted(lambda e: -1.0) == -math.inf


def test_nothing_below_0_is_looked_at_where_nobody_asks():
    asked: list[float] = []

    def evidence(epsilon: float) -> float:
        asked.append(epsilon)
        return -0.75 - epsilon

    assert smallest_accepted(evidence, below_0=False) == 0.0
    assert asked == [0.0]


def test_an_early_dip_ends_the_search_even_if_evidence_comes_back() -> None:
    # Above 0 on [0, 1), below on (1, 1.001), above again up to 3: only [0, 1] is refuted.
    def evidence(e: float) -> float:
        return -1.0 if 1 < e < 1.001 else 3 - e

    def floor(low: float, high: float) -> float:
        return -1.0 if low < 1.001 and high > 1 else 3 - high

    assert smallest_accepted(evidence) == pytest.approx(3)  # the fault that floor is there for
    assert 1 - 2 * TOLERANCE < smallest_accepted(evidence, floor) <= 1


def test_a_floor_with_slack_still_reaches_the_crossing_from_below() -> None:
    found = smallest_accepted(lambda e: 2 - e, lambda low, high: 2 - high - 5 * (high - low))
    assert 2 - 10 * TOLERANCE < found <= 2
