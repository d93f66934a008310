import math
from itertools import combinations

import pytest
from scipy.integrate import quad
from scipy.stats import norm

from contextleak_inspect.calibration import analytic_sigma
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


# Released label of three, votes 0 of 10 → 1 of 10: a smaller lead lets the third label win more
# often too, so the best test looks for either. Events are enumerated, chances integrated.
def test_the_best_attack_reads_every_label():
    config = audit_config({"epsilon": "1"})
    found = possible(config, Row("label", 1.0), n_labels=3)
    sigma = analytic_sigma(1.0, 1e-5, math.sqrt(2))

    def wins(counts):
        return [
            quad(
                lambda z, t=t: (
                    norm.pdf(z)
                    * math.prod(
                        norm.cdf(z + (counts[t] - rival) / sigma)
                        for u, rival in enumerate(counts)
                        if u != t
                    )
                ),
                -12,
                12,
                epsabs=1e-13,
            )[0]
            for t in range(3)
        ]

    outside, inside = wins((0, 10, 0)), wins((1, 9, 0))
    events = [e for size in range(4) for e in combinations(range(3), size)]
    rates = [(sum(inside[t] for t in e), sum(outside[t] for t in e)) for e in events]
    assert found.accuracy == pytest.approx(max(0.5 + (t - f) / 2 for t, f in rates), abs=1e-10)
    assert found.accuracy > 0.5 + (inside[0] - outside[0]) / 2 + 0.005
    shown = max(math.log((t - 1e-5) / f) for t, f in rates if f > 0 and t > 1e-5)
    assert found.epsilon == pytest.approx(shown, abs=1e-9)


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
