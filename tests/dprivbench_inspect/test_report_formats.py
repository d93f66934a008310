"""A name is a name in every form of a table: no markup, no formula, no control character."""

import csv
import io
import math
import re
from html.parser import HTMLParser

import pytest

from dprivbench_inspect.intervals import Share
from dprivbench_inspect.report_formats import (
    FORMATS,
    Table,
    as_csv,
    as_html,
    as_latex,
    as_markdown,
    as_text,
    printed,
)
from dprivbench_inspect.report_html import as_page

EVIL = "<script>alert(1)</script> & \"q\" 'a' $x_1^2$ 50% #1 {b} ~ \\cmd | *b* `c` [l](u) \x1b[31m"
MODEL = Share(0.75, 0.0123, 0.3006, 0.9544, 3, 4)


def table(name: str = "lab/model_1") -> Table:
    rows = [[name, MODEL, "12"], ["other (paper)", printed(0.5, 0.1), ""]]
    return Table(f"Title of {name}", ["model", "accuracy", "n"], rows, [f"Note on {name}."])


def test_text_shows_value_interval_and_n() -> None:
    lines = as_text(table()).splitlines()
    assert lines[2].split() == ["lab/model_1", "0.750", "±", "0.012", "12"]
    assert lines[3].split() == ["[0.301,", "0.954]", "n=4"]
    assert lines[4].split() == ["other", "(paper)", "0.500", "±", "0.100"]


def test_a_title_stands_on_one_line_over_a_narrow_table() -> None:
    lines = as_text(Table("A title of some length", ["x"], [["1"]], [])).splitlines()
    assert lines[:3] == ["A title of some length", "x", "1"]


def test_csv_gives_numbers_in_columns_of_their_own() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(table()))))
    first, paper = rows
    assert first["accuracy"] == "0.75"
    assert [first[f"accuracy{part}"] for part in (" ± over epochs", " low", " high")] == [
        "0.0123",
        "0.3006",
        "0.9544",
    ]
    assert (first["accuracy numerator"], first["accuracy n"], first["n"]) == ("3", "4", "12")
    assert (paper["accuracy"], paper["accuracy low"], paper["accuracy n"]) == ("0.5", "", "")


def test_csv_gives_no_spreadsheet_a_formula_and_keeps_commas_and_quotes() -> None:
    name = '=HYPERLINK("http://evil","x, y")'
    [first, _] = csv.reader(io.StringIO(as_csv(table(name)).split("\n", 1)[1]))
    assert first[0] == f"'{name}"


class Tags(HTMLParser):
    """Collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_has_the_name_as_text_and_no_tag_of_its() -> None:
    page = Tags()
    page.feed(as_page(f"About {EVIL}", [table(EVIL)], [], [f"left out: {EVIL}"]))
    assert {"script", "img", "iframe", "link"}.isdisjoint(page.tags)
    assert page.text.count(EVIL.replace("\x1b", "\N{REPLACEMENT CHARACTER}")) >= 4
    assert "0.750 ± 0.012[0.301, 0.954] n=4" in page.text


def test_a_page_asks_the_network_for_nothing() -> None:
    page = as_page("T", [table()], [], [])
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", page)
    assert "default-src 'none'" in page


def test_markdown_escapes_what_would_be_markup() -> None:
    row = next(line for line in as_markdown(table(EVIL)).splitlines() if "0.750" in line)
    cells = re.split(r"(?<!\\)\|", row)
    assert len(cells) == 5  # a | in a name opens no column
    assert "&lt;script&gt;" in cells[1]
    assert r"\*b\* \`c\` \[l\](u)" in cells[1]
    assert cells[2].strip() == r"0.750 ± 0.012 <br>\[0.301, 0.954\] n=4"


def test_latex_escapes_what_would_be_a_command() -> None:
    text = as_latex(table(r"a_b & 5% $x$ #1 {c} ~ ^ \d"))
    assert (
        r"a\_b \& 5\% \$x\$ \#1 \{c\} \textasciitilde{} \textasciicircum{} \textbackslash{}d"
    ) in text
    assert r"0.750 $\pm$ 0.012\\{\scriptsize [0.301, 0.954] n=4}" in text


@pytest.mark.parametrize("form", FORMATS)
def test_unicode_and_control_characters_do_no_harm(form: str) -> None:
    given = FORMATS[form](table("模型-δ\u202e\x1b[2J\x07\nsecond"))  # type: ignore[index]
    assert "模型" in given
    assert not any(c in given for c in "\u202e\x1b\x07")


def test_a_table_without_rows_or_with_undefined_numbers_is_a_table() -> None:
    empty = Table("Empty", ["a", "b"], [], [])
    nothing = Table("Nothing", ["a", "b"], [["x", Share(math.nan, *[math.nan] * 3, 0, 0)]], [])
    for form in FORMATS.values():
        assert form(empty)
        assert form(nothing)
    assert "undefined" in as_text(nothing)
    assert "undefined" in as_html(nothing)
