"""One row of an audit, on audits in memory whose truth is known."""

import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from contextleak_inspect.anytime_row import anytime_bound
from contextleak_inspect.audit_row import audit_row, main_bound
from contextleak_inspect.audit_run import gather
from contextleak_inspect.audit_table import row_values
from contextleak_inspect.calibration import analytic_sigma
from contextleak_inspect.config import audit_config
from contextleak_inspect.estimators import epsilon_lower_bound
from contextleak_inspect.possible import possible
from contextleak_inspect.roc import auc
from contextleak_inspect.rows import audit_rows, rescored
from contextleak_inspect.thresholds import fixed_cut, fixed_rank_cut, holdout_cut
from tests.contextleak_inspect.audits import drawn_run, drawn_votes, released, vote_record

THEORY = "1,2,3,4,5,6,7,8,9,10"


# auditing_math 4.4: every accuracy lies within 4 standard errors of the curve, and so does TPR at
# FPR 0.1. The noise itself is tested with 20 000 trials a world in test_mechanisms.
def test_a_perfect_model_lies_on_the_curve():
    n = 2500
    run = drawn_run(4, trials=2 * n, epsilon=THEORY, threshold="fixed", balanced=True)
    for index, row in enumerate(audit_rows(run.config)[:10]):
        scores = [run.arms[world].scores[:, index] for world in ("in", "out")]
        ceiling = possible(run.config, row)
        cut = fixed_cut(*scores, -9.0)
        tpr, fpr = (o.hits / o.trials for o in (cut.canary_in, cut.canary_out))
        a = ceiling.accuracy
        assert abs((tpr + 1 - fpr) / 2 - a) < 4 * math.sqrt(a * (1 - a) / (2 * n))
        tpr_at = fixed_rank_cut(*scores, 0.1).canary_in.hits / n
        # both the rank and the hits vary
        slope = (
            possible_tpr(ceiling, row, run, 0.105) - possible_tpr(ceiling, row, run, 0.095)
        ) / 0.01
        error = math.sqrt((ceiling.tpr * (1 - ceiling.tpr) + slope**2 * 0.09) / n)
        assert abs(tpr_at - ceiling.tpr) < 4 * error


def possible_tpr(ceiling, row, run, fpr):
    return possible(run.config.model_copy(update={"target_fpr": fpr}), row).tpr


def test_a_model_with_errors_lies_on_the_curve_of_its_rates():
    rates = {"false_vote": 0.03, "miss": 0.1}
    run = drawn_run(5, rates, trials=6000, epsilon="2,8,inf", threshold="fixed", balanced=True)
    for index, row in enumerate(audit_rows(run.config)):
        at_rates = possible(run.config, row, false_votes=0.03, misses=0.1)
        measured = audit_row(run, index).accuracy_optimistic
        a = at_rates.accuracy
        # the best of all thresholds may exceed the curve a little, a fixed one may fall short
        assert -4 < (measured - a) / math.sqrt(a * (1 - a) / 6000 + 1e-9) < 5


# Each method, each row: a harmless system shows ε > 0 in at most 5 % of audits.
@pytest.mark.slow
@pytest.mark.parametrize("calls", ["naive", "paired"])
def test_null_audits_show_nothing_in_95_of_100(calls):
    audits, found = 150, {}
    for seed in range(audits):
        # the canary changes nothing: hits are as frequent as false votes
        rates = {"false_vote": 0.3, "miss": 0.7, "unparsed": 0.05}
        run = drawn_run(seed, rates, trials=100, epsilon="1,8,inf", calls=calls)
        for index, row in enumerate(audit_rows(run.config)):
            audited = audit_row(run, index)
            for name in ("bound", "gaussian", "e_process", "integrated"):
                bound = getattr(audited, name)
                if bound is not None:
                    found.setdefault((row.name, name), []).append(bound.value > 0)
    assert len(found) == 6 * 3 + 2
    allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / audits)
    assert {key: np.mean(v) for key, v in found.items() if np.mean(v) > allowed} == {}


