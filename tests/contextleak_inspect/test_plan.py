import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from contextleak_inspect.bounds import Outcomes
from contextleak_inspect.calibration import analytic_sigma, randomized_response, vote_sensitivity
from contextleak_inspect.config import audit_config
from contextleak_inspect.estimators import epsilon_lower_bound
from contextleak_inspect.plan import model_calls, plan, smallest_trials
from contextleak_inspect.plan_report import plan_table
from contextleak_inspect.possible import possible
from contextleak_inspect.power import Claim, clopper_pearson_power
from contextleak_inspect.rao_blackwell import hit_probability
from contextleak_inspect.releases import Planned, releases
from contextleak_inspect.rows import Row, fixed_threshold, score_noise
from contextleak_inspect.sequential import epsilon_from_pairs
from contextleak_inspect.vote_laws import vote_law


def rows_of(**settings):
    return {(row.method, row.cut.split(",")[0]): row for row in plan(Planned(**settings))}


def test_calls_by_what_is_asked_anew():
    # 100 trials of 10 shards at 7 values of ε; 20 repeats of 11 prompts
    assert model_calls(10, 100, 7, 20) == (7000, 1000, 550, 220)
    assert model_calls(10, 3, 1).paired == 22  # the odd trial needs a pair of its own
    with pytest.raises(ValueError, match="trials must be at least 1, got 0"):
        model_calls(10, 0, 7)


@pytest.mark.parametrize("needed", [1, 8, 9, 137, 5000])
def test_the_search_finds_the_step(needed):
    found = smallest_trials(lambda n: float(n >= needed), 0.8, 10_000)
    assert needed <= found <= needed * 1.006
    assert smallest_trials(lambda n: float(n >= needed), 0.8, needed - 1) is None or needed == 1


def test_no_number_of_trials_shows_more_than_there_is():
    rows = plan(Planned(show=2.0, claimed=(1.0, 2.0, 4.0)))
    assert [row.method for row in rows if row.claimed in {1.0, 2.0}] == ["any", "any"]
    assert all(row.trials is None for row in rows if row.method == "any")
    # 10 shards with 5 % errors: claimed 1 is 0.87 at most
    [erring] = plan(Planned(show=0.9, claimed=(1.0,), false_votes=0.05, misses=0.05))
    assert erring.method == "any"
    assert erring.true_epsilon == pytest.approx(0.867, abs=1e-3)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0, 4.0])
def test_a_perfect_attack_needs_about_3_7_times_e_to_the_epsilon_trials_a_world(epsilon):
    row = rows_of(show=epsilon, defense="none")["clopper_pearson", "fixed"]
    assert row.trials / 2 == pytest.approx(3.7 * math.exp(epsilon), rel=0.2)
    # the ceiling of that many trials is at or above what is to be shown, of one less below
    n = row.trials // 2
    ceilings = [
        epsilon_lower_bound(Outcomes(n, n), Outcomes(0, n), delta=1e-5).ceiling for n in (n, n - 1)
    ]
    assert ceilings[0] >= epsilon > ceilings[1]


def test_the_rule_at_fpr_one_tenth_cannot_show_more_than_its_ratio():
    # claimed 8: TPR 0.65 at FPR 0.1, so ln 6.5 = 1.87 at most, whatever n
    rows = rows_of(show=2.0, claimed=(8.0,))
    assert rows["clopper_pearson", "fixed_rank"].trials is None
    assert rows["clopper_pearson", "fixed"].trials < 1000
    finer = rows_of(show=2.0, claimed=(8.0,), target_fpr=0.01)
    assert finer["clopper_pearson", "fixed_rank"].trials < 2000


def test_integrating_the_noise_out_saves_trials():
    rows = rows_of(show=1.0, claimed=(4.0,))
    drawn, integrated = (
        next(row for key, row in rows.items() if key[0] == name)
        for name in ("e_process", "e_process, noise integrated")
    )
    assert integrated.trials < drawn.trials / 5


