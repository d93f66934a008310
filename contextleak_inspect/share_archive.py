"""One log as an archive: its members, filtered one by one, so that nothing else can pass."""

import json
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from inspect_ai.log import EvalLog, EvalSample, read_eval_log, write_eval_log

from contextleak_inspect.share_fields import Fate, Redactor, allowed
from contextleak_inspect.share_headers import (
    Package,
    package_of,
    public_data,
    public_texts,
    with_our_scorers,
)
from contextleak_inspect.share_private import Private, canary_pieces, own_names
from contextleak_inspect.share_scan import Leak, leaks

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError  # inspect-evals-lint: ignore[IECQ004] -- stdlib
else:
    from zstandard import ZstdError

UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    zipfile.BadZipFile,
    zlib.error,
    ZstdError,
)
_HEADER = "header.json"


class Shared(NamedTuple):
    """One log that was shared.

    Attributes:
        file: Name of the copy.
        header: Its header.
        samples: Number of its samples.
        fates: What became of the fields, by their path.
        private: What was private in the original.
        leaks: Texts of the copy that should not be there.
    """

    file: str
    header: dict[str, Any]
    samples: int
    fates: Counter[tuple[str, Fate]]
    private: Private
    leaks: list[Leak]


def share_log(
    location: str, folder: Path, salt: bytes, progress: Callable[[int], None] = lambda step: None
) -> Shared:
    """A copy of one log for others, and what is left in it that should not be.

    Args:
        location: The log, wherever Inspect reads logs.
        folder: Where the copy goes.
        salt: Secret of the share.
        progress: Called with the number of samples done since the last call.

    Raises:
        ValueError: The log is unfinished, of a newer Inspect, or of neither package.
        OSError, EOFError, KeyError, BadZipFile, zlib.error, ZstdError: It is damaged.
    """
    with tempfile.TemporaryDirectory() as scratch:
        with zipfile.ZipFile(_local_archive(location, Path(scratch))) as source:
            header = _header(source)
            package, members = package_of(header), _samples(source)
            private = _private(source, header, members)
            redactor = Redactor(
                salt, private, public_texts(header, package), public_data(header, package)
            )
            left = redactor.redact(with_our_scorers(header), allowed("header"), "header")
            EvalLog.model_validate(left)
            copy = Path(scratch) / "copy.eval"
            with zipfile.ZipFile(copy, "w") as archive:
                summaries = []
                for member in members:
                    sample = _redact_sample(json.loads(source.read(member)), package, redactor)
                    sample["events"] = [_note(left["eval"]["created"])]
                    _write(archive, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
                    summaries.append(_summary(sample))
                    progress(1)
                _write(archive, "summaries.json", summaries)
                _write(archive, "reductions.json", [])
                _write(archive, _HEADER, left)
        file = _unused(folder, left["eval"])
        shutil.move(copy, folder / file)
    found = list(archive_leaks(folder / file, private))
    return Shared(file, left, len(members), redactor.fates, private, found)


def archive_leaks(archive: Path, private: Private) -> Iterator[Leak]:
    """Everything in any member of a shared archive, and in their names, that should not be there.

    Raises:
        Any of `UNREADABLE`: The archive is damaged.
    """
    with zipfile.ZipFile(archive) as members:
        header = _header(members)
        public = public_texts(header, package_of(header))
        if members.comment:
            yield Leak("comment of the archive", "no place for texts")
        for entry in members.infolist():
            name = entry.filename
            if entry.comment or entry.extra:
                yield Leak(f"{name}: comment", "no place for texts")
            if why := private.found(name):
                yield Leak("name of a member", why)
            try:
                value = json.loads(members.read(entry))
            except ValueError:
                yield Leak(name, "no JSON")
                continue
            where = "samples" if name.startswith("samples/") else name
            for leak in leaks(value, private, public_texts=public):
                yield Leak(f"{where}: {leak.place}", leak.why)


def _local_archive(location: str, scratch: Path) -> Path:
    path = Path(unquote(location.removeprefix("file://")))
    if path.suffix == ".eval" and path.is_file():
        return path
    archive = scratch / "log.eval"
    write_eval_log(read_eval_log(location), str(archive), format="eval")
    return archive


def _header(archive: zipfile.ZipFile) -> dict[str, Any]:
    if _HEADER not in archive.namelist():
        raise ValueError("it is unfinished: the run has not ended, or was killed")
    header: dict[str, Any] = json.loads(archive.read(_HEADER))
    readable = EvalLog.model_fields["version"].default
    if header["version"] > readable:
        raise ValueError(
            f"it has version {header['version']} of Inspect's format, from Inspect "
            f"{header['eval'].get('packages', {}).get('inspect_ai')}; the one here reads {readable}"
        )
    for place, held in (header["eval"].get("metadata") or {}).items():
        if place in {"config", "utility", "canary"} and not isinstance(held, dict):
            raise ValueError(f"its {place} is {held!r:.80}, which no log of ours has there")
    if header["status"] != "success":
        raise ValueError(f"it is unfinished: its status is {header['status']}")
    return header


def _samples(archive: zipfile.ZipFile) -> list[str]:
    return [name for name in dict.fromkeys(archive.namelist()) if name.startswith("samples/")]


def _private(archive: zipfile.ZipFile, header: dict[str, Any], members: list[str]) -> Private:
    """Names from all texts of a log, and pieces of its canary."""
    texts = (archive.read(name).decode(errors="replace") for name in [_HEADER, *members])
    canary = ((header["eval"].get("metadata") or {}).get("canary") or {}).get("text")
    return Private(own_names(texts), canary_pieces(canary) if canary else frozenset())


def _redact_sample(sample: dict[str, Any], package: Package, redactor: Redactor) -> dict[str, Any]:
    redactor.attachments = sample.get("attachments") or {}
    store = dict(sample.get("store") or {})
    labels = (store.get("Answers:trial") or {}).get("labels") or store.get("UtilityAnswers:labels")
    redactor.labels = tuple(labels or ())
    if not labels:  # without them replies are texts, and placeholders would be scored as texts
        store.pop("UtilityAnswers:replies", None)
    sample = sample | {"store": store}
    left: dict[str, Any] = redactor.redact(sample, allowed(f"{package}_sample"), "sample")
    return left


def _note(time: str) -> dict[str, Any]:
    """An event that tells a reader why there are no others."""
    return {
        "event": "info",
        "timestamp": time,
        "working_start": 0.0,
        "source": "contextleak share",
        "data": allowed("note"),
    }


def _summary(sample: dict[str, Any]) -> dict[str, Any]:
    """What Inspect lists of a sample; also shows that the copy is a sample to Inspect.

    Inspect cuts long texts. A record that was cut is no record, and dots stand for it.
    """
    summary = EvalSample.model_validate(sample).summary()
    listed: dict[str, Any] = json.loads(summary.model_dump_json(exclude_none=True))
    for score in listed.get("scores", {}).values():
        for name, text in (score.get("metadata") or {}).items():
            if isinstance(text, str) and text.startswith("{") and not text.endswith("}"):
                score["metadata"][name] = "..."
    return listed


def _unused(folder: Path, spec: dict[str, Any]) -> str:
    """Name of a log in Inspect's own form, made of what is left of its header."""
    created = spec["created"].replace(":", "-").replace("+", "-")
    task = spec["task"].rsplit("/", 1)[-1].replace("_", "-")
    stem = f"{created}_{task}_{spec['task_id']}"
    names = [f"{stem}.eval", *(f"{stem}-{number}.eval" for number in range(2, 10000))]
    return next(name for name in names if not (folder / name).exists())


def _write(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    entry = zipfile.ZipInfo(name)  # without the time of day
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, json.dumps(value))
