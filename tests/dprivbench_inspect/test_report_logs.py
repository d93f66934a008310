"""Odd logs: named and left out, never fatal and never counted twice."""

import asyncio
import copy
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from click.testing import CliRunner
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalError, EvalSample, read_eval_log_sample_summaries
from inspect_ai.scorer import Score

from dprivbench_inspect import report_summaries
from dprivbench_inspect.cli import main
from dprivbench_inspect.report import make_report, report
from dprivbench_inspect.report_logs import Replies, Unreadable, find_logs, read_replies
from dprivbench_inspect.report_runs import read_runs
from dprivbench_inspect.report_summaries import read_summaries
from tests.dprivbench_inspect.run_logs import Answers, run_log, samples_of, write

IDS = ["laplace-1", "laplace-2", "expo_mech-1", "expo_mech-2"]
SAMPLES = samples_of(1, IDS)
YES: Answers = {(question, 1): "yes" for question in IDS}


def test_files_folders_patterns_and_both_formats_are_found_once(tmp_path: Path) -> None:
    log = run_log(SAMPLES, YES)
    a = write(log, tmp_path / "a" / "team B (2) é.eval")
    b = write(log, tmp_path / "b" / "2026-11-01T10-00-00-00-00_dprivbench-cat1_abc.json")
    (tmp_path / "b" / "notes.txt").write_text("no log")
    everything = str(tmp_path / "**" / "*.*")
    assert set(find_logs([str(tmp_path)])) == set(find_logs([everything])) == {str(a), str(b)}
    assert set(find_logs([str(a), str(tmp_path / "b")])) == {str(a), str(b)}
    assert find_logs([str(tmp_path / "*" / "*.eval"), str(a)]) == [str(a)]
    with pytest.raises(FileNotFoundError, match="no log or folder of logs at"):
        find_logs([str(tmp_path / "*.eval")])


def test_answers_to_two_sets_of_questions_are_no_run(tmp_path: Path) -> None:
    sets = ["0a", "0a", "0a", "1b"]
    samples = [
        sample.model_copy(update={"metadata": (sample.metadata or {}) | {"questions_hash": asked}})
        for sample, asked in zip(SAMPLES, sets, strict=True)
    ]
    location = write(run_log(samples, YES), tmp_path / "mixed.eval")
    with pytest.raises(
        ValueError, match=r"mixed\.eval: left out, .* 2 sets of questions \(0a, 1b\)"
    ):
        report([str(location)])


def test_both_formats_give_the_same_numbers(tmp_path: Path) -> None:
    tables = []
    for name in ("a.eval", "a.json"):
        found = make_report([str(write(run_log(SAMPLES, YES), tmp_path / name))])
        tables.append(found.tables[1])
    assert tables[0] == tables[1]


def test_logs_on_a_remote_file_system_are_read_through_inspect(tmp_path: Path) -> None:
    # The same path as for s3://, without a network.
    content = write(run_log(SAMPLES, YES), tmp_path / "a.eval").read_bytes()
    with fsspec.open("memory://runs/deep/a.eval", "wb") as remote:
        remote.write(content)
    runs, notes = read_runs(["memory://runs"])
    assert ([run.location for run in runs], notes) == (["memory:///runs/deep/a.eval"], [])
    assert [len(run.outcomes) for run in read_runs(["memory://runs/deep/*.eval"])[0]] == [4]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda sample: sample.scores["verdict"].metadata.update(label="maybe"),
        lambda sample: sample.scores["verdict"].metadata.update(epoch="first"),
        lambda sample: sample.metadata.update(mechanism=["laplace"]),
        lambda sample: sample.metadata.update(sibling={"id": "laplace-1"}),
    ],
    ids=["label", "epoch", "mechanism", "sibling"],
)
def test_a_log_whose_scores_somebody_else_wrote_is_named_and_left_out(
    spoil: Callable[[EvalSample], None], tmp_path: Path
) -> None:
    write(run_log(SAMPLES, YES), tmp_path / "whole.eval")
    log = run_log([copy.deepcopy(sample) for sample in SAMPLES], YES, eval_id="odd")
    assert log.samples is not None
    spoil(log.samples[1])
    write(log, tmp_path / "odd.eval")
    made = make_report([str(tmp_path)])
    assert [Path(run.location).name for run in made.runs] == ["whole.eval"]
    (note,) = made.notes
    assert note.endswith(
        "left out, 1 scores were not written by the scorer verdict, first that of laplace-2"
    )


