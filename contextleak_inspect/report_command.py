"""`contextleak report`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from contextleak_inspect.report_formats import Format


@click.command(short_help="What audits measured, beside claim and theory.")
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
    help="Write tables, figures and a page into this folder instead.",
)
def report(logs: tuple[str, ...], form: "Format", out: Path | None) -> None:
    """What audits measured, beside what was claimed and what theory allows.

    LOGS are log files, folders of them, patterns, or remote addresses (s3://…). A damaged log is
    named and left out; an unfinished audit is shown with the bounds that hold at any time. Audits
    of other private data, or under another version of the task, stand in tables of their own.

    \b
    contextleak report logs
    contextleak report logs --format csv
    contextleak report logs --out report         # report/report.html, tables, SVG and PNG
    """
    from contextleak_inspect.report import as_format, make_report, write_report

    try:
        draw = out is not None or form == "html"
        made = make_report(logs, draw=draw, progress=_progress, processes=2)
        if out is None:
            click.echo(as_format(made, form))
        else:
            for file in write_report(made, out):
                click.echo(file)
            click.echo("".join(f"{note}\n" for note in made.notes), nl=False, err=True)
    except (ValueError, FileNotFoundError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("\nstopped", err=True)
        sys.exit(130)


def _progress(what: str, done: int, total: int) -> None:
    """One line on the terminal that counts up; on anything else a line each tenth of many."""
    last = done == total
    if sys.stderr.isatty():
        click.echo(f"\r{what} {done}/{total}{chr(10) * last}", nl=False, err=True)
    elif total >= 100 and done % max(1, total // 10) == 0:
        click.echo(f"{what} {done}/{total}", err=True)
