"""Known answers: two runs side by side, a worked example's effect, the register's block."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from dprivbench_inspect.attribution import accuracy_matrix
from dprivbench_inspect.cli import main
from dprivbench_inspect.intervals import Share
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.report import make_report
from dprivbench_inspect.report_attribution import matrix_table
from dprivbench_inspect.report_figures import mechanism_figure, topic_figure
from dprivbench_inspect.report_register import evaluation_report
from dprivbench_inspect.report_runs import read_runs
from tests.dprivbench_inspect.run_logs import Answers, run_log, samples_of, write

IDS = [f"laplace_rnm-{k}" for k in range(1, 21)]
SAMPLES = samples_of(1, IDS)
RIGHT: Answers = {(str(s.id), 1): "yes" if s.target == "yes" else "no" for s in SAMPLES}
ALWAYS_YES: Answers = {(question, 1): "yes" for question in IDS}


def cells(table: Any, start: str) -> list[Any]:
    [row] = [row for row in table.rows if str(row[0]).startswith(start)]
    return list(row)


def test_two_runs_are_compared_by_mcnemar_and_every_change_is_listed(tmp_path: Path) -> None:
    write(run_log(SAMPLES, ALWAYS_YES, model="lab/a", eval_id="1"), tmp_path / "a.eval")
    write(run_log(SAMPLES, RIGHT, model="lab/b", eval_id="2"), tmp_path / "b.eval")
    *_, counts, changes = make_report([str(tmp_path)], compare=[(1, 2)]).tables
    [row] = counts.rows
    # 10 of 20 right, then all; the ten false claims were gained: p = 2 / 2^10.
    assert row[:2] == ["20", "20"]
    assert row[4:8] == ["10", "0", "10", "0"]
    assert row[8].startswith("+0.500 ± ")
    assert float(row[9]) == pytest.approx(2 / 2**10, rel=0.01)
    assert len(changes.rows) == 10
    assert all(r[2:] == ["no", "yes", "no", "gained"] for r in changes.rows)
    assert "10 of 20 verdicts changed." in changes.notes


def test_other_words_or_labels_are_left_out_of_a_comparison_and_versions_refused(
    tmp_path: Path,
) -> None:
    other = [SAMPLES[0].model_copy(update={"input": "Another text."}), *SAMPLES[1:]]
    write(run_log(SAMPLES, ALWAYS_YES, model="lab/a", eval_id="1"), tmp_path / "a.eval")
    write(run_log(other, RIGHT, model="lab/b", eval_id="2"), tmp_path / "b.eval")
    write(run_log(SAMPLES, RIGHT, model="lab/c", eval_id="3", version=2), tmp_path / "c.eval")
    counts = make_report([str(tmp_path)], compare=[(1, 2)]).tables[-2]
    assert counts.rows[0][0] == "19"
    assert any("Left out: 1 questions" in note for note in counts.notes)
    done = CliRunner().invoke(main, ["report", str(tmp_path), "--compare", "1", "3"])
    assert done.exit_code == 1
    assert "lab/a [1] has task version 1, lab/c [3] has 2" in done.output
    done = CliRunner().invoke(main, ["report", str(tmp_path), "--compare", "1", "9"])
    assert "there is no run [9] to compare; choose from [1, 2, 3]" in done.output


def test_table_5_pairs_a_one_shot_run_with_the_zero_shot_run_of_the_same_model(
    tmp_path: Path,
) -> None:
    one_shot = {"prompt": "one_shot"}
    write(run_log(SAMPLES, ALWAYS_YES, eval_id="1"), tmp_path / "zero.eval")
    write(run_log(SAMPLES, RIGHT, eval_id="2", arguments=one_shot), tmp_path / "one.eval")
    log = run_log(SAMPLES, RIGHT, model="lab/new", eval_id="3", arguments=one_shot)
    write(log, tmp_path / "alone.eval")
    table = make_report([str(tmp_path)]).tables[-1]
    ours = cells(table, "lab/model [")
    assert (ours[2].value, ours[3].value) == (0.5, 1.0)
    assert ours[4].startswith("+0.500")
    assert float(ours[5]) == pytest.approx(2 / 2**10, rel=0.01)
    assert cells(table, "lab/new")[2] == "not among the logs"
    paper = cells(table, "GPT-5-Minimal (paper)")
    assert paper[2:5] == [share(0.573, 0.019), share(0.737, 0.065), "+0.164"]


def share(mean: float, half_width: float) -> Share:
    nan = math.nan
    return Share(mean, half_width, nan, nan, nan, nan)


def test_all_49_functions_and_six_mechanisms_stand_in_the_matrix(tmp_path: Path) -> None:
    ids = [f"{m}-{k}" for m in MECHANISMS for k in range(1, 99)]
    samples = samples_of(1, ids)
    answers: Answers = {(str(s.id), 1): "yes" for s in samples if s.id != "laplace-1"}
    write(run_log(samples, answers), tmp_path / "a.eval")
    [run], _ = read_runs([str(tmp_path)])
    table = matrix_table(run)
    assert len(table.rows) == 49 + 1
    assert all(len(row) == 1 + 6 + 1 for row in table.rows)
    assert table.rows[0][1:3] == ["0.000", "0.500"]  # of laplace-1 there is no reply
    assert sum(len(row) for row in accuracy_matrix(run.outcomes).values()) == 49 * 6


def test_topics_have_a_row_each_beside_the_papers_two_models(tmp_path: Path) -> None:
    samples = samples_of(2, ["dp_adam-01", "dp_adam-02", "svt-01", "svt-02"])
    answers: Answers = {(str(s.id), epoch): "yes" for s in samples for epoch in (1, 2)}
    write(run_log(samples, answers, task="dprivbench_cat2"), tmp_path / "a.eval")
    made = make_report([str(tmp_path)])
    [table] = [t for t in made.tables if t.title.endswith("accuracy per topic")]
    assert len(table.rows) == 18
    adam = cells(table, "DP Adam")
    assert (adam[1].n, adam[2:]) == (4, ["1.00", "1.00", "1.00"])
    assert cells(table, "Quantile")[1].n == 0


def test_at_most_six_runs_stand_in_a_figure_and_the_caption_says_which(tmp_path: Path) -> None:
    for k in range(8):
        answers = dict(list(RIGHT.items())[: 12 + k]) | dict(list(ALWAYS_YES.items())[12 + k :])
        write(run_log(SAMPLES, answers, model=f"lab/{k}", eval_id=str(k)), tmp_path / f"{k}.eval")
    runs, _ = read_runs([str(tmp_path)])
    picture = mechanism_figure(runs)
    assert "Shown are the 6 of 8 runs with the highest accuracy" in picture.caption
    drawn = picture.image("svg").decode()
    assert drawn.count(">lab/") == 6
    assert ">lab/7 [8]<" in drawn
    assert picture.image("png").startswith(b"\x89PNG")


def test_a_figure_without_some_groups_is_drawn(tmp_path: Path) -> None:
    samples = samples_of(2, ["svt-01"])
    path = write(
        run_log(samples, {("svt-01", 1): None}, task="dprivbench_cat2"), tmp_path / "a.eval"
    )
    runs, _ = read_runs([str(path)])
    assert b"n=1" in topic_figure(runs).image("svg")


def test_the_block_for_the_register_holds_what_it_asks_for(tmp_path: Path) -> None:
    log = run_log(SAMPLES, RIGHT, model="lab/model: a", eval_id="1")
    log.eval.task_args_passed = {"mechanisms": ["laplace_rnm"], "prompt": "one_shot"}
    log.stats.completed_at = "2026-11-01T10:02:05+00:00"
    write(log, tmp_path / "a.eval")
    write(run_log(SAMPLES, ALWAYS_YES, model="x/b", eval_id="2"), tmp_path / "b.eval")
    runs, _ = read_runs([str(tmp_path)])
    block = yaml.safe_load(evaluation_report(runs))["evaluation_report"]
    assert list(block) == ["results", "commit", "version", "command", "timestamp", "notes"]
    first = block["results"][0]
    assert (first["model"], first["provider"], first["task"]) == (
        "lab/model: a",
        "lab",
        "dprivbench_cat1",
    )
    assert (first["time"], first["date"]) == ("2 min 5 s", "2026-11-01")
    assert {"key": "accuracy", "value": 1.0} in first["metrics"]
    assert block["version"] == "1-A"
    assert block["command"].splitlines()[0] == (
        "inspect eval dprivbench_inspect/dprivbench_cat1 --model 'lab/model: a' "
        "-T mechanisms=laplace_rnm -T prompt=one_shot"
    )
    assert "20 replies planned, 20 done" in block["notes"]
    done = CliRunner().invoke(main, ["report", str(tmp_path), "--register"])
    assert yaml.safe_load(done.stdout)["evaluation_report"] == block


def test_the_block_is_of_one_version(tmp_path: Path) -> None:
    write(run_log(SAMPLES, RIGHT, eval_id="1"), tmp_path / "a.eval")
    write(run_log(SAMPLES, RIGHT, eval_id="2", version=2), tmp_path / "b.eval")
    runs, _ = read_runs([str(tmp_path)])
    with pytest.raises(ValueError, match=r"one task version, these logs are of \['1-A', '2-A'\]"):
        evaluation_report(runs)