def test_what_holds_is_said():
    exact = rows_of(show=1.0, claimed=(4.0,))
    erring = rows_of(show=1.0, claimed=(4.0,), false_votes=0.02, misses=0.1, target_fpr=0.02)
    gaussian = ("gaussian_clopper_pearson", "fixed")
    assert not exact[gaussian].model_based
    assert erring[gaussian].model_based
    # both worlds of a pair share answers: no fair coin, and no rank of one of them
    assert all(row.calls_paired is None for row in erring.values() if "accuracy" in row.method)
    assert erring["clopper_pearson", "fixed_rank"].calls_paired is None
    row = erring["clopper_pearson", "fixed"]
    assert (row.calls, row.calls_paired) == (10 * row.trials, 11 * row.trials // 2)
    # heuristics ask one prompt and have one threshold and no noise
    heuristic = plan(Planned(show=1.0, defense="faux_secrets", misses=0.3))
    assert {row.cut.split(",")[0] for row in heuristic} == {"fixed"}
    assert all(row.calls_paired is None and row.calls == row.trials for row in heuristic)
    assert not any("integrated" in row.method for row in heuristic)


@pytest.mark.parametrize(
    "settings",
    [
        {"defense": "esa", "claimed": (8.0,)},
        {"defense": "label_rr", "claimed": (2.0,), "delta": 0.0, "n_options": 3},
        {"level": "label", "claimed": (1.0,), "show": 0.3},
        {"claimed": (math.inf,), "false_votes": 0.05, "misses": 0.05},
    ],
    ids=["esa", "label_rr", "label", "no noise"],
)
def test_planned_trials_have_the_power_and_a_third_of_them_does_not(settings):
    planned = Planned(**{"show": 1.0, **settings})
    rows = [row for row in plan(planned) if row.trials]
    assert rows
    for row in rows:
        assert row.power_at(row.trials // 2) >= planned.power
        assert row.power_at(max(1, row.trials // 6)) < planned.power


@pytest.mark.parametrize("method", ["clopper_pearson", "e_process, noise integrated"])
def test_paired_answers_do_not_cost_power(method):
    planned = Planned(show=1.0, claimed=(4.0,), false_votes=0.05, misses=0.05)
    row = next(row for row in plan(planned) if row.method == method)
    # the same threshold as the plan's, from its FPR
    noise = math.sqrt(2) * analytic_sigma(4.0, 1e-5, vote_sensitivity())
    n, audits, rng = row.trials // 2, 200, np.random.default_rng(3)
    pool = 2 * rng.binomial(10, 0.05, 400_000) + noise * rng.standard_normal(400_000)
    threshold = np.quantile(pool, 1 - float(row.cut.split("FPR ")[1].split(",")[0]))
    shared = rng.binomial(9, 0.05, (audits, n))
    inside, outside = (2 * (shared + rng.binomial(1, rate, (audits, n))) for rate in (0.95, 0.05))
    shown = 0
    for x, y in zip(inside, outside, strict=True):
        if method == "clopper_pearson":
            hits, alarms = (
                int(np.sum(v + noise * rng.standard_normal(n) > threshold)) for v in (x, y)
            )
            bound = epsilon_lower_bound(Outcomes(hits, n), Outcomes(alarms, n), delta=1e-5)
        else:
            assert row.cut.endswith("misses")
            f_in, f_out = (hit_probability(v, noise, threshold) for v in (x, y))
            bound = epsilon_from_pairs(1 - f_out, 1 - f_in, delta=1e-5)
        shown += bound.value >= 1.0
    assert shown / audits > 0.8 - 4 * math.sqrt(0.8 * 0.2 / audits)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"show": 0.0}, "ε to show must be positive and finite, got 0.0"),
        ({"show": 1.0, "power": 1.0}, r"power must be in \(0, 1\), got 1.0"),
        ({"show": 1.0, "defense": "zero_shot"}, "uses no private exemplar"),
        ({"show": 1.0, "defense": "ksa"}, "run a pilot audit instead"),
        ({"show": 1.0, "ensemble": 10**5}, "ensemble 100000 is above 1000"),
        ({"show": 1.0, "claimed": ()}, "rnm needs at least one claimed ε"),
        ({"show": 1.0, "defense": "esa", "level": "label"}, "level 'label' belongs to rnm"),
    ],
)
def test_what_cannot_be_planned_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Planned(**settings)


def test_the_table_says_what_it_rests_on():
    planned = Planned(show=1.0, claimed=(1.0, 4.0), false_votes=0.02, misses=0.1)
    text = plan_table(planned, plan(planned))
    lines = text.splitlines()
    assert lines[0] == "Trials to show ε ≥ 1 with power 80% at 95% confidence, δ = 1e-05"
    assert "10 shards; false votes 0.02; misses 0.1" in lines[1]
    assert any(line.split()[:1] == ["1"] and "out of reach" in line for line in lines)
    assert any("gaussian_clopper_pearson *" in line for line in lines)
    assert "*: no bound" in text
    assert "220 calls" in text


