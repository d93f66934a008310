import pytest
from click.testing import CliRunner

from contextleak_inspect.cli import main


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_plan_prints_trials_and_calls_and_draws_them(tmp_path):
    result = run(
        "plan", "--epsilon", "1", "--claimed", "4,inf", "--plot", str(tmp_path / "plan.svg")
    )
    assert result.exit_code == 0, result.output
    assert "pair_e_process, noise integrated" in result.output
    assert "<svg" in (tmp_path / "plan.svg").read_text(encoding="utf-8")


def test_plan_for_a_heuristic_defense_has_no_claimed_epsilon():
    result = run("plan", "--epsilon", "1", "--defense", "keywords", "--misses", "0.3")
    assert result.exit_code == 0, result.output
    assert "one prompt" in result.output
    assert "paired" in result.output


def test_plan_for_randomized_labels_is_pure():
    result = run("plan", "--epsilon", "1", "--defense", "label_rr", "--claimed", "2")
    assert "δ = 0" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "-1"], "the ε to show must be positive and finite, got -1.0"),
        (["--epsilon", "1", "--claimed", "4,x"], "'4,x' is no list of numbers such as 1,4,inf"),
        (["--epsilon", "1", "--claimed", "-4"], "epsilon must be at least 0, got -4.0"),
        (["--epsilon", "1", "--false-votes", "2"], "false_votes must lie in [0, 1], got 2.0"),
        (["--epsilon", "1", "--ensemble", "0"], "m must be at least 1 shard, got 0"),
        (["--epsilon", "1", "--delta", "0"], "delta must be in (0, 1), got 0.0"),
        (["--epsilon", "9", "--claimed", "1", "--plot", "p.svg"], "there is nothing to draw"),
        ([], "Missing option '--epsilon'"),
    ],
)
def test_plan_says_what_is_wrong(arguments, message):
    result = run("plan", *arguments)
    assert result.exit_code != 0
    assert message in result.output


def test_help_teaches():
    result = run("plan", "--help")
    assert "contextleak plan --epsilon 2 --defense rnm" in result.output
    assert "out of reach" in result.output
