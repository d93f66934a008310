import itertools
import json
from collections import Counter

import pytest
import scipy.stats

from contextleak_inspect.config import audit_config
from contextleak_inspect.private_data import deal
from contextleak_inspect.trials import (
    canary_shard,
    check_neighbours,
    coin,
    context,
    plan_trials,
    prepare_audit,
    prompts,
)


def audit(**fields):
    return prepare_audit(audit_config(fields))


# Case D33: coins are independent and fair, so arm sizes vary.
def test_case_d33_coins_are_independent_and_fair():
    arms = []
    for seed in range(1, 6):
        coins = [coin(seed, trial) for trial in range(1000)]
        arms.append(sum(coins))
        assert 450 <= sum(coins) <= 550
        pairs = Counter(itertools.pairwise(coins))
        assert scipy.stats.chisquare(list(pairs.values())).pvalue > 1e-4
    assert len(set(arms)) > 1


def test_arm_sizes_follow_the_binomial_over_seeds():
    arms = [sum(coin(seed, trial) for trial in range(20)) for seed in range(2000)]
    expected = 2000 * scipy.stats.binom(20, 0.5).pmf(range(21))
    observed = [arms.count(size) for size in range(21)]
    tails = [sum(observed[:6]), *observed[6:15], sum(observed[15:])]
    expected = [sum(expected[:6]), *expected[6:15], sum(expected[15:])]
    assert scipy.stats.chisquare(tails, expected).pvalue > 1e-4


# Case E07: no attempt draws a new coin.
def test_case_e07_the_coin_is_a_function_of_seed_and_trial():
    assert [coin(7, 13) for attempt in (1, 2, 3)] == [coin(7, 13)] * 3
    short, long = (plan_trials(audit_config({"seed": 7, "trials": n}), 64) for n in (14, 50))
    assert short[13].worlds == long[13].worlds == (("in",) if coin(7, 13) else ("out",))


def test_plan_follows_from_the_config_alone():
    first, second = (audit(seed=3) for _ in range(2))
    assert first == second
    assert audit(seed=4).trials != first.trials


def test_nothing_but_the_worlds_depends_on_the_coin():
    free, balanced = (plan_trials(audit_config({"balanced": b}), 64) for b in (False, True))
    assert [t.worlds for t in free] != [t.worlds for t in balanced]
    assert [t._replace(worlds=()) for t in free] == [t._replace(worlds=()) for t in balanced]


@pytest.mark.parametrize("trials", [100, 101])
def test_balanced_arms_are_equal_in_each_part(trials):
    plan = plan_trials(audit_config({"balanced": True, "trials": trials}), 64)
    for part in ("calibration", "evaluation"):
        arms = Counter(trial.worlds for trial in plan if trial.part == part)
        assert abs(arms["in",] - arms["out",]) <= 1
    order = [trial.worlds for trial in plan if trial.part == "evaluation"]
    assert order != sorted(order) != order[::-1]


def test_calibration_comes_first_and_has_its_share():
    parts = [trial.part for trial in plan_trials(audit_config({}), 64)]
    assert parts == ["calibration"] * 30 + ["evaluation"] * 70


def test_null_controls_are_spread_over_the_plan():
    plan = plan_trials(audit_config({"null_controls": 10}), 64)
    assert [trial.number for trial in plan if trial.null_control] == list(range(9, 100, 10))
    assert sum(t.null_control for t in plan_trials(audit_config({"trials": 7}), 64)) == 7
    assert not any(t.null_control for t in plan_trials(audit_config({"null_controls": 0}), 64))
    with pytest.raises(ValueError, match="null_controls 7 are more than the 6 draws"):
        prepare_audit(audit_config({"trials": 6, "null_controls": 7}))


def test_paired_holds_both_worlds_of_half_as_many_draws():
    plan = plan_trials(audit_config({"calls": "paired"}), 64)
    assert len(plan) == 50
    assert {trial.worlds for trial in plan} == {("out", "in")}
    assert len({trial.drawn for trial in plan}) == 50


def test_frozen_repeats_one_draw():
    plan = plan_trials(audit_config({"calls": "frozen"}), 64)
    assert len(plan) == 20
    assert len({trial._replace(number=0, part="evaluation") for trial in plan}) == 1


# Cases D34 and E15: the arms are neighbours, alike in number and place of exemplars.
def test_case_d34_contexts_are_neighbours_under_replace_one():
    with pytest.raises(ValueError, match="contexts of 3 and 4 exemplars are not neighbours"):
        check_neighbours(["d1", "d2", "d4"], ["d1", "d2", "CANARY", "d4"])
    with pytest.raises(ValueError, match="at slots \\[0, 2\\]"):
        check_neighbours(["d1", "d2", "d3"], ["x", "d2", "CANARY"])
    check_neighbours(["d1", "d2", "d3"], ["d1", "d2", "CANARY"])


