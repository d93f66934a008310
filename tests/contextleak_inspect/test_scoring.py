import math

import numpy as np
import pytest

from contextleak_inspect.calibration import analytic_sigma, classical_sigma, randomized_response
from contextleak_inspect.config import UNPARSED, audit_config
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.rows import (
    Row,
    audit_rows,
    epsilon_text,
    fixed_grid,
    fixed_threshold,
    perfect_scores,
    rescored,
    row_setting,
    score_noise,
    vote_sigma,
)
from contextleak_inspect.scoring import release
from tests.contextleak_inspect.audits import vote_record

RNM = audit_config({"epsilon": "1,8,inf"})


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"epsilon": "8"}, ["ε=8 histogram", "ε=8 label"]),
        ({"defense": "label_rr", "epsilon": "0.5"}, ["ε=0.5 label"]),
        ({"defense": "faux_secrets"}, ["reply"]),
        ({"defense": "none", "membership": "logprob"}, ["log-probability"]),
    ],
)
def test_rows_by_defense(fields, names):
    assert [row.name for row in audit_rows(audit_config(fields))] == names


def test_two_epsilons_never_share_a_name():
    near = [1.0, 1.0000000001, 0.1, math.inf]
    assert [epsilon_text(e) for e in near] == ["1", "1.0000000001", "0.1", "inf"]


def test_observation_levels_and_scope():
    settings = [row_setting(RNM, row) for row in audit_rows(RNM)]
    assert [s.observation for s in settings] == ["noisy_aggregate"] * 3 + ["final_output"] * 3
    assert {(s.neighbouring, s.scope) for s in settings} == {("replace_one", "mechanism")}
    frozen = audit_config({"calls": "frozen"})
    assert row_setting(frozen, audit_rows(frozen)[0]).scope == "conditional_on_answers"


def test_the_clean_score_is_the_difference_of_votes():
    record = vote_record(RNM, 0, votes={"in": (0, 0, 0, 1, 1, UNPARSED, 1, 1, 1, 1)})
    seen = release(record.model_copy(update={"marks": {"in": "v" * 10}}), RNM).seen["in"]
    assert [s.clean for s in seen[:3]] == [3 - 6] * 3
    assert seen[2].score == -3  # ε = ∞ adds nothing
    counts = [3, 6, 1]
    sigma = analytic_sigma(8, 1e-5, math.sqrt(2))
    assert seen[4].clean == float(label_probability(counts, sigma, target=0))


def test_the_label_is_the_winner_of_the_same_noisy_histogram():
    config = audit_config({"epsilon": "0.1"})
    found = [release(vote_record(config, number), config) for number in range(60)]
    pairs = [pair for f in found for pair in f.seen.values()]
    assert {label.score for _, label in pairs} == {0.0, 1.0}
    assert all((difference.score > 0) == bool(label.score) for difference, label in pairs)


def test_noise_depends_on_trial_world_and_epsilon_and_on_nothing_else():
    paired = audit_config({"calls": "paired", "epsilon": "1,2", "trials": 8})
    same = (1,) * 10
    records = [vote_record(paired, n, votes={"in": same, "out": same}) for n in range(4)]
    first = [release(record, paired) for record in records]
    scores = [s.score for f in first for world in f.seen.values() for s in world[:2]]
    assert len(set(scores)) == len(scores) == 16
    assert [release(record, paired) for record in reversed(records)] == first[::-1]
    more = audit_config(paired.record() | {"epsilon": "0.5,2"})
    again = [release(record, more) for record in records]
    assert [f.seen["in"][1] for f in again] == [f.seen["in"][1] for f in first]


def test_noise_has_the_declared_deviation():
    config = audit_config({"epsilon": "2", "trials": 4000})
    noise = [
        seen[0].score - seen[0].clean
        for number in range(4000)
        for seen in release(vote_record(config, number), config).seen.values()
    ]
    expected = score_noise(config, Row("histogram", 2.0))
    assert np.std(noise) == pytest.approx(expected, rel=4 / math.sqrt(2 * 4000))
    assert abs(np.mean(noise)) < 4 * expected / math.sqrt(4000)