# The same for the true ε of a leaking one, taken from theory at the true rates.
@pytest.mark.slow
def test_bounds_exceed_the_truth_in_at_most_5_of_100():
    audits, above = 100, {}
    rates = {"false_vote": 0.02, "miss": 0.1}
    for seed in range(audits):
        run = drawn_run(seed, rates, trials=120, epsilon="2,10")
        given = released(run.config, run.records)
        for rule in ("fixed_rank", "holdout", "grid", "dkw"):
            config = rescored(run.config, threshold=rule)
            judged = gather(config, given)
            for index, row in enumerate(audit_rows(config)):
                truth = possible(config, row, false_votes=0.02, misses=0.1).epsilon + 1e-9
                audited = audit_row(judged, index)
                names = ("bound", *(("e_process", "integrated") if rule == "dkw" else ()))
                for name in names:
                    key = (rule, row.name, name)
                    above.setdefault(key, []).append(getattr(audited, name).value > truth)
    allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / audits)
    assert len(above) == 4 * 4 + 8
    assert {key: np.mean(v) for key, v in above.items() if np.mean(v) > allowed} == {}


# A model that says the canary's label in every trial leaks nothing. Where those without the canary
# fail, each of them is a false alarm, with noise or without.
@pytest.mark.parametrize("epsilon", ["8", "inf"])
def test_failed_trials_are_false_alarms_for_every_bound(epsilon):
    config = audit_config({
        "epsilon": epsilon,
        "trials": 80,
        "calls": "paired",
        "threshold": "fixed",
    })
    votes = dict.fromkeys(("in", "out"), (0,) * config.ensemble)
    marks = {"in": "v" * config.ensemble, "out": "w" + "v" * (config.ensemble - 1)}
    records = [vote_record(config, i, votes=votes, marks=marks) for i in range(40)]
    audited = audit_row(gather(config, released(config, records)), 0)
    shown = (audited.bound.value, audited.e_process.value, audited.integrated.value)
    assert shown == (0.0, 0.0, 0.0)


def test_bounds_are_those_of_the_estimators():
    for rule in ("fixed", "fixed_rank", "holdout"):
        run = drawn_run(7, {"false_vote": 0.02}, epsilon="8", threshold=rule)
        inside, outside = run.arms["in"], run.arms["out"]
        scores = inside.scores[:, 0], outside.scores[:, 0]
        parts = (
            *(a.scores[a.calibration, 0] for a in (inside, outside)),
            *(a.scores[~a.calibration, 0] for a in (inside, outside)),
        )
        cut = {
            "fixed": lambda s=scores: fixed_cut(*s, -9.0),
            "fixed_rank": lambda s=scores: fixed_rank_cut(*s),
            "holdout": lambda p=parts: holdout_cut(*p),
        }[rule]()
        expected = epsilon_lower_bound(cut.canary_in, cut.canary_out, delta=1e-5)
        audited = audit_row(run, 0)
        assert audited.bound == expected
        assert audited.auc == auc(*scores)
        assert audited.bound.threshold_rule == rule
        assert audited.bound.ceiling >= audited.bound.value


def test_every_number_says_where_it_comes_from():
    run = drawn_run(3, epsilon="4")
    histogram, label = audit_row(run, 0), audit_row(run, 1)
    for audited, observation in ((histogram, "noisy_aggregate"), (label, "final_output")):
        for bound in (audited.bound, audited.e_process, audited.integrated, audited.paper):
            assert bound.observation == observation
            assert bound.neighbouring == "replace_one"
            assert bound.delta == 1e-5
            assert bound.scope == "mechanism"
            assert bound.n_in > 0
            assert bound.n_out > 0
    assert histogram.gaussian.kind == "model_based"
    assert label.gaussian is None
    assert histogram.paper.kind == "plug_in"
    assert histogram.paper.ceiling == pytest.approx(2.3026, abs=1e-4)
    assert label.bound.threshold_rule == "fixed"
    assert histogram.integrated.method == "e_process, noise integrated, running maximum"


def test_the_named_bound_is_the_main_one():
    for name, kind in (("clopper_pearson", "bound"), ("e_process", "integrated")):
        run = drawn_run(3, epsilon="8", bound=name)
        audited = audit_row(run, 0)
        assert main_bound(run, audited) is getattr(audited, kind)


