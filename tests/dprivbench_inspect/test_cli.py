"""The commands that need no model and no network."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from dprivbench_inspect import cli, demo
from dprivbench_inspect.cli import Row, main
from dprivbench_inspect.generate import CATEGORY_1
from tests.dprivbench_inspect.run_logs import run_log, samples_of, write


@pytest.mark.parametrize("command", ["", *main.commands])
def test_help_says_what_a_command_does(command: str) -> None:
    result = CliRunner().invoke(main, [*filter(None, [command]), "--help"])
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 5


def test_the_list_of_commands_says_in_a_whole_sentence_what_each_does() -> None:
    commands = CliRunner().invoke(main, ["--help"]).output.partition("Commands:")[2]
    lines = commands.strip().splitlines()
    assert len(lines) == len(main.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)


def test_generate_leaves_the_bundled_file_as_it_is() -> None:
    before = CATEGORY_1.read_bytes()
    result = CliRunner().invoke(main, ["generate"])
    assert (result.exit_code, result.output) == (0, f"{CATEGORY_1}: unchanged\n")
    assert CATEGORY_1.read_bytes() == before


@pytest.mark.slow
def test_verify_shows_claim_measured_and_margin_of_every_label() -> None:
    result = CliRunner().invoke(main, ["verify", "--category", "1", "--variant", "graded"])
    assert result.exit_code == 0
    assert "category 1: 588 of 588 agree" in result.output
    assert "sensitivities: 294 of 294 agree" in result.output
    line = next(line for line in result.output.splitlines() if "permute_flip-98 (no)" in line)
    assert all(word in line for word in ("claim 1,", "measured", "margin", "ε"))


def test_a_label_that_disagrees_is_marked_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        cli, "_category_2", lambda: iter([Row("svt-01 (no)", True), Row("svt-02 (no)", False)])
    )
    result = CliRunner().invoke(main, ["verify", "--category", "2"])
    assert result.exit_code == 1
    assert "category 2 2: svt-02 (no)  DISAGREES" in result.output
    assert "category 2: 1 of 2 agree" in result.output


def test_ctrl_c_stops_verify_with_what_was_found_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> Iterator[Row]:
        yield Row("svt-01 (no)", True)
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_category_2", interrupted)
    result = CliRunner().invoke(main, ["verify", "--category", "2"])
    assert result.exit_code == 130
    assert result.output.endswith("stopped; so far:\ncategory 2: 1 of 1 agree\n")


def test_report_without_logs_says_so_in_a_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert result.exit_code == 1
    assert result.output.startswith("Error: no finished run of DPrivBench")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", ""], "a name of LOGS is empty"),
        (["report", "nix://logs"], "Protocol not known: nix"),
        (["report", "memory://nowhere"], "no log or folder of logs at 'memory://nowhere'"),
        (["report", "LOGS", "--out", "FILE/x"], "Not a directory"),
        (["paraphrase", "--out", "FILE.yaml/x.yaml"], "there is no folder"),
        (["paraphrase", "--out", "FILE"], "the file must end in .yaml"),
        (["paraphrase", "--out", "x.yaml", "--model", "nix/x"], "Model API nix of model 'nix/x'"),
        (["paraphrase", "--out", "x.yaml", "--model", "openai/x"], "No OPENAI_API_KEY, "),
        (["paraphrase", "--out", "x.yaml", "--topics", ""], "topics [''] are not in this source"),
        (["paraphrase", "--out", "x.yaml", "--source", "nix"], "neither bundled, hub nor a path"),
        (["demo", "--log-dir", "FILE/x"], "Not a directory"),
    ],
)
def test_what_a_command_cannot_do_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("FILE").write_text("x", encoding="utf-8")
    sample = samples_of(1, ["laplace-1"])
    write(run_log(sample, {("laplace-1", 1): "yes"}), Path("LOGS") / "a.eval")
    if arguments[0] == "paraphrase" and "--model" not in arguments:
        arguments = [*arguments, "--model", "dprivbench/always-yes"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    (line,) = result.output.splitlines()
    assert line.startswith("Error: ")
    assert message in line


@pytest.fixture
def short_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two offline runs of two questions each."""
    few = {"limit": 2}
    steps = [demo.OFFLINE[0]._replace(options=few), demo.OFFLINE[-1]._replace(options=few)]
    monkeypatch.setattr(demo, "OFFLINE", steps)


@pytest.mark.usefixtures("short_demo")
def test_demo_without_a_real_model_says_why_and_prints_both_tables(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "--model", "gguf/nil", "--log-dir", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "Without a real model: no small model 'nil' is known" in result.output
    # Dots may come from another demo in this process: Inspect's hooks stay.
    assert re.search(
        r"1/2 dprivbench_cat1 with dprivbench/always-yes \.* ?2 replies", result.output
    )
    assert "DPrivBench Category 1: accuracy" in result.output
    assert "dprivbench/always-no [2]" in result.output
    assert f"inspect view start --log-dir {tmp_path}" in result.output


@pytest.mark.usefixtures("short_demo")
def test_demo_asks_the_model_it_is_given_thirty_questions(tmp_path: Path) -> None:
    arguments = ["demo", "--model", "dprivbench/always-yes", "--log-dir", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    for step in (r"3/4 dprivbench_cat1", r"4/4 dprivbench_cat2"):
        n = 20 if "cat1" in step else 10
        dots = rf"{step} with dprivbench/always-yes \.{{{n},}} {n} replies"
        assert re.search(dots, result.output)


@pytest.mark.usefixtures("short_demo")
def test_demo_stopped_by_ctrl_c_prints_what_is_finished(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = iter([demo.run, lambda *_, **__: []])
    monkeypatch.setattr(demo, "run", lambda *args, **options: next(runs)(*args, **options))
    result = CliRunner().invoke(main, ["demo", "--model", "gguf/nil", "--log-dir", str(tmp_path)])
    assert result.exit_code == 130
    assert "stopped\n\nDPrivBench Category 1: accuracy" in result.output
