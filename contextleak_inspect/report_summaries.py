"""The summaries of one log's samples: what a report needs of them, and nothing else."""

import zipfile
from pathlib import Path
from typing import Any, NotRequired

from inspect_ai.log import read_eval_log_sample_summaries
from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic does not take that of Python 3.11

_MEMBER = "summaries.json"


class Scored(TypedDict):
    """A score: its value, and what the scorer left beside it."""

    value: Any
    metadata: NotRequired[dict[str, Any] | None]


class Summary(TypedDict):
    """A sample as Inspect lists it, with texts cut to a length of its choice."""

    id: int | str
    epoch: int
    input: Any
    metadata: NotRequired[dict[str, Any]]
    scores: NotRequired[dict[str, Scored] | None]
    error: NotRequired[str | None]


_SUMMARIES = TypeAdapter(list[Summary])


def read_summaries(location: str) -> list[Summary]:
    """Summaries of a log, each sample and epoch once.

    Inspect's reader shortens every text of every summary once more, although they were shortened
    when they were written, and takes ten times as long for it. So a finished log on this machine
    is read here; any other (remote, JSON, or broken off) by Inspect.

    Raises:
        ValueError, KeyError, OSError, EOFError, BadZipFile, zlib.error, ZstdError: It is damaged.
    """
    stored = _stored(location)
    if stored is None:
        fields = {"id", "epoch", "input", "metadata", "scores", "error"}
        found = read_eval_log_sample_summaries(location)
        return _SUMMARIES.validate_python([s.model_dump(include=fields) for s in found])
    # of a sample that was asked again, the last counts, as for Inspect
    return list({(str(s["id"]), s["epoch"]): s for s in _SUMMARIES.validate_json(stored)}.values())


def _stored(location: str) -> bytes | None:
    if not (location.endswith(".eval") and Path(location).is_file()):
        return None
    with zipfile.ZipFile(location) as archive:  # reads zstd since Inspect was imported
        return archive.read(_MEMBER) if _MEMBER in archive.namelist() else None
