"""`dprivbench report`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dprivbench_inspect.report_formats import Format


@click.command(short_help="Tables and figures of runs beside the paper's numbers.")
@click.argument("logs", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "csv", "latex", "html"]),
    default="text",
    show_default=True,
    help="What to print.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write all tables, figures and a page into this folder instead.",
)
@click.option(
    "--attribution",
    is_flag=True,
    help="Add accuracy by function and mechanism, and why replies are wrong (what the scorer "
    "attribution has found, see README).",
)
@click.option(
    "--compare",
    type=(int, int),
    multiple=True,
    metavar="N M",
    help="Compare runs [N] and [M] of the first table by a paired test, and list every changed "
    "verdict. May be given again.",
)
@click.option(
    "--register",
    is_flag=True,
    help="Print the evaluation_report block for the register of Inspect evals instead.",
)
def report(
    logs: tuple[str, ...],
    form: "Format",
    out: Path | None,
    attribution: bool,
    compare: tuple[tuple[int, int], ...],
    register: bool,
) -> None:
    """Tables and figures of finished runs beside the paper's numbers.

    LOGS are log files, folders of them, patterns, or remote addresses (s3://…). A log that is
    damaged or unfinished is named and left out. Runs that did not ask the same questions, or under
    another version of the task, stand in tables of their own.

    \b
    dprivbench report logs
    dprivbench report logs --format latex
    dprivbench report logs --out report          # report/report.html, tables, SVG and PNG
    dprivbench report logs --compare 1 2
    dprivbench report logs --register >> eval.yaml
    """
    from dprivbench_inspect.report import as_format, make_report, write_report
    from dprivbench_inspect.report_register import evaluation_report

    if "" in logs:
        raise click.ClickException("a name of LOGS is empty; give . for the folder you are in")
    try:
        made = make_report(
            logs,
            attribution=attribution,
            compare=compare,
            pictures=out is not None or form == "html",
            progress=_progress,
            processes=2,
        )
        if register:
            click.echo(evaluation_report(made.runs), nl=False)
        elif out is not None:
            for file in write_report(made, out):
                click.echo(file)
        else:
            click.echo(as_format(made, form))
        if register or out is not None:
            click.echo("".join(f"{note}\n" for note in made.notes), nl=False, err=True)
    except KeyboardInterrupt:
        click.echo("\nstopped", err=True)
        sys.exit(130)
    except Exception as error:
        if not isinstance(error, ValueError | OSError) and not any("://" in log for log in logs):
            raise
        # What a remote file system raises is its own.
        raise click.ClickException(" ".join(str(error).split()) or repr(error)) from error


def _progress(what: str, done: int, total: int) -> None:
    """One line on the terminal that counts up; on anything else a line each tenth of many."""
    last = done == total
    if sys.stderr.isatty():
        click.echo(f"\r{what} {done}/{total}{chr(10) * last}", nl=False, err=True)
    elif total >= 100 and done % max(1, total // 10) == 0:
        click.echo(f"{what} {done}/{total}", err=True)
