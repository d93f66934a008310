"""The "Used:" line as models write it, and the shares worked out by hand."""

import math

import pytest

from dprivbench_inspect.citations import Citation, Cited, citation_summary, parse_citations

SHOWN = ["zcdp", "gaussian_zcdp", "theorem-4", "dp_gd-01"]


@pytest.mark.parametrize(
    ("line", "cited"),
    [
        ("Used: zcdp", ["zcdp"]),
        ("Used: zcdp, gaussian_zcdp.", ["zcdp", "gaussian_zcdp"]),
        ("Used: [zcdp], [gaussian_zcdp]", ["zcdp", "gaussian_zcdp"]),
        ("**Used:** `zcdp` and `theorem-4`", ["zcdp", "theorem-4"]),
        ("**Used**: zcdp", ["zcdp"]),
        ("*Used: zcdp*", ["zcdp"]),
        ("- Used: zcdp;theorem-4", ["zcdp", "theorem-4"]),
        ("> ## used : ZCDP", ["zcdp"]),
        (r"\text{Used: gaussian\_zcdp}", ["gaussian_zcdp"]),
        (r"\textbf{Used:} dp\_gd-01", ["dp_gd-01"]),
        (r"Used: \texttt{gaussian\_zcdp}", ["gaussian_zcdp"]),
        ("Used: zcdp, zcdp", ["zcdp"]),
        ("Theorems used: theorem-4", ["theorem-4"]),
        ("Used: zcdp \\boxed{no}", ["zcdp"]),
        ("Used: none", []),
        ("Used: none.", []),
        ("Used:", []),
    ],
)
def test_lines_as_models_write_them(line: str, cited: list[str]) -> None:
    assert parse_citations(f"It adds up.\n{line}\n\\boxed{{yes}}", SHOWN) == Cited(tuple(cited), ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "By [zcdp] it holds.\n\\boxed{yes}",
        "I have used: zcdp",
        "Unused: zcdp",
        "The theorem that is used here: zcdp",
    ],
)
def test_without_the_line_nothing_is_cited(text: str) -> None:
    assert parse_citations(text, SHOWN) is None


def test_the_last_line_counts() -> None:
    text = "Used: zcdp\nNo, wait.\nUsed: theorem-4\n\\boxed{no}"
    assert parse_citations(text, SHOWN) == Cited(("theorem-4",), ())


def test_ids_that_were_not_shown_are_told_apart_and_never_shortened() -> None:
    text = "Used: theorem-44, gaussian, zcdp-2, and theorem-4"
    assert parse_citations(text, SHOWN) == Cited(
        ("theorem-4",), ("theorem-44", "gaussian", "zcdp-2")
    )


def test_a_long_reply_takes_no_time() -> None:
    text = "* " * 200_000 + "\n" + "Used" * 100_000 + "\nUsed: " + "zcdp, " * 50_000
    assert parse_citations(text, SHOWN) == Cited(("zcdp",), ())


def test_shares_are_as_worked_out_by_hand() -> None:
    right, shown = ("a", "b"), ("a", "b", "c")
    found = citation_summary([
        Citation("1", right, shown, Cited(("a", "b"), ())),  # recall 1, precision 1
        Citation("2", right, shown, Cited(("a", "c"), ("d",))),  # 1/2, 1/2
        Citation("3", right, shown, Cited((), ())),  # 0, says none
        Citation("4", right, ("a", "c"), None),  # 0, no line; the search missed b
    ])
    assert found["recall of right theorems"] == 1.5 / 4
    assert found["precision of citations"] == 1.5 / 2
    assert found["cites a right theorem"] == 2 / 4
    assert found["no citation line"] == found["cites none"] == 1 / 4
    assert found["cites what was not shown"] == 1 / 4
    assert found["right theorems shown"] == 3.5 / 4
    assert found["a right theorem shown"] == 1
    assert found["theorems cited per reply"] == 1
    # Standard error of 1, 1/2, 0, 0 over four questions.
    variance = (0.625**2 + 0.125**2 + 2 * 0.375**2) / 3
    assert found["recall of right theorems ± over questions"] == pytest.approx(
        1.96 * math.sqrt(variance / 4)
    )


def test_no_reply_yet_gives_no_number() -> None:
    assert all(math.isnan(value) for value in citation_summary([]).values())
