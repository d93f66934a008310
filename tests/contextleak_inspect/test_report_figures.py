"""Tables and figures of several audits: the audits' own numbers, apart where they must be."""

import csv
import io
import math
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from inspect_ai import eval
from inspect_ai.log import read_eval_log, write_eval_log

from contextleak_inspect.ablation import ablation_points
from contextleak_inspect.audit_row import audited_rows, main_bound
from contextleak_inspect.audit_table import run_values
from contextleak_inspect.cli import main
from contextleak_inspect.report_claims import accuracy_figure, epsilon_figure
from contextleak_inspect.report_figures import (
    query_figure,
    roc_figure,
    setting_figures,
    utility_figure,
)
from contextleak_inspect.report_formats import FORMATS, Table, as_csv, as_latex
from contextleak_inspect.report_numbers import Audit, Worlds, measured_curve, read_numbers
from contextleak_inspect.report_tables import (
    accuracy_table,
    audits_table,
    epsilon_table,
    side_by_side,
)
from contextleak_inspect.tasks import contextleak_classification
from contextleak_inspect.utility import Utility
from contextleak_inspect.utility_report import UtilityLog
from tests.contextleak_inspect.audits import drawn_run


def audit(number: int = 1, model: str = "a/model", **fields) -> Audit:
    """An audit whose trials were drawn, without a log."""
    drawn = drawn_run(number, {"false_vote": 0.05, "miss": 0.1}, null_controls=0, **fields)
    rows = audited_rows(drawn)
    return Audit(
        location=f"{number}.eval",
        task_id=str(number),
        created="2026-11-01",
        model=model,
        status="success",
        version="1",
        data="abcd",
        config=drawn.config,
        canary_label="yes",
        worlds={w: Worlds(len(arm), len(arm), arm.failed) for w, arm in drawn.arms.items()},
        values=run_values(drawn),
        rows=rows,
        main=[main_bound(drawn, row) for row in rows],
        points=ablation_points(drawn, None, rows),
        curves=[measured_curve(drawn, index) for index in range(len(rows))],
        text="",
        number=number,
    )


def test_tables_hold_every_number_with_interval_and_trials():
    one = audit(trials=60, epsilon="1,8")
    rows = list(csv.DictReader(io.StringIO(as_csv(epsilon_table([one])))))
    assert [row["claimed ε"] for row in rows] == ["1", "8", "1", "8"]
    for row, audited, main_ in zip(rows, one.rows, one.main, strict=True):
        assert main_ is not None
        assert float(row["ε ≥"]) == pytest.approx(main_.value, rel=1e-5)
        assert float(row["its ceiling"]) == pytest.approx(main_.ceiling, rel=1e-5)
        assert (int(row["n in"]), int(row["n out"])) == (audited.n_in, audited.n_out)
        assert (row["confidence"], row["δ"]) == ("0.95", "1e-05")
    rows = list(csv.DictReader(io.StringIO(as_csv(accuracy_table([one])))))
    for row, point in zip(rows, one.points, strict=True):
        found = [float(row[name]) for name in ("accuracy", "low", "high")]
        assert found == pytest.approx([point.accuracy, point.lower, point.upper], rel=1e-5)
    [row] = csv.DictReader(io.StringIO(as_csv(audits_table([one]))))
    n = [int(row[f"{name} {world}"]) for world in ("in", "out") for name in ("planned", "done")]
    assert n == [one.worlds[w].planned for w in ("in", "in", "out", "out")]


def test_audits_of_other_data_or_versions_stand_apart():
    audits = [audit(k, defense="none", trials=20) for k in (1, 2)]
    other = replace(audits[1], data="other")

    assert [len(group) for group in side_by_side([audits[0], other]).values()] == [1, 1]
    other = replace(audits[1], version="2")
    assert [len(group) for group in side_by_side([audits[0], other]).values()] == [1, 1]
    assert [len(group) for group in side_by_side(audits).values()] == [2]


def log_of(log_dir: Path, seed: int = 0, **fields):
    given = {"trials": 20, "temperature": 1, "epsilon": "8", "defense": "rnm"} | fields
    [log] = eval(
        contextleak_classification(seed=seed, **given),
        model="contextleak/simulated",
        model_args={"hit": 0.9, "false_vote": 0.05},
        log_dir=str(log_dir),
        display="log",
    )
    return log


def test_figures_show_claims_theory_and_all_series():
    audits = [audit(1, trials=40), audit(2, defense="none", trials=40)]
    drawn = accuracy_figure(audits).image("svg").decode()
    for said in (">none claimed<", ">∞<", ">balanced accuracy<", "[1], hex", "[2], hex"):
        assert said in drawn
    drawn = epsilon_figure(audits).image("svg").decode()
    assert ">ε in nats<" in drawn
    for said in (">the claim<", ">hollow: ε paper, no bound<", ">ceiling of the bound, at this n<"):
        assert said in drawn
    theory = ">most that any attack can show, if the model never errs<"
    assert theory in drawn
    assert theory not in epsilon_figure(audits[1:]).image("svg").decode()
    many = epsilon_figure([audit(k, defense="none", trials=40) for k in range(1, 10)])
    assert "2 more series are in the tables." in many.caption


