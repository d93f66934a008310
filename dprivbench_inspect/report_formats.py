"""A table as text, Markdown, CSV, LaTeX and HTML; nothing that a model is called is markup."""

import csv
import html
import io
import math
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from dprivbench_inspect.intervals import Share

Cell = str | Share
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

        >>> Table("Category 1: accuracy", [], [], []).slug
        'category_1_accuracy'
        """
        return re.sub(r"\W+", "_", self.title.lower(), flags=re.ASCII).strip("_")[:60]


def as_text(table: Table) -> str:
    """The table in plain text, as wide as it needs to be."""
    from rich.console import Console
    from rich.table import Table as RichTable

    grid = RichTable(box=None, pad_edge=False)
    for index, column in enumerate(table.columns):
        grid.add_column(clean(column), justify="right" if index else "left", no_wrap=True)
    for row in table.rows:
        grid.add_row(*("\n".join(lines(cell)) for cell in row))
    text = io.StringIO()
    console = Console(file=text, width=2000, markup=False, highlight=False, emoji=False)
    console.print(grid)
    body = [line.rstrip() for line in text.getvalue().splitlines()]
    return "\n".join([clean(table.title), *body, "", *map(clean, table.notes), ""])


def as_markdown(table: Table) -> str:
    """A heading, a table of GitHub's Markdown, and the notes as a list."""
    head = [_markdown(column) for column in table.columns]
    marks = ["---", *["---:"] * (len(head) - 1)]
    body = [[" <br>".join(map(_markdown, lines(cell))) for cell in row] for row in table.rows]
    grid = [f"| {' | '.join(row)} |" for row in (head, marks, *body)]
    notes = [f"- {_markdown(note)}" for note in table.notes]
    return "\n".join([f"## {_markdown(table.title)}", "", *grid, "", *notes, ""])


def as_csv(table: Table) -> str:
    """A header line and the rows; a column of shares becomes six columns, at full precision."""
    wide = [any(isinstance(row[k], Share) for row in table.rows) for k in range(len(table.columns))]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head: list[str] = []
    for column, shares in zip(table.columns, wide, strict=True):
        head += [f"{column}{part}" for part in _PARTS] if shares else [column]
    writer.writerow(map(_csv, head))
    for row in table.rows:
        cells: list[object] = []
        for cell, shares in zip(row, wide, strict=True):
            if isinstance(cell, Share):
                cells += ["" if math.isnan(number) else f"{number:.6g}" for number in cell]
            else:
                cells += [_csv(cell), *[""] * (len(_PARTS) - 1)] if shares else [_csv(cell)]
        writer.writerow(cells)
    return text.getvalue()


def as_latex(table: Table) -> str:
    """A table environment for the package booktabs; the notes stand in it as comments."""
    body = [" & ".join(map(_latex_cell, row)) + r" \\" for row in table.rows]
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
        name, *cells = ("<br>".join(_html_lines(cell)) for cell in row)
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


def printed(mean: float, half_width: float = math.nan) -> Share:
    """A number as a paper prints it, without count or interval over questions."""
    return Share(mean, half_width, math.nan, math.nan, math.nan, math.nan)


def lines(cell: Cell) -> list[str]:
    """A cell in one line or two: value ± over epochs; below, interval over questions and n.

    >>> lines(Share(0.75, math.nan, 0.3, 0.954, 3, 4))
    ['0.750', '[0.300, 0.954] n=4']
    """
    if isinstance(cell, str):
        return [clean(cell)]
    first = number_text(cell.value)
    if not math.isnan(cell.half_width):
        first += f" ± {cell.half_width:.3f}"
    if math.isnan(cell.n):
        return [first]
    interval = "" if math.isnan(cell.low) else f"[{cell.low:.3f}, {cell.high:.3f}] "
    return [first, f"{interval}n={cell.n:.0f}"]


def number_text(value: float) -> str:
    """Three decimals."""
    return "undefined" if math.isnan(value) else f"{value:.3f}"


def clean(text: str) -> str:
    r"""One line of text that a terminal or an editor shows as it is: no control characters.

    >>> clean("a\x1b[31mb\nc")
    'a�[31mb c'
    """
    return "".join(
        c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


_PARTS = ("", " ± over epochs", " low", " high", " numerator", " n")
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


def _latex_cell(cell: Cell) -> str:
    first, *rest = map(_latex, lines(cell))
    if not rest:
        return first
    return rf"\shortstack[r]{{{first}\\{{\scriptsize {rest[0]}}}}}"


def _html(text: str) -> str:
    return html.escape(clean(text), quote=True)


def _html_lines(cell: Cell) -> list[str]:
    first, *rest = map(_html, lines(cell))
    return [first, *(f"<small>{line}</small>" for line in rest)]