@pytest.mark.parametrize("canary", ["hex", "unigram", "false_fact", "ngram", "structured"])
@pytest.mark.parametrize("defense", ["rnm", "faux_secrets", "keywords"])
def test_prompts_of_the_two_worlds_differ_by_the_canarys_exemplar_only(canary, defense):
    made = audit(canary=canary, defense=defense, trials=10)
    for trial in made.trials:
        out, with_canary = (prompts(made, trial, world) for world in ("out", "in"))
        shard = canary_shard(made, trial)
        assert [i for i, (a, b) in enumerate(zip(out, with_canary, strict=True)) if a != b] == [
            shard
        ]
        replaced = made.data.pool[trial.drawn[trial.slot]]
        form = "Text: {}\nClass: {}"
        assert with_canary[shard].system == out[shard].system.replace(
            form.format(*replaced), form.format(made.canary.text, made.canary.answer)
        )
        assert with_canary[shard].user == out[shard].user
        holding = [made.canary.text in prompt.system for prompt in with_canary]
        assert holding.index(True) == shard
        assert sum(holding) == 1
        assert not any(made.canary.text in prompt.system for prompt in out)


def test_exemplars_of_a_context_are_disjoint_over_shards_and_fresh_per_trial():
    made = audit()
    for trial in made.trials:
        shards = deal(context(made, trial, "out"), 10)
        assert len({exemplar for shard in shards for exemplar in shard}) == 20
    assert len({trial.drawn for trial in made.trials}) == 100


@pytest.mark.parametrize(
    ("placement", "positions"), [("first", {0}), ("last", {3}), ("random", {0, 1, 2, 3})]
)
def test_placement_within_the_shard_and_any_shard(placement, positions):
    made = audit(placement=placement, ensemble=5)
    assert {trial.slot % 4 for trial in made.trials} == positions
    assert {canary_shard(made, trial) for trial in made.trials} == set(range(5))


def test_tied_votes_hold_the_canary_in_half_of_the_shards_of_both_worlds():
    made = audit(vote_balance="tied", n_exemplars=18, ensemble=9)
    for trial in made.trials:
        count = {
            w: sum(e == made.canary.exemplar for e in context(made, trial, w))
            for w in ("out", "in")
        }
        assert count == {"out": 4, "in": 5}
        assert len({slot // 2 for slot in (trial.slot, *trial.planted)}) == 5


def test_zero_shot_shows_no_exemplar():
    made = audit(defense="zero_shot")
    asked = {prompts(made, trial, world) for trial in made.trials for world in ("out", "in")}
    assert len(asked) == 1
    assert "Examples" not in asked.pop()[0].system


# Case E09: nothing is cut from the left unseen.
def test_case_e09_a_prompt_beyond_the_window_stops_the_audit_before_any_call():
    with pytest.raises(ValueError, match="the canary could be cut off unseen"):
        audit(defense="none", context_window=400)
    assert audit(defense="none", context_window=4000).trials


def test_the_id_follows_data_query_and_seed(tmp_path):
    path = tmp_path / "a.csv"
    base = {"source": str(path), "n_exemplars": 2, "ensemble": 2}
    ids = set()
    for first in ("one", "two"):
        path.write_text(f"text,label\n{first},x\nthree,y\n", encoding="utf-8")
        ids |= {audit(**base, seed=seed).id for seed in (0, 1)}
    assert len(ids) == 4


def test_shared_cases(shared):
    cases = json.loads((shared / "cases" / "cases.json").read_text(encoding="utf-8"))["cases"]
    seen = 0
    for case in cases:
        sent, expected = case["input"], case["expected"]
        match sent["op"] if isinstance(sent, dict) else None:
            case "coin_property":
                low, high = expected["each_in_fraction_between"]
                for seed in sent["seeds"]:
                    share = sum(coin(seed, i) for i in range(sent["n"])) / sent["n"]
                    assert low <= share <= high
            case "coin_on_retry":
                coins = {coin(sent["audit_seed"], sent["trial"]) for _ in sent["attempts"]}
                assert len(coins) == 1
            case "adjacency_check":
                with pytest.raises(ValueError, match="not neighbours"):
                    check_neighbours(sent["out_context"], sent["in_context"])
            case _:
                continue
        seen += 1
    assert seen == 3