def test_the_roc_has_the_limits_of_each_claim_and_both_numbers_of_trials():
    one = audit(trials=40, epsilon="1,inf", balanced=True)
    picture = roc_figure(one)
    assert picture is not None
    assert "20 trials with the canary and 20 without" in picture.caption
    drawn = picture.image("svg").decode()
    assert ">histogram, ε = 1<" in drawn
    assert ">limit of the claim<" in drawn
    [first, *_] = [curve for curve in one.curves if curve]
    assert (first.fpr[0], first.tpr[0], first.fpr[-1], first.tpr[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert list(first.fpr) == sorted(first.fpr)


def test_canaries_by_queries_need_audits_otherwise_alike():
    one = audit(1, defense="none", trials=40)
    assert query_figure([one, audit(2, defense="none", trials=60, query="input_output")]) is None
    grid = [one, audit(2, defense="none", trials=40, query="input_output")]
    grid.append(audit(3, defense="none", trials=40, canary="unigram"))
    picture = query_figure(grid)
    assert picture is not None
    drawn = picture.image("svg").decode()
    assert all(f">{name}<" in drawn for name in ("hex", "unigram", "input_output", "n=40"))


def test_effects_of_a_setting_are_drawn_for_audits_otherwise_alike():
    audits = [audit(k, ensemble=m, trials=40, epsilon="8") for k, m in ((1, 2), (2, 5), (3, 10))]
    pictures = setting_figures(audits)
    assert {p.name for p in pictures} == {"by_ensemble_histogram_1", "by_ensemble_label_1"}
    assert "audits [1], [2], [3]" in pictures[0].caption
    shots = [audit(k, n_exemplars=n, trials=40, epsilon="8") for k, n in ((1, 20), (2, 40))]
    assert {p.name for p in setting_figures(shots)} == {"by_shots_histogram_1", "by_shots_label_1"}
    assert setting_figures([audits[0], audit(4, ensemble=5, trials=60, epsilon="8")]) == []


def test_utility_stands_against_the_bound_of_the_same_system_only():
    audits = [audit(1, trials=40, epsilon="1,8"), audit(2, defense="none", trials=40)]
    rows = {
        name: Utility(mean, mean - 0.1, min(1.0, mean + 0.1), 50)
        for name, mean in (("few_shot", 0.9), ("rnm ε=1", 0.6), ("rnm ε=8", 0.8), ("esa ε=1", 0.1))
    }
    settings = {"source": "bundled", "n_exemplars": 20, "ensemble": 10}
    log = UtilityLog("u.eval", "a/model", "classification", "test", rows, settings)
    picture = utility_figure(audits, [log])
    assert picture is not None
    drawn = picture.image("svg").decode()
    assert all(
        f">{said}<" in drawn for said in ("rnm", "none", "ε=1", "ε=8", "accuracy on the task")
    )
    assert "over 50 questions" in picture.caption
    assert utility_figure(audits, [log._replace(model="other/model")]) is None
    assert utility_figure(audits, [log._replace(settings=settings | {"source": "x"})]) is None


def test_the_command_writes_a_page_tables_and_figures_and_names_damaged_logs(tmp_path: Path):
    log_of(tmp_path / "logs")
    (tmp_path / "logs" / "bad.eval").write_bytes(b"PK")
    out = tmp_path / "out"
    done = CliRunner().invoke(main, ["report", str(tmp_path / "logs"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "bad.eval: left out, cannot be read" in done.stderr
    files = {path.name for path in out.iterdir()}
    assert {Path(line).name for line in done.stdout.splitlines()} == files
    assert files >= {"report.html", "report.txt", "audits.csv", "roc_1.svg", "roc_1.png"}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml;base64,") == 3
    for form in ("markdown", "csv", "latex", "html"):
        done = CliRunner().invoke(main, ["report", str(tmp_path / "logs"), "--format", form])
        assert done.exit_code == 0, done.output


def test_an_audit_travels_between_processes_and_copies_of_a_run_count_once(tmp_path: Path):
    content = Path(log_of(tmp_path, defense="none", epsilon=None).location).read_bytes()
    (tmp_path / "copy.eval").write_bytes(content)
    [found], _, [note] = read_numbers([str(tmp_path)])
    assert "left out, the same run as" in note
    assert "which has 20 trials to 20" in note
    back = pickle.loads(pickle.dumps(found))
    assert (back.values, back.text, back.curves) == (found.values, found.text, found.curves)


def test_many_logs_in_both_formats_are_read_in_several_processes_to_the_same_end(tmp_path: Path):
    source = log_of(tmp_path / "source", defense="none", epsilon=None)
    log = read_eval_log(source.location)
    for number in range(33):
        log.eval.task_id = f"run-{number:02}"
        write_eval_log(log, str(tmp_path / "many" / f"{number:02}.{'eval' if number else 'json'}"))
    (tmp_path / "many" / "cut.eval").write_bytes(b"PK")
    told = list[tuple[str, int, int]]()
    many = [str(tmp_path / "many" / "*")]
    audits, _, notes = read_numbers(many, lambda *step: told.append(step), processes=2)
    alone, _, same_notes = read_numbers(many)
    assert notes == same_notes
    assert "cut.eval: left out, cannot be read" in notes[0]
    assert told == [("headers", k, 34) for k in range(1, 35)] + [
        ("trials", k, 33) for k in range(1, 34)
    ]
    assert [a.values for a in audits] == [a.values for a in alone]
    assert len({repr(a.values) for a in audits}) == len({repr(a.rows) for a in audits}) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_names_are_names(form: str):
    name = "<script>x</script> a_b & 5% $1$ \x1b[31m 模型"
    made = FORMATS[form](Table("T", ["a", "b"], [[name, math.nan], ["=1+1", 2]], [name]))  # type: ignore[index]
    assert "\x1b" not in made
    assert "模型" in made
    assert ("<script>" in made) == (form in {"text", "csv", "latex"})
    assert ("'=1+1" in made) == (form == "csv")


def test_latex_has_no_bare_symbols():
    text = as_latex(epsilon_table([audit(trials=20, epsilon="1")]))
    assert r"$\varepsilon$ $\geq$" in text
    assert "ε" not in text.split(r"\begin{table}")[1]