def test_facts_of_another_kind_are_shown_as_text(tmp_path: Path) -> None:
    facts = {"source": 5, "arguments": "none", "task_comparability_version": [1]}
    write(run_log(SAMPLES, YES, facts=facts), tmp_path / "a.eval")
    row = make_report([str(tmp_path)]).tables[0].rows[0]
    assert row[3] == "5"


def test_damaged_logs_of_every_kind_are_named_and_the_others_shown(tmp_path: Path) -> None:
    whole = write(run_log(SAMPLES, YES), tmp_path / "whole.eval").read_bytes()
    as_json = write(run_log(SAMPLES, YES, eval_id="j"), tmp_path / "j.json").read_bytes()
    damaged = {
        "empty.eval": b"",
        "cut.eval": whole[: len(whole) // 2],
        "garbage.eval": b"PK\x03\x04" + bytes(range(256)) * 4,
        "directory_only.eval": b"PK\x05\x06" + bytes(18),
        "zeros.eval": whole[:200] + bytes(len(whole) - 400) + whole[-200:],
        "empty.json": b"",
        "cut.json": as_json[:-50],
        "list.json": b"[1, 2]",
        "null.json": b"null",
        "other.json": b'{"version": 2}',
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
    runs, notes = read_runs([str(tmp_path / "*")])
    assert {Path(run.location).name for run in runs} == {"whole.eval", "j.json"}
    assert len(notes) == len(damaged)
    for name in damaged:
        [note] = [note for note in notes if f"/{name}: left out" in note]
        assert "\n" not in note


def test_a_log_whose_header_is_well_and_whose_replies_are_damaged_is_left_out(
    tmp_path: Path,
) -> None:
    path = write(run_log(SAMPLES, YES), tmp_path / "a.eval")
    other = tmp_path / "b.eval"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "header.json":
                header = json.loads(text)
                header["eval"] |= {"task_id": "b", "eval_id": "b"}
                text = json.dumps(header).encode()
            new.writestr(name, b"{" if name == "summaries.json" else text)
    runs, notes = read_runs([str(tmp_path)])
    assert [Path(run.location).name for run in runs] == ["a.eval"]
    assert "b.eval: left out, cannot be read as a log of Inspect" in notes[0]


@pytest.mark.parametrize("status", ["cancelled", "error", "started"])
def test_unfinished_runs_are_named_with_what_would_finish_them(status: str, tmp_path: Path) -> None:
    few: Answers = {("laplace-1", 1): "yes"}
    write(run_log(SAMPLES, few, status=status), tmp_path / "a.eval")
    with pytest.raises(ValueError, match=rf"status {status}, 1 of 4 done; `inspect eval-retry`"):
        report([str(tmp_path)])


def test_a_run_without_replies_is_left_out(tmp_path: Path) -> None:
    write(run_log([], {}), tmp_path / "none.eval")
    write(run_log(SAMPLES, {}, eval_id="e2"), tmp_path / "errors.eval")
    runs, notes = read_runs([str(tmp_path)])
    assert runs == []
    assert all("no reply was scored" in note for note in notes)


def test_copies_count_once_and_other_numbers_are_told(tmp_path: Path) -> None:
    write(run_log(SAMPLES, YES), tmp_path / "a.eval")
    better: Answers = {(s.id, 1): "yes" if s.target == "yes" else "no" for s in SAMPLES}  # type: ignore[misc]
    later = run_log(SAMPLES, better, created="2026-11-02T10:00:00+00:00")
    write(later, tmp_path / "rescored.eval")
    runs, notes = read_runs([str(tmp_path)])
    assert [Path(run.location).name for run in runs] == ["rescored.eval"]
    assert "the same run as" in notes[0]
    assert notes[0].endswith("rescored.eval, with accuracy 0.5 there and 1.0 here")


def test_a_log_scored_again_in_part_is_refused(tmp_path: Path) -> None:
    # Two versions of the rules under one name: inspect_ai#5180.
    log, new = run_log(SAMPLES, YES), run_log(SAMPLES, YES, grading=2)
    assert log.samples
    assert new.samples
    log.samples[0] = new.samples[0]
    write(log, tmp_path / "a.eval")
    with pytest.raises(ValueError, match="read by rules of versions 1, 2; score all of it again"):
        report([str(tmp_path)])


def test_the_last_of_several_scores_counts_and_is_told(tmp_path: Path) -> None:
    log = run_log(SAMPLES, YES)
    for sample in log.samples or []:
        assert sample.scores
        again = sample.scores["verdict"].model_copy(deep=True)
        again.value = {"correct": 0.0, "yes": 0.0, "no": 0.0}
        sample.scores["verdict1"] = again
    write(log, tmp_path / "a.eval")
    [run], notes = read_runs([str(tmp_path)])
    assert all(outcome.verdict is None for outcome in run.outcomes)
    assert "scored again in addition; the last scores count" in notes[0]


def test_a_header_that_contradicts_its_replies_is_told(tmp_path: Path) -> None:
    write(run_log(SAMPLES, YES, metrics={"accuracy": 0.99}), tmp_path / "a.eval")
    [run], notes = read_runs([str(tmp_path)])
    assert len(run.outcomes) == 4
    assert "its header says accuracy 0.990, its replies 0.500: shown" in notes[0]


def test_other_versions_questions_and_labels_stand_apart(tmp_path: Path) -> None:
    relabelled = [s.model_copy(update={"target": "no"}) for s in SAMPLES]
    reworded = [s.model_copy(update={"input": f"{s.input} "}) for s in SAMPLES]
    logs = {
        "same": run_log(SAMPLES, YES, eval_id="1"),
        "as well": run_log(SAMPLES, YES, eval_id="2", model="lab/other"),
        "version": run_log(SAMPLES, YES, eval_id="3", version=2),
        "labels": run_log(relabelled, YES, eval_id="4"),
        "texts": run_log(reworded, YES, eval_id="5"),
        "fewer": run_log(SAMPLES[:2], dict(list(YES.items())[:2]), eval_id="6"),
    }
    for name, log in logs.items():
        write(log, tmp_path / f"{name}.eval")
    made = make_report([str(tmp_path)])
    tables = [t for t in made.tables if t.title.startswith("DPrivBench Category 1")]
    ours = [sum(str(row[0]).startswith("lab/") for row in table.rows) for table in tables]
    assert sorted(ours) == [1, 1, 1, 1, 2]
    assert len({table.title for table in tables}) == 5


def test_many_logs_are_read_in_several_processes_to_the_same_end(tmp_path: Path) -> None:
    for number in range(33):
        log = run_log(SAMPLES, YES, eval_id=f"e{number}")
        write(log, tmp_path / f"{number:02}.eval")
    (tmp_path / "07.eval").write_bytes(b"")
    places = [str(path) for path in sorted(tmp_path.iterdir())]
    told = list[tuple[int, int]]()
    several = list(read_replies(places, lambda _, done, of: told.append((done, of)), processes=2))
    assert several == list(read_replies(places))
    assert told == [(k, 33) for k in range(1, 34)]


def test_summaries_are_those_of_inspect(tmp_path: Path) -> None:
    # nan: an unscored reply, as in logs of `inspect score` on samples with errors
    log = run_log([*SAMPLES, Sample(input="é" * 6000, id=7, target="no")], YES)
    log.samples[0].scores["other"] = Score.unscored(reason="no_response")  # type: ignore[index]
    log.samples[1].error = EvalError(message="m", traceback="t", traceback_ansi="t")  # type: ignore[index]
    path = str(write(log, tmp_path / "a.eval"))
    ours, theirs = read_summaries(path), read_eval_log_sample_summaries(path)
    assert len(ours) == len(theirs) == 5
    for summary, other in zip(ours, theirs, strict=True):
        assert (summary["id"], summary["epoch"]) == (other.id, other.epoch)
        assert summary["input"] == other.input
        assert summary.get("metadata") == other.metadata
        assert summary.get("error") == other.error
        scores = summary.get("scores") or {}
        assert scores.keys() == (other.scores or {}).keys()
        for name, score in (other.scores or {}).items():
            assert repr(scores[name]["value"]) == repr(score.value)
            assert scores[name].get("metadata") == score.metadata


def test_a_finished_log_is_not_read_through_inspects_slow_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = run_log(SAMPLES, YES)
    [slow] = read_replies([str(write(log, tmp_path / "a.json"))])
    monkeypatch.delattr(report_summaries, "read_eval_log_sample_summaries")
    [quick] = read_replies([str(write(log, tmp_path / "a.eval"))])
    assert isinstance(slow, Replies)
    assert isinstance(quick, Replies)
    assert sorted(quick.outcomes) == sorted(slow.outcomes)
    assert quick[2:] == slow[2:]


@pytest.mark.parametrize("rows", [b"{}", b"[1]", b'[{"id": 1}]', b'[{"id": 1, "epoch": 1'])
def test_summaries_that_are_none_are_named(rows: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("summaries.json", rows)
    [lost] = read_replies([str(path)])
    assert isinstance(lost, Unreadable)
    assert "\n" not in lost.why


def test_of_a_sample_that_was_asked_again_the_last_counts(tmp_path: Path) -> None:
    rows = [
        {
            "id": "a",
            "epoch": 1,
            "input": "?",
            "scores": {
                "verdict": {"value": {"yes": yes, "no": 1.0 - yes}, "metadata": {"label": "yes"}}
            },
        }
        for yes in (0.0, 1.0)
    ]
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("summaries.json", json.dumps(rows))
    [replies] = read_replies([str(path)])
    assert isinstance(replies, Replies)
    assert [outcome.verdict for outcome in replies.outcomes] == ["yes"]


def test_a_notebook_whose_loop_is_running_can_make_reports(tmp_path: Path) -> None:
    write(run_log(SAMPLES, YES), tmp_path / "a.eval")

    async def cell() -> int:
        return len(make_report([str(tmp_path)]).runs)

    assert asyncio.run(cell()) == 1


def test_the_command_writes_pages_tables_and_figures(tmp_path: Path) -> None:
    write(run_log(SAMPLES, YES, model="<b>lab</b>/$m_1$ 模型"), tmp_path / "logs" / "a.eval")
    (tmp_path / "logs" / "bad.eval").write_bytes(b"")
    out = tmp_path / "out"
    done = CliRunner().invoke(main, ["report", str(tmp_path / "logs"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "bad.eval: left out" in done.stderr
    files = {path.name for path in out.iterdir()}
    assert {Path(line).name for line in done.stdout.splitlines()} == files
    table, figure = "dprivbench_category_1_accuracy", "category_1_mechanisms"
    assert files >= {f"{table}.{suffix}" for suffix in ("txt", "md", "csv", "tex")}
    assert files >= {f"{figure}.svg", f"{figure}.png", "report.html"}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;lab&lt;/b&gt;/$m_1$ 模型 [1]" in page
    assert "<b>" not in page
    assert (out / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
    assert "&lt;b&gt;lab&lt;/b&gt;/$m_1$" in (out / f"{figure}.svg").read_text(encoding="utf-8")


def test_the_command_prints_every_form(tmp_path: Path) -> None:
    write(run_log(SAMPLES, YES), tmp_path / "a.eval")
    starts = {
        "text": "Runs",
        "markdown": "## Runs",
        "csv": "# Runs\nmodel,task,",
        "latex": "% Needs",
        "html": "<!doctype html>",
    }
    for form, start in starts.items():
        done = CliRunner().invoke(main, ["report", str(tmp_path), "--format", form])
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith(start)
