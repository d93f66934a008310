"""README.md's tables are those of the example logs, which hold nothing private and stay small."""

import re

from contextleak_inspect.share_check import verify
from tests.examples import EXAMPLES, PICTURES, README, TABLES, readme_with_tables, reports


def test_the_tables_of_the_readme_recompute_from_the_example_logs() -> None:
    text = README.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- table: (.+?) -->", text)) == set(TABLES)
    assert readme_with_tables(text, reports()) == text, "make figures rewrites the tables"


def test_the_pictures_of_the_readme_are_there() -> None:
    shown = set(re.findall(r"\(logs/examples/figures/(.+?)\)", README.read_text(encoding="utf-8")))
    assert shown == {
        f"{package}_{name}.svg" for package, names in PICTURES.items() for name in names
    }
    assert {path.name for path in (EXAMPLES / "figures").iterdir()} == shown


def test_the_example_logs_are_whole_shared_copies_of_less_than_a_megabyte() -> None:
    assert verify(EXAMPLES / "shared").problems == []
    logs = (EXAMPLES / "shared" / "logs").iterdir()
    assert sum(path.stat().st_size for path in logs) < 1_000_000
