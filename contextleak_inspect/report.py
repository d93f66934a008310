"""Logs → everything that a report shows: words, tables, figures and notes, in every form."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from contextleak_inspect.overview import Audited, overview
from contextleak_inspect.report_drawing import Picture
from contextleak_inspect.report_figures import pictures
from contextleak_inspect.report_formats import FORMATS, SUFFIXES, Format, Table, clean
from contextleak_inspect.report_html import as_page
from contextleak_inspect.report_logs import Progress, silent
from contextleak_inspect.report_numbers import Audit, read_numbers
from contextleak_inspect.report_tables import (
    accuracy_table,
    audits_table,
    epsilon_table,
    side_by_side,
    utility_table,
)
from contextleak_inspect.report_text import legend
from contextleak_inspect.utility_report import UtilityLog, utility_text

TITLE = "ContextLeak"


class Report(NamedTuple):
    """What a report shows; notes say which logs were left out and why."""

    audits: list[Audit]
    utilities: list[UtilityLog]
    tables: list[Table]
    pictures: list[Picture]
    notes: list[str]


def make_report(
    paths: Iterable[str],
    *,
    draw: bool = False,
    progress: Progress = silent,
    processes: int = 1,
) -> Report:
    """Tables and figures of all audits and utilities in logs and folders of logs.

    Audits of other task versions or other private data stand in tables and figures of their own.

    Args:
        paths: Files, folders, patterns and remote addresses.
        draw: Make the figures too.
        progress: Is told how far this is.
        processes: Read many logs in so many processes.

    Raises:
        FileNotFoundError: Nothing is at one of the paths.
        ValueError: No audit or utility is among the logs.
    """
    audits, utilities, notes = read_numbers(paths, progress, processes)
    if not audits and not utilities:
        raise ValueError("\n".join(["no audit among the logs", *notes]))
    tables, drawn = [], list[Picture]()
    groups = side_by_side(audits)
    for (version, data), group in groups.items():
        apart = f", data {data}, version {version}" if len(groups) > 1 else ""
        for table in (audits_table, epsilon_table, accuracy_table):
            made = table(group)
            tables.append(made._replace(title=made.title + apart))
        if draw:
            end = f"_{data}_{version}" if len(groups) > 1 else ""
            drawn += [p._replace(name=p.name + end) for p in pictures(group, utilities)]
    if utilities:
        tables.append(utility_table(utilities))
    return Report(audits, utilities, tables, drawn, notes)


def report(paths: Iterable[str]) -> str:
    """All audits as text: of several, a line each; then one after another; then all utilities.

    Raises:
        FileNotFoundError: Nothing is at one of the paths.
        ValueError: No audit or utility is among the logs.
    """
    return as_format(make_report(paths), "text")


def as_format(made: Report, form: Format) -> str:
    """Everything as one text; for HTML a page with the figures."""
    if form == "html":
        return as_page(TITLE, made.tables, made.pictures, made.notes)
    notes = [clean(note) for note in made.notes]
    if form == "text":
        parts = [audit.text for audit in made.audits]
        parts += dict.fromkeys(legend(audit.config) for audit in made.audits)
        parts += [utility_text(utility) for utility in made.utilities]
        if len(made.audits) > 1:
            audited = [Audited(a.model, a.config, a.rows) for a in made.audits]
            parts.insert(0, overview(audited))
        text = "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])
        return "\n".join(map(clean, text.split("\n")))
    if form == "csv":
        parts = [f"# {clean(table.title)}\n{FORMATS[form](table)}" for table in made.tables]
        return "\n".join(parts)
    mark = {"markdown": "- ", "latex": "% "}[form]
    return "\n".join([*map(FORMATS[form], made.tables), *(mark + note for note in notes)])


def write_report(made: Report, folder: Path) -> list[Path]:
    """Every table in four forms, every figure as SVG and PNG, one page, and the words.

    Returns:
        The files, the page first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "report.html", folder / "report.txt"]
    files[0].write_text(as_format(made, "html"), encoding="utf-8")
    files[1].write_text(as_format(made, "text") + "\n", encoding="utf-8")
    for table in made.tables:
        for form, suffix in SUFFIXES.items():
            file = folder / f"{table.slug}.{suffix}"
            file.write_text(FORMATS[form](table), encoding="utf-8")
            files.append(file)
    for picture in made.pictures:
        files += picture.save(folder)
    return files