# False votes and misses of 1 %: the Gaussian ε is far above the truth of this pair, 4.57.
def test_a_number_that_is_no_bound_is_not_printed_as_one():
    rates = {"false_vote": 0.01, "miss": 0.01}
    run = drawn_run(3, rates, trials=1000, epsilon="10", threshold="fixed")
    assert audit_row(run, 0).gaussian.kind == "model_based"
    histogram = row_values(run, 0)
    truth = possible(run.config, audit_rows(run.config)[0], false_votes=0.01, misses=0.01).epsilon
    assert histogram["ε if Gaussian"] > truth + 1
    assert histogram["ε ≥"] == histogram["ε ≥ Clopper-Pearson"] < truth


# A failed trial is a miss with the canary and a false alarm without it.
def test_failed_and_lost_trials_count_against_the_auditor():
    config = audit_config({"defense": "none", "trials": 40})
    records = drawn_votes(config, np.random.default_rng(1))
    whole = audit_row(gather(config, released(config, records)), 0)
    assert whole.bound.value > 1
    ins = [r.trial for r in records if "in" in r.votes][:5]
    outs = [r.trial for r in records if "out" in r.votes][:5]
    kept = [r for r in records if r.trial not in {*ins, *outs}]
    lost = audit_row(gather(config, released(config, kept), lost=[*ins, *outs]), 0)
    cut = [
        r.model_copy(update={"marks": dict.fromkeys(r.marks, "c")})
        if r.trial in {*ins, *outs}
        else r
        for r in records
    ]
    failed = audit_row(gather(config, released(config, cut)), 0)
    n_in, n_out = whole.bound.n_in, whole.bound.n_out
    worst = [0.0] * 5 + [1.0] * (n_in - 5), [1.0] * 5 + [0.0] * (n_out - 5)
    expected = epsilon_lower_bound(*fixed_cut(*worst, 0.5)[1:3], delta=1e-5, setting=whole.setting)
    assert lost.bound == failed.bound == expected
    assert lost.e_process == failed.e_process
    assert lost.e_process.value < whole.e_process.value


# Case E18, the other way round: fixed-n bounds wait for the planned n, anytime-valid ones do not.
def test_a_partial_run_shows_anytime_valid_bounds_only():
    config = audit_config({"epsilon": "8", "trials": 100})
    records = drawn_votes(config, np.random.default_rng(2))
    run = gather(config, released(config, records[:60]))
    audited = audit_row(run, 0)
    assert audited.bound is None
    assert audited.gaussian is None
    assert audited.auc is not None
    prefix = sum("in" in r.votes for r in records[:60])
    assert audited.integrated.n_in == min(prefix, 60 - prefix)
    # a trial that ran ahead changes nothing that is valid at any time
    ahead = gather(config, released(config, [*records[:60], records[80]]))
    assert audit_row(ahead, 0).integrated == audited.integrated
    assert anytime_bound(run, 0) == audited.integrated.value
    assert audit_row(gather(config, released(config, records)), 0).bound is not None


def test_nothing_is_said_of_empty_worlds():
    config = audit_config({"epsilon": "1", "trials": 10})
    records = drawn_votes(config, np.random.default_rng(2))
    for kept in ([], records[:1], [r for r in records if "in" in r.votes]):
        audited = audit_row(gather(config, released(config, kept)), 0)
        assert audited.bound is audited.auc is audited.accuracy is audited.integrated is None
        assert audited.possible.epsilon == pytest.approx(1.0)
    # Case D06: all coins on one side
    one_arm = gather(config, released(config, kept), finished=True)
    assert audit_row(one_arm, 0).bound.value == 0


def test_at_epsilon_0_nothing_can_be_shown():
    run = drawn_run(1, epsilon="0,1")
    for index in (0, 2):
        audited = audit_row(run, index)
        assert (audited.auc, audited.accuracy_optimistic) == (0.5, 0.5)
        assert audited.bound.value == audited.integrated.value == 0
        assert audited.accuracy.balanced == 0.5