def test_failed_trials_have_no_score():
    record = vote_record(RNM, 0)
    [world] = record.votes
    failed = record.model_copy(update={"marks": {world: "v" * 9 + "c"}})
    assert all(math.isnan(s.score) for s in release(failed, RNM).seen[world])


def test_at_epsilon_0_nothing_depends_on_the_votes():
    config = audit_config({"epsilon": "0,1"})
    for number in range(4):
        for seen in release(vote_record(config, number), config).seen.values():
            assert seen[0] == seen[2] == (0.0, 0.0)


def test_flipped_labels_keep_deniability_for_unread_replies():
    config = audit_config({"defense": "label_rr", "epsilon": "1", "trials": 3000})
    keep, other = randomized_response(1.0, 3)
    for vote, chance in ((0, keep), (1, other), (UNPARSED, other)):
        seen = [
            s
            for n in range(3000)
            for s in release(
                vote_record(config, n).model_copy(
                    update={"votes": dict.fromkeys(vote_record(config, n).votes, (vote,))}
                ),
                config,
            ).seen.values()
        ]
        assert {s[0].clean for s in seen} == {chance}
        hits = np.mean([s[0].score for s in seen])
        assert abs(hits - chance) < 4 * math.sqrt(chance * (1 - chance) / 3000)


def test_thresholds_that_theory_gives():
    [histogram, label] = audit_rows(audit_config({"epsilon": "1"}))
    assert perfect_scores(RNM) == (-10, -8)
    assert fixed_threshold(RNM, histogram) == -9
    assert fixed_grid(RNM, histogram) == [-9, -7, -5, -3, -1, 1, 3, 5, 7, 9]
    assert fixed_threshold(RNM, label) == 0.5
    tied = audit_config({"vote_balance": "tied", "ensemble": 5})
    assert fixed_threshold(tied, histogram) == 0


def test_rescoring_changes_the_claim_only():
    again = rescored(RNM, epsilon="3", delta="1e-6", neighbouring="add_remove", threshold="dkw")
    assert (again.epsilon, again.delta, again.neighbouring) == ((3.0,), 1e-6, "add_remove")
    assert again.threshold == "dkw"
    assert rescored(RNM) is RNM
    # the noise of the other neighbours is √2 smaller
    assert vote_sigma(1.0, 1e-5, "add_remove", "analytic") == pytest.approx(
        vote_sigma(1.0, 1e-5, "replace_one", "analytic") / math.sqrt(2)
    )


def test_the_fixed_threshold_has_the_fpr_that_is_asked_for():
    config = audit_config({"epsilon": "4,inf", "threshold": "fixed", "fixed_fpr": 0.03})
    noisy, clear = Row("histogram", 4.0), Row("histogram", math.inf)
    threshold, noise = fixed_threshold(config, noisy), score_noise(config, noisy)
    assert 0.5 * math.erfc((threshold + 10) / noise / math.sqrt(2)) == pytest.approx(0.03)
    assert fixed_threshold(config, clear) == -9
    assert rescored(config, threshold="holdout").fixed_fpr is None
    assert rescored(config, epsilon="2").fixed_fpr == 0.03


@pytest.mark.filterwarnings("ignore:the classical Gaussian")
def test_classical_noise_reproduces_others():
    config = audit_config({"epsilon": "8", "noise_calibration": "classical"})
    expected = math.sqrt(2) * classical_sigma(8.0, 1e-5, math.sqrt(2))
    assert score_noise(config, Row("histogram", 8.0)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"neighbouring": "swap"}, "'replace_one' or 'add_remove', got 'swap'"),
        ({"epsilon": "-1"}, "are no ε"),
        ({"threshold": "best"}, "threshold"),
        ({"delta": 1}, "delta"),
    ],
)
def test_a_wrong_claim_is_refused(changes, says):
    with pytest.raises(ValueError, match=says):
        rescored(RNM, **changes)


def test_a_heuristic_defense_has_no_epsilon_to_rescore():
    with pytest.raises(ValueError, match="claims no ε"):
        rescored(audit_config({"defense": "keywords"}), epsilon=[1])
