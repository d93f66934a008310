"""Files, folders, patterns and remote addresses → headers of logs, and what is read from each."""

import multiprocessing
import os
import signal
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import zstandard
from fsspec.core import url_to_fs
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

Progress = Callable[[str, int, int], None]  # what is read, how many are, how many there are
_Result = TypeVar("_Result")
_More = ParamSpec("_More")
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
        header = guarded(_read_header, location)
        if isinstance(header, Unreadable):
            lost.append(header)
        else:
            headers[location] = header
        progress("headers", done, len(locations))
    return headers, lost


def read_each(
    read: Callable[[str, EvalLog], _Result],
    headers: Mapping[str, EvalLog],
    progress: Progress = silent,
    processes: int = 1,
) -> Iterator[_Result | Unreadable]:
    """What `read` makes of each log, in the order of the logs.

    Args:
        read: A function of this package, so that other processes find it.
        headers: Headers of the logs by address.
        progress: Is told how far this is.
        processes: Read many logs in so many processes.
    """
    careful = partial(_read_one, read)
    processes = min(processes, os.cpu_count() or 1)
    if processes == 1 or len(headers) < _MANY:
        yield from _counted(map(careful, headers.items()), len(headers), progress)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _let_parent_stop)
    try:
        found = pool.map(careful, headers.items(), chunksize=_CHUNK)
        yield from _counted(found, len(headers), progress)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _read_one(
    read: Callable[[str, EvalLog], _Result], log: tuple[str, EvalLog]
) -> _Result | Unreadable:
    location, header = log
    return guarded(read, location, header)


def _counted(results: Iterable[_Result], total: int, progress: Progress) -> Iterator[_Result]:
    for done, result in enumerate(results, start=1):
        progress("trials", done, total)
        yield result


def _let_parent_stop() -> None:
    """In a process of the pool: Ctrl-C reaches the parent, which ends the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def guarded(
    read: Callable[Concatenate[str, _More], _Result],
    location: str,
    *more: _More.args,
    **named: _More.kwargs,
) -> _Result | Unreadable:
    """What `read` makes of a log and of what else it is given, or why it cannot be read."""
    try:
        return read(location, *more, **named)
    except _DAMAGED as error:
        text = " ".join(str(error).split())[:200]
        return Unreadable(location, f"cannot be read: {text or repr(error)}")


def _read_header(location: str) -> EvalLog:
    log = read_eval_log(location, header_only=True)
    readable = EvalLog.model_fields["version"].default
    if log.version > readable:
        raise ValueError(
            f"it has version {log.version}, from Inspect {log.eval.packages.get('inspect_ai')}; "
            f"the Inspect here reads up to {readable}"
        )
    return log
