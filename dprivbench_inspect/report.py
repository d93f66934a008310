"""Logs → everything that a report shows: tables, figures and notes, in every form."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dprivbench_inspect.report_attribution import attribution_tables
from dprivbench_inspect.report_figures import (
    Picture,
    claims_figure,
    hard_figure,
    matrix_figures,
    mechanism_figure,
    topic_figure,
)
from dprivbench_inspect.report_formats import FORMATS, SUFFIXES, Format, Table, clean
from dprivbench_inspect.report_html import as_page
from dprivbench_inspect.report_logs import Progress, silent
from dprivbench_inspect.report_noise import grader_table, noise_table
from dprivbench_inspect.report_pairs import comparison_tables, one_shot_table
from dprivbench_inspect.report_runs import Run, question_sets, read_runs
from dprivbench_inspect.report_tables import (
    CELLS,
    accuracy_table,
    f1_table,
    group_tables,
    paper,
    runs_table,
    topic_tables,
)
from dprivbench_inspect.report_tracks import hard_table, is_paraphrase, paraphrase_table

TITLE = "DPrivBench"


class Report(NamedTuple):
    """What a report shows; notes say which logs were left out and why."""

    runs: list[Run]
    tables: list[Table]
    pictures: list[Picture]
    notes: list[str]


def make_report(
    paths: Iterable[str],
    *,
    attribution: bool = False,
    compare: Iterable[tuple[int, int]] = (),
    pictures: bool = False,
    progress: Progress = silent,
    processes: int = 1,
) -> Report:
    """The tables of all runs in logs and folders of logs.

    Runs of other task versions, or on other questions or labels, stand in tables of their own.

    Args:
        paths: Files, folders, patterns and remote addresses.
        attribution: Add where and why replies are wrong.
        compare: Pairs of runs to compare, by the numbers that the report gives them.
        pictures: Draw figures too.
        progress: Is told how far this is.
        processes: Read many logs in so many processes.

    Raises:
        FileNotFoundError: Nothing is at one of the paths.
        ValueError: There is no finished run of DPrivBench, or runs cannot be compared.
    """
    runs, notes = read_runs(paths, progress, processes)
    if not runs:
        raise ValueError("no finished run of DPrivBench in these logs. " + "; ".join(notes))
    of = {task: [run for run in runs if run.task == task] for task in {r.task for r in runs}}
    tables, drawn = [], list[Picture]()
    with_verdicts = [run for run in runs if run.outcomes]
    if with_verdicts:
        tables.append(runs_table(with_verdicts))
    for task in ("dprivbench_cat1", "dprivbench_cat2", "dprivbench_hard"):
        groups = question_sets(of.get(task, []))
        for (version, asked), group in groups.items():
            apart = f", set {asked}, version {version}" if len(groups) > 1 else ""
            found = _tables(task, group)
            tables += [table._replace(title=table.title + apart) for table in found]
            if attribution:
                tables += attribution_tables(group)
            if pictures:
                end = f"_{asked}_{version}" if len(groups) > 1 else ""
                drawn += [p._replace(name=p.name + end) for p in _pictures(task, group)]
    if (one_shot := one_shot_table(of.get("dprivbench_cat1", []))) is not None:
        tables.append(one_shot)
    category_2 = of.get("dprivbench_cat2", [])
    if any(map(is_paraphrase, category_2)):
        tables.append(paraphrase_table(category_2, paper()["paraphrase_recall"], paper()["source"]))
    for task, table in (
        ("dprivbench_calibrate", noise_table),
        ("dprivbench_grader_check", grader_table),
    ):
        if task in of:
            tables.append(table(of[task]))
    for pair in compare:
        first, second = (_numbered(with_verdicts, number) for number in pair)
        tables += comparison_tables(first, second)
    return Report(runs, tables, drawn, notes)


def report(paths: Iterable[str], *, attribution: bool = False) -> str:
    """The tables of all runs in logs and folders of logs, as text; errors as `make_report`."""
    return as_format(make_report(paths, attribution=attribution), "text")


def as_format(made: Report, form: Format) -> str:
    """All tables and notes as one text; for HTML a page with the figures."""
    if form == "html":
        return as_page(TITLE, made.tables, made.pictures, made.notes)
    notes = [clean(note) for note in made.notes]
    if form == "csv":
        parts = [f"# {clean(table.title)}\n{FORMATS[form](table)}" for table in made.tables]
        return "\n".join(parts)
    mark = {"text": "", "markdown": "- ", "latex": "% "}[form]
    return "\n".join([*map(FORMATS[form], made.tables), *(mark + note for note in notes)])


def write_report(made: Report, folder: Path) -> list[Path]:
    """Every table in four forms, every figure as SVG and PNG, and one page with all of it.

    Returns:
        The files, the page first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "report.html"]
    files[0].write_text(as_format(made, "html"), encoding="utf-8")
    names: set[str] = set()
    for table in made.tables:
        name = table.slug
        while name in names:
            name += "_more"
        names.add(name)
        for form, suffix in SUFFIXES.items():
            file = folder / f"{name}.{suffix}"
            file.write_text(FORMATS[form](table), encoding="utf-8")
            files.append(file)
    for picture in made.pictures:
        files += picture.save(folder)
    return files


def _tables(task: str, runs: Sequence[Run]) -> list[Table]:
    """Tables of runs that may stand side by side."""
    if task == "dprivbench_cat1":
        return [accuracy_table(runs)]
    if task == "dprivbench_cat2":
        return [f1_table(runs), *topic_tables(runs), *group_tables(runs)]
    return [hard_table(runs, [CELLS])]


def _pictures(task: str, runs: Sequence[Run]) -> list[Picture]:
    if task == "dprivbench_cat1":
        return [mechanism_figure(runs), *matrix_figures(runs)]
    if task == "dprivbench_cat2":
        return [claims_figure(runs), topic_figure(runs)]
    return [hard_figure(runs)]


def _numbered(runs: Sequence[Run], number: int) -> Run:
    for run in runs:
        if run.number == number:
            return run
    raise ValueError(
        f"there is no run [{number}] to compare; choose from {[run.number for run in runs]}"
    )
