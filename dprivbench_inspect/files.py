"""Text, JSON and YAML files that people write → plain data, or one line on what is wrong.

A key that stands twice in a mapping is refused: of two labels nobody can tell which one counts.
"""

import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without the mark at its start that Windows writes.

    Raises:
        ValueError: It is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from error


def parse_json(text: str, where: str) -> Any:
    """What JSON says; NaN, which the public release writes, is read as a number.

    Args:
        text: The JSON.
        where: File or line, for messages.

    Raises:
        ValueError: It is not JSON, is nested too deeply, or a key stands twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_mapping)
    except (ValueError, RecursionError) as error:
        raise _broken(where, error) from error


def parse_yaml(text: str, where: str) -> Any:
    """What YAML says; arguments and errors as `parse_json`."""
    try:
        return yaml.load(text, _Strict)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise _broken(where, error) from error


def _broken(where: str, error: Exception) -> ValueError:
    return ValueError(f"{where}: {' '.join(str(error).split())}")


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(_twice([key for key, _ in pairs]))
    return found


def _twice(keys: list[Any]) -> str:
    return f"key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in a record"


class _Strict(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(keys)) < len(keys):
            raise ValueError(f"{_twice(keys)}, line {node.start_mark.line + 1}")
        return super().construct_mapping(node, deep)
