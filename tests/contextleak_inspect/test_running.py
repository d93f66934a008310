import numpy as np
import pytest

from contextleak_inspect.running import (
    GRID,
    guess_added,
    guess_bound,
    guess_start,
    pair_added,
    pair_bound,
    pair_start,
)
from contextleak_inspect.sequential import epsilon_from_guesses, epsilon_from_pairs


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.01])
def test_the_running_pair_bound_is_the_largest_so_far_on_its_grid(delta: float) -> None:
    rng = np.random.default_rng(1)
    inside, outside = rng.beta(8, 2, 120), rng.beta(1, 12, 120)
    inside[90:] = 0.0  # evidence falls at the end; the maximum stays
    state, exact = pair_start(delta=delta), []
    for pair in range(120):
        state = pair_added(state, inside[pair], outside[pair])
        seen = slice(0, pair + 1)
        exact.append(epsilon_from_pairs(inside[seen], outside[seen], delta=delta).value)
        assert max(exact) - 0.011 <= state.value <= max(exact) + 1e-8
    bound = pair_bound(state)
    assert bound.value == state.value > exact[-1]
    assert bound.n_in == bound.n_out == 120
    assert bound.value <= bound.ceiling


def test_a_state_is_never_changed() -> None:
    start = pair_start(delta=0.0)
    pair_added(start, 1.0, 0.0)
    assert start.pairs == 0
    assert not start.log_wealth.any()


def test_a_state_takes_the_same_space_however_many_pairs_came() -> None:
    state = pair_start(delta=1e-5)
    sizes = set()
    for _ in range(50):
        state = pair_added(state, 1.0, 0.0)
        sizes.add(state.log_wealth.shape)
    assert sizes == {(20, GRID.size - 1)}


def test_the_grid_ends_above_anything_ten_million_pairs_can_show() -> None:
    state = pair_start(delta=0.0)._replace(pairs=10**7)
    assert pair_bound(state).ceiling < GRID[-1]


def test_the_running_guess_bound_is_the_largest_so_far() -> None:
    rng = np.random.default_rng(2)
    correct = rng.random(80) < 0.9
    correct[60:] = False
    state, exact = guess_start(fair_coins=True), []
    for guess in range(80):
        state = guess_added(state, bool(correct[guess]))
        seen = correct[: guess + 1].astype(float)
        exact.append(epsilon_from_guesses(seen, fair_coins=True, delta=1e-5).value)
        assert guess_bound(state, delta=1e-5).value == pytest.approx(max(exact), abs=1e-9)
    assert max(exact) > exact[-1]


def test_before_the_first_trial_nothing_is_shown() -> None:
    assert pair_bound(pair_start(delta=0.0)).value == 0.0
    assert guess_bound(guess_start(fair_coins=True), delta=0.0).value == 0.0


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="value_in"):
        pair_added(pair_start(delta=0.0), 1.5, 0.0)
    with pytest.raises(ValueError, match="fair coin"):
        guess_start(fair_coins=False)
    with pytest.raises(ValueError, match="same_data"):
        pair_bound(pair_start(delta=0.0), threshold_rule="same_data")