# auditing_math section 7: ‖f(D) - f(D′)‖ / σ, no interval, another scope.
def test_frozen_answers_give_the_exact_epsilon():
    run = drawn_run(0, calls="frozen", epsilon="1,4")
    for index, row in enumerate(audit_rows(run.config)):
        audited = audit_row(run, index)
        assert audited.exact.value == pytest.approx(audited.possible.epsilon, rel=1e-6)
        assert audited.exact_accuracy == pytest.approx(audited.possible.accuracy)
        assert audited.exact.scope == "conditional_on_answers"
        assert audited.exact.confidence is None
        assert audited.bound is audited.e_process is None
        assert main_bound(run, audited) is audited.exact
        assert row.epsilon in {1.0, 4.0}


# Three labels a, b, c; the canary's is a, and it moves a vote from b to c. Chances of each label
# are integrated here; δ-events are enumerated.
def test_a_frozen_label_speaks_by_whichever_label_it_is():
    config = audit_config({
        "calls": "frozen",
        "epsilon": "8",
        "ensemble": 2,
        "n_exemplars": 2,
        "trials": 4,
    })
    votes = {"in": (2, 1), "out": (1, 1)}
    records = [
        vote_record(config, number, votes=votes, labels=("a", "b", "c")) for number in range(4)
    ]
    audited = audit_row(gather(config, released(config, records)), 1)
    sigma = analytic_sigma(8.0, 1e-5, math.sqrt(2))

    def wins(*counts):
        z = np.linspace(-12, 12, 20_001)
        parts = [
            norm.pdf(z)
            * np.prod(
                [norm.cdf(z + (own - o) / sigma) for j, o in enumerate(counts) if j != i], axis=0
            )
            for i, own in enumerate(counts)
        ]
        return [float(trapezoid(part, z)) for part in parts]

    inside, outside = wins(0, 1, 1), wins(0, 2, 0)
    events = [e for size in (1, 2) for e in combinations(range(3), size)]
    rates = [(sum(inside[i] for i in e), sum(outside[i] for i in e)) for e in events]
    shown = max(math.log((max(pair) - 1e-5) / min(pair)) for pair in rates)
    assert audited.exact.value == pytest.approx(shown, abs=1e-9) == pytest.approx(2.381, abs=5e-4)
    best = 0.5 + max(abs(t - f) for t, f in rates) / 2
    assert audited.exact_accuracy == pytest.approx(best, abs=1e-9)


def test_a_frozen_run_may_begin_with_any_repeat():
    whole = drawn_run(0, calls="frozen", epsilon="1,4")
    late = gather(whole.config, released(whole.config, whole.records[7:]))
    for index in range(4):
        expected = audit_row(whole, index).exact
        assert audit_row(late, index).exact == dataclasses.replace(expected, n=13)


def test_frozen_answers_that_change_give_nothing():
    run = drawn_run(0, {"false_vote": 0.3}, calls="frozen", epsilon="4")
    audited = audit_row(run, 0)
    assert audited.exact is audited.exact_accuracy is None


def test_frozen_without_noise_is_told_apart_for_certain():
    audited = audit_row(drawn_run(0, calls="frozen", epsilon="inf"), 0)
    assert (audited.exact, audited.exact_accuracy) == (None, 1.0)


# Case D07: unequal arms; "always in" is worth one half.
def test_accuracy_is_balanced():
    rates = {"false_vote": 1.0, "miss": 0.0}
    audited = audit_row(drawn_run(12, rates, defense="none", trials=30), 0)
    assert audited.n_in != audited.n_out
    assert audited.accuracy.balanced == 0.5
    assert audited.bound.value == 0


def test_log_probabilities_have_thresholds_of_their_own():
    config = audit_config({"defense": "none", "membership": "logprob", "trials": 60})
    rng = np.random.default_rng(0)
    records = [
        r.model_copy(
            update={
                "logprob_scores": {w: float(rng.normal(3 if w == "in" else 0)) for w in r.votes}
            }
        )
        for r in drawn_votes(config, rng)
    ]
    audited = audit_row(gather(config, released(config, records)), 0)
    assert audited.row.level == "log-probability"
    assert audited.setting.observation == "clean_votes"
    assert audited.bound.value > 0.5
    assert audited.e_process.value > 0.3
    assert audited.integrated is None
    assert math.isnan(audited.possible.epsilon)
