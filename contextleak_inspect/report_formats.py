"""A table as text, Markdown, CSV, LaTeX and HTML; nothing that a model is called is markup."""

import csv
import html
import io
import math
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from contextleak_inspect.bounds import rounded_down


class LowerBound(float):
    """A number that is rounded down where its digits are cut."""


Cell = str | float  # a number keeps its digits in CSV; nan is shown as -
Format = Literal["text", "markdown", "csv", "latex", "html"]


class Table(NamedTuple):
    """Rows under a title; the first column names what a row is about."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str]

    @property
    def slug(self) -> str:
        """The title as the name of a file: letters, digits and _.

        >>> Table("Audits: bounds on ε", [], [], []).slug
        'audits_bounds_on_epsilon'
        """
        title = self.title.lower().replace("ε", "epsilon")
        return re.sub(r"\W+", "_", title, flags=re.ASCII).strip("_")[:60]


def as_text(table: Table) -> str:
    """The table in plain text, as wide as it needs to be."""
    from rich.console import Console
    from rich.table import Table as RichTable

    grid = RichTable(title=clean(table.title), title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(table.columns):
        grid.add_column(clean(column), justify="right" if index else "left", no_wrap=True)
    for row in table.rows:
        grid.add_row(*map(line, row))
    text = io.StringIO()
    console = Console(file=text, width=2000, markup=False, highlight=False, emoji=False)
    console.print(grid)
    body = [line.rstrip() for line in text.getvalue().splitlines()]
    return "\n".join([*body, "", *map(clean, table.notes), ""])


def as_markdown(table: Table) -> str:
    """A heading, a table of GitHub's Markdown, and the notes as a list."""
    head = [_markdown(column) for column in table.columns]
    marks = ["---", *["---:"] * (len(head) - 1)]
    body = [[_markdown(line(cell)) for cell in row] for row in table.rows]
    grid = [f"| {' | '.join(row)} |" for row in (head, marks, *body)]
    notes = [f"- {_markdown(note)}" for note in table.notes]
    return "\n".join([f"## {_markdown(table.title)}", "", *grid, "", *notes, ""])


def as_csv(table: Table) -> str:
    """A header line and the rows, numbers at full precision; nan is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_csv, table.columns))
    for row in table.rows:
        writer.writerow(
            _csv(cell) if isinstance(cell, str) else "" if math.isnan(cell) else f"{cell:.6g}"
            for cell in row
        )
    return text.getvalue()


def as_latex(table: Table) -> str:
    """A table environment for the package booktabs; the notes stand in it as comments."""
    body = [" & ".join(_latex(line(cell)) for cell in row) + r" \\" for row in table.rows]
    return "\n".join([
        "% Needs \\usepackage{booktabs}; names in scripts beyond Latin and Greek need LuaLaTeX.",
        *(f"% {clean(note)}" for note in table.notes),
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(table.title)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        r"\toprule",
        " & ".join(map(_latex, table.columns)) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ])


def as_html(table: Table) -> str:
    """A section with heading, table and notes, to stand in a page."""
    head = "".join(f'<th scope="col">{_html(column)}</th>' for column in table.columns)
    body = []
    for row in table.rows:
        name, *cells = (_html(line(cell)) for cell in row)
        body.append(
            f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        )
    notes = "".join(f"<li>{_html(note)}</li>" for note in table.notes)
    return (
        f'<section id="{table.slug}"><h2>{_html(table.title)}</h2>\n<div class="wide"><table>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{chr(10).join(body)}</tbody></table></div>\n"
        + (f"<ul>{notes}</ul>" if notes else "")
        + "</section>\n"
    )


FORMATS: dict[Format, Callable[[Table], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "csv": as_csv,
    "latex": as_latex,
    "html": as_html,
}
SUFFIXES: dict[Format, str] = {"text": "txt", "markdown": "md", "csv": "csv", "latex": "tex"}


def line(cell: Cell) -> str:
    """A cell in one line; numbers with two decimals, or none where they count something.

    >>> line(1.237), line(LowerBound(1.237)), line(12), line(math.nan), line(math.inf)
    ('1.24', '1.23', '12', '-', 'inf')
    """
    if isinstance(cell, str):
        return clean(cell)
    if math.isnan(cell):
        return "-"
    if isinstance(cell, LowerBound):
        return rounded_down(cell)
    return str(cell) if isinstance(cell, int) else f"{cell:.2f}"


def clean(text: str) -> str:
    r"""One line of text that a terminal or an editor shows as it is: no control characters.

    >>> clean("a\x1b[31mb\nc")
    'a�[31mb c'
    """
    return "".join(
        c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{c: "\\" + c for c in "&%$#_{}"},
    "±": r"$\pm$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "−": "$-$",
    "√": r"$\surd$",
    "∞": r"$\infty$",
    "α": r"$\alpha$",
    "δ": r"$\delta$",
    "Δ": r"$\Delta$",
    "ε": r"$\varepsilon$",
    "κ": r"$\kappa$",
    "μ": r"$\mu$",
    "ρ": r"$\rho$",
    "σ": r"$\sigma$",
}


def _markdown(text: str) -> str:
    escaped = re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", clean(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _csv(text: str) -> str:
    """Text that a spreadsheet does not run as a formula."""
    text = clean(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in clean(text))


def _html(text: str) -> str:
    return html.escape(clean(text), quote=True)
