"""The version of the tasks, and what to say of a log that was made under another one."""

import logging
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dprivbench_inspect import __version__
from dprivbench_inspect.refusals import ArgumentError

# N-X: N moves when scores stop being comparable, X when arguments change.
COMPARABILITY, INTERFACE = 1, "A"
VERSION = f"{COMPARABILITY}-{INTERFACE}"
# Stands in each sample: a scorer sees samples, but never the header of the log.
STAMP = {"task_version": VERSION, "package_version": __version__}
ASKED = "questions_hash"  # where a sample's metadata name all questions of its run
NOTE = "version_note"  # where a score's metadata hold what is said of its version

_logger = logging.getLogger(__name__)


def one_set(asked: Iterable[object]) -> None:
    """Refuse answers to two sets of questions in one log.

    Args:
        asked: What stands under `ASKED` in the samples' metadata; None, as in logs of earlier
            releases and in shared ones, says nothing.

    Raises:
        ArgumentError: A retry took over answers from before the questions were changed.

    >>> one_set(["0a1b", None, "0a1b"])
    """
    found = sorted({str(one) for one in asked if one is not None})
    if len(found) > 1:
        raise ArgumentError(
            f"answers to {len(found)} sets of questions ({', '.join(found)}) are mixed: the "
            "questions were changed before a retry; run anew with `inspect eval`"
        )


def version_note(task_version: str | None, package_version: str | None) -> str | None:
    """One line on scores made elsewhere, if their version matters here.

    It matters where N differs: the scores are not comparable. It is also told where the release of
    the package (0.1 of 0.1.2) differs: new scores may be computed otherwise, however comparable.

    Args:
        task_version: "N-X" or N, under which the log was made; None says nothing.
        package_version: Version of the package that made it, None where that is not known.

    >>> version_note(VERSION, __version__) is None
    True
    """
    if task_version is None:
        return None
    comparable = task_version.partition("-")[0] == str(COMPARABILITY)
    if comparable and package_version is None:
        return None
    if comparable and _release(str(package_version)) == _release(__version__):
        return None
    made = f"task version {task_version} (inspect-dp {package_version or 'unknown'})"
    here = f"{VERSION} ({__version__})"
    if comparable:
        return f"made by {made}, read by {here}: comparable, but may be computed otherwise"
    return (
        f"made by {made}, read by {here}: not comparable with runs under version "
        f"{COMPARABILITY}, and scoring again may not give the original numbers"
    )


def told(sample_metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """What a score says of its sample's version: nothing, or a line that is also logged once."""
    about = sample_metadata or {}
    note = version_note(about.get("task_version"), about.get("package_version"))
    if note is None:
        return {}
    _tell(note)
    return {NOTE: note}


def header_note(task_version: object, metadata: Mapping[str, Any]) -> str | None:
    """What to say of a log's version, by its header; another number of Inspect's own goes first."""
    full = metadata.get("full_task_version")
    named = str(full) if full and str(full).partition("-")[0] == str(task_version) else None
    return version_note(named or str(task_version), metadata.get("package_version"))


def grouped(notes: Iterable[tuple[str, str | None]]) -> list[str]:
    """Notes with the names of all that they are about, each once.

    >>> grouped([("[1]", "old"), ("[2]", None), ("[3]", "old")])
    ['[1], [3]: old']
    """
    names: dict[str, list[str]] = {}
    for name, note in notes:
        if note is not None:
            names.setdefault(note, []).append(name)
    return [f"{', '.join(named)}: {note}" for note, named in names.items()]


@cache
def _tell(note: str) -> None:
    _logger.warning("%s", f"This log was {note}")


def _release(version: str) -> list[str]:
    return version.split(".")[:2]
