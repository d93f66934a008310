import math

import pytest

from contextleak_inspect.config import audit_config
from contextleak_inspect.possible import NOTHING, possible
from contextleak_inspect.rows import Row, audit_rows
from contextleak_inspect.theory import label_rr_curve, rnm_curve
from contextleak_inspect.vote_laws import vote_law


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.02, 0.1)])
@pytest.mark.parametrize("level", ["histogram", "label"])
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_rows_stand_on_the_theory_curve(rates, level, relation):
    q, r = rates
    config = audit_config({"epsilon": "1,4,10,inf", "neighbouring": relation})
    law = vote_law(10, false_votes=q, misses=r)
    curve = rnm_curve(config.epsilon, delta=1e-5, law=law, calibrated=relation, level=level)
    for point in curve:
        row = Row(level, point.epsilon_claimed)
        found = possible(config, row, false_votes=q, misses=r)
        assert found == pytest.approx((point.accuracy, point.tpr, point.epsilon))


# auditing_math 4.4: the best accuracy at the histogram, and label-only with k: 0 → 1 of 10.
@pytest.mark.parametrize(
    ("epsilon", "histogram", "label"),
    [
        (1, 0.55331, 0.5259),
        (2, 0.59901, 0.5082),
        (4, 0.67813, 0.5001),
        (8, 0.79758, 0.5),
        (10, 0.8414, 0.5),
    ],
)
def test_expected_accuracies(epsilon, histogram, label):
    config = audit_config({"epsilon": epsilon})
    rows = audit_rows(config)
    assert possible(config, rows[0]).accuracy == pytest.approx(histogram, abs=1e-5)
    assert possible(config, rows[1]).accuracy == pytest.approx(label, abs=1e-4)


def test_tied_votes_let_the_label_reach_the_optimum():
    config = audit_config({"epsilon": "4", "ensemble": 5, "vote_balance": "tied"})
    histogram, label = (possible(config, row) for row in audit_rows(config))
    assert label.accuracy == pytest.approx(histogram.accuracy) == pytest.approx(0.67813, abs=1e-5)


def test_a_third_label_takes_wins_from_the_canarys():
    config = audit_config({"epsilon": "1"})
    label = audit_rows(config)[1]
    assert possible(config, label, n_labels=4).accuracy < possible(config, label).accuracy


def test_randomized_response_has_an_option_for_unread_replies():
    config = audit_config({"defense": "label_rr", "epsilon": "2"})
    [point] = label_rr_curve([2.0], n_options=3)
    found = possible(config, Row("label", 2.0))
    assert found == pytest.approx((point.accuracy, point.tpr, point.epsilon))
    assert found.epsilon == pytest.approx(2.0)


def test_without_known_noise_theory_says_nothing():
    assert possible(audit_config({"defense": "none"}), Row("reply", None)) == NOTHING
    rnm = audit_config({"epsilon": "0,1"})
    assert possible(rnm, Row("histogram", 1.0), false_votes=math.nan) == NOTHING
    assert possible(rnm, Row("histogram", 0.0)) == (0.5, 0.1, 0.0)


@pytest.mark.filterwarnings("ignore:the classical Gaussian")
def test_too_little_classical_noise_shows_more_than_claimed():
    config = audit_config({"epsilon": "10", "noise_calibration": "classical"})
    assert possible(config, Row("histogram", 10.0)).epsilon > 10
