"""Files, folders, patterns and remote addresses → headers of logs, and the replies in them."""

import multiprocessing
import os
import signal
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple, TypeVar

import zstandard
from fsspec.core import url_to_fs
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.report_summaries import read_summaries
from dprivbench_inspect.scorers import outcome_of
from dprivbench_inspect.versions import ASKED, NOTE, one_set

Progress = Callable[[str, int, int], None]  # what is read, how many are, how many there are
_Result = TypeVar("_Result")
# What Inspect raises on files that are cut off, damaged or no logs at all.
_DAMAGED = (
    ValueError,
    KeyError,
    AssertionError,
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    zstandard.ZstdError,
)
_MANY = 32  # logs from which on starting other processes pays
_CHUNK = 4  # logs that another process reads in one go


class Replies(NamedTuple):
    """What a report needs of the samples of one log.

    Attributes:
        outcomes: Replies under the rule of ours, one a question and epoch.
        published: The same replies as the paper's code reads them; empty if nobody asked for that.
        texts: Question id → hash of its text, or of its first 5,120 letters, which is what
            Inspect's summaries keep.
        question_set: 8 hex digits, the same for the same texts with the same labels.
        errors: Samples that ended with an error.
        gradings: Versions of the rules that read the replies; more than one in a log that was
            scored again in part.
        rescored: How often the log was scored again in addition; the last time counts.
        told: What the scorer said of logs made under another version.
    """

    outcomes: list[Outcome]
    published: list[Outcome]
    texts: dict[str, int]
    question_set: str
    errors: int
    gradings: tuple[str, ...]
    rescored: int
    told: tuple[str, ...] = ()


class Unreadable(NamedTuple):
    """Why a log is left out."""

    location: str
    why: str


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody sees."""


def find_logs(paths: Iterable[str]) -> list[str]:
    """Addresses of the logs that files, folders and patterns name, each once, in their order.

    Folders are searched to the bottom. Remote ones (s3://…) are read as Inspect reads them.

    Raises:
        FileNotFoundError: Nothing is there, or a pattern fits no log.
    """
    found: list[str] = []
    for path in paths:
        system, inside = url_to_fs(path)
        if system.isdir(inside):
            found += [info.name for info in list_eval_logs(path)]
        elif system.exists(inside):
            found.append(path)
        else:
            names = [str(name) for name in system.glob(inside)] if "*" in path else []
            logs = [system.unstrip_protocol(n) for n in names if n.endswith((".eval", ".json"))]
            if not logs:
                raise FileNotFoundError(f"no log or folder of logs at {path!r}")
            found += logs
    return list(dict.fromkeys(location.removeprefix("file://") for location in found))


def read_headers(
    locations: Sequence[str], progress: Progress = silent
) -> tuple[dict[str, EvalLog], list[Unreadable]]:
    """Headers by address, and the files that are no logs, are damaged or too new to be read."""
    headers: dict[str, EvalLog] = {}
    lost: list[Unreadable] = []
    for done, location in enumerate(locations, start=1):
        header = _guarded(_read_header, location)
        if isinstance(header, Unreadable):
            lost.append(header)
        else:
            headers[location] = header
        progress("headers", done, len(locations))
    return headers, lost


def read_replies(
    locations: Sequence[str],
    progress: Progress = silent,
    processes: int = 1,
) -> Iterator[Replies | Unreadable]:
    """Replies of each log, in the order of the logs, from its summaries.

    Args:
        locations: Addresses of logs.
        progress: Is told how far this is.
        processes: Read many logs in so many processes.
    """
    processes = min(processes, os.cpu_count() or 1)
    if processes == 1 or len(locations) < _MANY:
        yield from _counted(map(_careful, locations), len(locations), progress)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _let_parent_stop)
    try:
        found = pool.map(_careful, locations, chunksize=_CHUNK)
        yield from _counted(found, len(locations), progress)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _counted(results: Iterable[_Result], total: int, progress: Progress) -> Iterator[_Result]:
    for done, result in enumerate(results, start=1):
        progress("replies", done, total)
        yield result


def _let_parent_stop() -> None:
    """In a process of the pool: Ctrl-C reaches the parent, which ends the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _guarded(read: Callable[[str], _Result], location: str) -> _Result | Unreadable:
    try:
        return read(location)
    except _DAMAGED as error:
        text = " ".join(str(error).split())[:200]
        return Unreadable(location, f"cannot be read as a log of Inspect: {text or repr(error)}")


def _read_header(location: str) -> EvalLog:
    log = read_eval_log(location, header_only=True)
    readable = EvalLog.model_fields["version"].default
    if log.version > readable:
        raise ValueError(
            f"it has version {log.version}, from Inspect {log.eval.packages.get('inspect_ai')}; "
            f"the Inspect here reads up to {readable}"
        )
    return log


def _careful(location: str) -> Replies | Unreadable:
    return _guarded(_read_replies, location)


def _read_replies(location: str) -> Replies:
    outcomes, published = list[Outcome](), list[Outcome]()
    texts, gradings, told = dict[str, int](), set[str](), set[str]()
    asked_with = set[object]()
    errors = rescored = 0
    for sample in read_summaries(location):
        question, about = sample["id"], sample.get("metadata")
        errors += sample.get("error") is not None
        asked_with.add((about or {}).get(ASKED))
        scores = sample.get("scores") or {}
        ours = [name for name in scores if name.removeprefix("verdict").isdigit()]
        name = max(ours, key=lambda n: int(n.removeprefix("verdict")), default="verdict")
        rescored = max(rescored, len(ours))
        for key, found in ((name, outcomes), ("paper_verdict", published)):
            if score := scores.get(key):
                outcome = outcome_of(question, score["value"], score.get("metadata"), about)
                if outcome is not None:
                    found.append(outcome)
        if score := scores.get(name):
            left = score.get("metadata") or {}
            gradings.add(str(left.get("grading")))
            told |= {left[NOTE]} if NOTE in left else set()
        if isinstance(sample["input"], str):
            texts[str(question)] = zlib.crc32(sample["input"].encode())
    one_set(asked_with)
    labels = {outcome.question_id: outcome.label for outcome in outcomes}
    asked = sorted((question, text, labels.get(question)) for question, text in texts.items())
    return Replies(
        outcomes,
        published,
        texts,
        f"{zlib.crc32(repr(asked).encode()):08x}",
        errors,
        tuple(sorted(gradings)),
        rescored,
        tuple(sorted(told)),
    )