def commands(planned):
    """Arguments of each command that the plan prints, as the command line would send them."""
    printed = [
        line.split()
        for line in plan_table(planned, plan(planned)).splitlines()
        if line.startswith("inspect eval")
    ]
    return [
        dict(word.split("=", 1) for flag, word in pairwise(words) if flag == "-T")
        for words in printed
    ]


@pytest.mark.parametrize(
    "settings",
    [
        {"claimed": (4.0, math.inf), "false_votes": 0.02, "misses": 0.05, "delta": 1e-6},
        {"defense": "esa", "claimed": (8.0,), "ensemble": 5, "neighbouring": "add_remove"},
        {"defense": "label_rr", "claimed": (2.0,), "delta": 0.0, "confidence": 0.9},
        {"defense": "none", "misses": 0.1},
        {"claimed": (1.0,), "level": "label", "show": 0.3},
        {"claimed": (8.0, math.inf)},
    ],
)
def test_every_printed_command_is_an_audit(settings):
    planned = Planned(**{"show": 1.0, **settings})
    task = "generation" if planned.defense == "esa" else "classification"
    found = [audit_config({"task": task, **given}) for given in commands(planned)]
    assert len(found) == sum(
        row.trials is not None and row.arguments is not None for row in plan(planned)
    )
    told = [row for row in plan(planned) if row.trials is not None and row.arguments is not None]
    for row, given in zip(told, commands(planned), strict=True):
        if row.calls_paired is not None:  # what the plan says may stand in the place of balanced
            paired = {name: value for name, value in given.items() if name != "balanced"}
            assert audit_config({"task": task, **paired, "calls": "paired"}).calls == "paired"
    assert {c.delta for c in found} == {planned.delta}
    assert {c.ensemble for c in found} <= {planned.ensemble, 1}
    assert {(c.confidence, c.neighbouring) for c in found} == {
        (planned.confidence, planned.neighbouring)
    }
    assert {c.bound for c in found} == {"clopper_pearson", "e_process"}


# The audit's own threshold and noise give the rates, and so the power, that the plan counts on.
@pytest.mark.parametrize("claimed", [4.0, math.inf])
def test_the_audit_cuts_where_the_plan_says(claimed):
    planned = Planned(show=1.0, claimed=(claimed,), false_votes=0.02, misses=0.05)
    row = next(row for row in plan(planned) if row.method == "clopper_pearson")
    told = next(c for c in commands(planned) if c.get("threshold") == "fixed")
    config, seen = audit_config(told), Row("histogram", claimed)
    k = np.arange(11)
    hit = hit_probability(2 * k - 10, score_noise(config, seen), fixed_threshold(config, seen))
    law = vote_law(10, false_votes=0.02, misses=0.05)
    n, claim = config.trials // 2, Claim(1.0, 1e-5, 0.05)
    power = clopper_pearson_power(law, hit, claim, n)
    assert power == pytest.approx(row.power_at(n), abs=1e-3)
    assert power >= 0.8 - 1e-3


# Where the model says the canary's label too often, its other label would be the better test. The
# audit does not take it: at the planned number the canary's label alone has to show ε.
def test_randomized_response_is_planned_for_the_label_that_an_audit_reads():
    planned = Planned(show=1.0, defense="label_rr", claimed=(4.0,), delta=0.0, false_votes=0.3)
    row = next(row for row in plan(planned) if row.method == "clopper_pearson")
    keep, other = randomized_response(4.0, 3)
    tpr, fpr, n = keep, 0.7 * other + 0.3 * keep, row.trials // 2
    counts = range(n + 1)
    shown = np.array([
        [epsilon_lower_bound(Outcomes(h, n), Outcomes(a, n), delta=0.0).value >= 1 for a in counts]
        for h in counts
    ])
    power = binom.pmf(counts, n, tpr) @ shown @ binom.pmf(counts, n, fpr)
    assert power == pytest.approx(row.power_at(n), abs=1e-8)
    assert power >= planned.power


# An unread reply is an option of its own: two labels make three.
def test_randomized_response_is_planned_as_it_is_audited():
    planned = Planned(show=1.0, defense="label_rr", claimed=(2.0,), delta=0.0)
    row = next(row for row in plan(planned) if row.method == "clopper_pearson")
    config = audit_config({"defense": "label_rr", "trials": row.trials, "balanced": True})
    seen = possible(config, Row("label", 2.0), n_labels=2)
    [release] = releases(planned)
    assert release.accuracy == pytest.approx(seen.accuracy)
