"""One figure per setting, from audits on the simulated model."""

import math

import pytest
from click.testing import CliRunner
from inspect_ai import eval

from contextleak_inspect.ablation import ablation, ablation_text, also_differ, save_ablation
from contextleak_inspect.cli import main
from contextleak_inspect.report_audits import read_audits
from contextleak_inspect.tasks import contextleak_classification
from contextleak_inspect.tasks_generation import contextleak_generation


@pytest.fixture(scope="module")
def by_ensemble(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ensemble")
    for m in (1, 4, 10):
        eval(
            contextleak_classification(trials=24, ensemble=m, epsilon="10", null_controls=0),
            model="contextleak/simulated",
            model_args={"hit": 0.95, "false_vote": 0.05},
            log_dir=str(folder),
            display="log",
        )
    return folder


def test_accuracy_and_bound_stand_against_the_setting_with_theory_beside(by_ensemble):
    runs = [audit.run for audit in read_audits([str(by_ensemble)])[0]]
    points = [p for p in ablation(runs, "ensemble") if p.row == "histogram, ε = 10"]
    assert [p.value for p in points] == [1, 4, 10]
    assert all(p.trials == 24 for p in points)
    assert all(0.5 <= p.possible <= 0.8414 for p in points)
    assert all(p.lower <= p.accuracy <= p.upper for p in points)
    assert also_differ(runs, "ensemble") == []
    shots = [p.value for p in ablation(runs, "shots") if p.row == "histogram, ε = 10"]
    assert shots == [2, 5, 20]
    assert also_differ(runs, "shots") == []
    text = ablation_text(points, "ensemble")
    assert text.splitlines()[0].split()[:3] == ["ensemble", "row", "accuracy"]


def test_one_command_draws_the_figure(by_ensemble, tmp_path):
    path = tmp_path / "ensemble.svg"
    command = ["ablate", str(by_ensemble), "--setting", "ensemble", "--plot", str(path)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "<svg" in path.read_text(encoding="utf-8")
    assert "histogram, ε = 10" in result.output


@pytest.mark.parametrize(
    ("setting", "says"), [("colour", "'colour' is no setting"), ("delta", "have delta = 1e-05")]
)
def test_a_setting_that_does_not_vary_is_told(by_ensemble, setting, says):
    result = CliRunner().invoke(main, ["ablate", str(by_ensemble), "--setting", setting])
    assert result.exit_code == 1
    assert says in result.output


# Words are places on the axis; a second difference is told.
def test_settings_in_words_are_drawn_too(tmp_path):
    for placement, temperature in (("first", 0.0), ("last", 1.0)):
        eval(
            contextleak_generation(
                trials=8,
                placement=placement,
                temperature=temperature,
                embedding="hashing",
                epsilon="inf",
                null_controls=0,
                candidates=2,
                reference_pairs=1,
                ensemble=4,
            ),
            model="contextleak/simulated",
            log_dir=str(tmp_path / "logs"),
            display="log",
        )
    runs = [audit.run for audit in read_audits([str(tmp_path / "logs")])[0]]
    points = ablation(runs, "placement")
    assert {p.value for p in points} == {"first", "last"}
    assert also_differ(runs, "placement") == ["temperature"]
    [in_embedding, _] = [p for p in points if p.row == "embedding, ε = inf"]
    assert in_embedding.possible == 1.0
    assert math.isnan(in_embedding.bound) or in_embedding.bound >= 0
    save_ablation(points, "placement", tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000
