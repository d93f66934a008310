"""A user's .csv or .jsonl file → records, or a line that says where it is broken."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def read_records(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Records of a .csv or .jsonl file, the named columns as stripped texts.

    A JSON line that holds nothing but `do_not_train` is a notice, not a record.

    Raises:
        ValueError: File missing, not readable as such, a column absent or empty, a value that is
            no text; with the line.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    rows = _json_rows(path) if path.suffix == ".jsonl" else _csv_rows(path)
    try:
        for line, row in rows:
            yield {name: _value(f"{path}, line {line}", row, name) for name in columns}
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(
            f"{path} is no UTF-8 text (byte 0x{byte:02x}); save it as UTF-8"
        ) from error


def _value(where: str, row: Mapping[str, object], name: str) -> str:
    if name not in row:
        raise ValueError(
            f"{where}: no column {name!r}; it has {sorted(row)}. "
            "Name columns with text_column and label_column"
        )
    value = row[name]
    if isinstance(value, list | dict):
        raise ValueError(f"{where}: {name!r} is {value!r:.80}; give a text or a number")
    text = "" if value is None else str(value).strip()
    if not text:
        raise ValueError(f"{where}: {name!r} is empty; fill or drop the line")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(f"{where}: {name!r} holds half a surrogate pair, which is no character")
    return text


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: expected an object, got {row!r:.80}")
            if set(row) != {"do_not_train"}:
                yield number, row


def _csv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines)
        try:
            names = next(reader, [])
            if twice := {name for name in names if names.count(name) > 1}:
                raise ValueError(f"{path}: columns {sorted(twice)} stand twice; name each once")
            for row in reader:
                if len(row) not in {0, len(names)}:
                    raise ValueError(
                        f"{path}, line {reader.line_num}: {len(row)} values for {len(names)} "
                        f"columns {names!r:.80}; quote texts that hold a comma, quote or line break"
                    )
                if row:
                    yield reader.line_num, dict(zip(names, row, strict=True))
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from error
