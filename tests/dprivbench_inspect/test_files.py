"""Files that people write: what is read, and the one line that refuses the rest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dprivbench_inspect.files import parse_json, parse_yaml, read_text

Parse = Callable[[str, str], Any]


@pytest.mark.parametrize("parse", [parse_json, parse_yaml])
def test_json_is_read_by_both(parse: Parse) -> None:
    assert parse('[{"a": 1, "b": "ε"}]', "mine") == [{"a": 1, "b": "ε"}]


def test_a_merged_key_may_be_written_again() -> None:
    text = "- &all {label: 'no', topic: svt}\n- {<<: *all, label: 'yes'}"
    assert parse_yaml(text, "mine")[1] == {"label": "yes", "topic": "svt"}


@pytest.mark.parametrize("parse", [parse_json, parse_yaml])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"label": "yes",\n "label": "no"}]', "^mine: key 'label' stands twice in a record"),
        ("[" * 100_000, "^mine: maximum recursion depth exceeded"),
        ('[{"a": ]', "^mine: "),
        ("[1, 2", "^mine: "),
    ],
    ids=["twice", "deep", "broken", "cut"],
)
def test_what_cannot_be_read_is_one_line_with_the_place(
    parse: Parse, text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        parse(text, "mine")
    assert "\n" not in str(caught.value)


def test_a_number_of_too_many_digits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^mine: Exceeds the limit"):
        parse_json("9" * 5000, "mine")


def test_no_code_in_a_yaml_file_is_run(tmp_path: Path) -> None:
    text = f'- !!python/object/apply:os.mkdir ["{tmp_path / "made"}"]'
    with pytest.raises(ValueError, match="could not determine a constructor"):
        parse_yaml(text, "mine")
    assert not (tmp_path / "made").exists()


def test_a_mark_at_the_start_is_no_text_and_other_encodings_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_bytes(b"\xef\xbb\xbf\xce\xb5\r\n")
    assert read_text(file) == "ε\n"
    file.write_bytes("ε".encode("utf-16"))
    with pytest.raises(ValueError, match=r"mine is not UTF-8 .* at byte 0.*; save it as UTF-8"):
        read_text(file)
