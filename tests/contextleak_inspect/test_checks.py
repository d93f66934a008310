import json

import numpy as np
import pytest

from contextleak_inspect.checks import (
    base_rate,
    changed_answers,
    missing_trials,
    share_of_replies,
    tied_at_rank,
    trial_warnings,
    unequal_lengths,
)
from contextleak_inspect.votes import TrialVotes


def trial(world="in", mark="v", **fields):
    base = {
        "audit": "0a1b2c3d", "seed": 0, "trial": 0, "part": "evaluation",
        "labels": ("objective", "subjective"), "answer": 0, "other": 1, "votes": {world: (1,)},
        "marks": {world: mark}, "canary_shard": 0, "prompt_tokens": {world: 700},
    }  # fmt: skip
    return TrialVotes(**(base | fields))


def test_a_clean_run_says_nothing():
    trials = [trial("in"), trial("out", null_control=(1, 1))]
    assert trial_warnings(trials, {"in": 1, "out": 1}) == []
    assert trial_warnings([], {"in": 0, "out": 0}) == []


def test_every_warning_reaches_the_reader():
    trials = [
        *(trial("in", "c", prompt_tokens={"in": 812}) for _ in range(3)),
        *(trial("out", votes={"out": (0,)}, null_control=(0, 1)) for _ in range(5)),
        trial("out", "r"),
        trial("out", "w"),
    ]
    found = trial_warnings(trials, {"in": 4, "out": 7})
    expected = [
        "trials missing: 1 of 4", "30% of replies are empty", "10% of prompts were cut",
        "10% of replies are refusals", "canary known to the model: 5 of 7", "16% apart",
        "5 of 5 identical calls differ",
    ]  # fmt: skip
    assert len(found) == len(expected)
    assert all(start in text for start, text in zip(expected, found, strict=True))


@pytest.mark.parametrize(
    ("votes", "clean", "said"), [(0, 50, False), (1, 500, False), (7, 50, True)]
)
def test_base_rate_is_said_when_it_is_surely_above_one_in_a_hundred(votes, clean, said):
    assert (base_rate(votes, clean) is not None) is said


def test_shared_cases(shared):
    cases = json.loads((shared / "cases" / "cases.json").read_text(encoding="utf-8"))["cases"]
    seen = 0
    for case in cases:
        sent = case["input"]
        match sent["op"] if isinstance(sent, dict) else None:
            case "canary_base_rate":
                said = base_rate(sent["out_hits"], sent["out_trials"])
                assert case["expected"]["flag"] in said
            case "arm_balance":
                assert "tokens" in unequal_lengths(sent["prompt_tokens"])
            case "empty_replies":
                arms = ("in", "out")
                marks = {
                    w: "c" * sent[w]["empty"] + "v" * (sent[w]["n"] - sent[w]["empty"])
                    for w in arms
                }
                assert "74% of replies are empty" in share_of_replies(marks, "c")
            case "missing_by_arm":
                said = missing_trials(sent["planned"], sent["done"])
                assert "29 of 100" in said
                assert "2 of 100" in said
            case "null_control":
                said = changed_answers(sent["changed_outputs"], sent["identical_prompts"])
                assert said.startswith(case["expected"]["flag"])
            case _:
                continue
        seen += 1
    assert seen == 5


# Without noise scores are counts: here the fifth largest of 47 is what most canaries score.
def test_a_rank_among_ties_is_said_to_see_little():
    out = np.repeat([-10.0, -8.0, -6.0], [42, 4, 1])
    inside = np.repeat([-10.0, -8.0, -6.0], [3, 44, 6])
    said = tied_at_rank("ε=inf histogram", inside, out, 0.1)
    assert said.startswith("ε=inf histogram: 44 of 53 scores with the canary equal the threshold")
    assert tied_at_rank("", inside, np.repeat([-10.0, -8.0], [44, 3]), 0.1) is None
    assert tied_at_rank("", inside + np.linspace(0, 0.1, 53), out, 0.1) is None
