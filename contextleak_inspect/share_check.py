"""The manifest of a share, and what anybody can check with it."""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import inspect_ai
from inspect_ai.log import EvalLog, read_eval_log, recompute_metrics
from inspect_ai.util import registry_info

from contextleak_inspect import __version__
from contextleak_inspect.share_archive import UNREADABLE, Shared, archive_leaks
from contextleak_inspect.share_headers import base_name
from contextleak_inspect.share_private import NOBODY
from contextleak_inspect.share_words import ALLOWED

MANIFEST = "manifest.json"
LOGS = "logs"
_FORMAT = 1


class Verified(NamedTuple):
    """What a check found wrong, and what it looked at."""

    problems: list[str]
    checked: list[str]


def write_manifest(folder: Path, shared: Sequence[Shared]) -> None:
    """Say what a share holds: hashes of all files; versions, data and counts of each log."""
    manifest = {
        "format": _FORMAT,
        "package_version": __version__,
        "inspect_ai": inspect_ai.__version__,
        "allow_list_sha256": _sha256(ALLOWED),
        "logs": [_about(log.header, log.samples) | {"file": log.file} for log in shared],
        "files": {
            name: {"bytes": (folder / name).stat().st_size, "sha256": _sha256(folder / name)}
            for name in _files(folder)
        },
        "fields": {
            fate: sorted({path for log in shared for path, found in log.fates if found == fate})
            for fate in ("kept", "replaced")
        },
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def verify(folder: Path) -> Verified:
    """Compare a shared folder with its manifest, its texts with the list, numbers with samples.

    Hashes tell damage and mistakes. Who wants to deceive can write another manifest.

    Raises:
        FileNotFoundError: There is no such folder, or no manifest in it.
        ValueError: The manifest cannot be read.
    """
    manifest = _read_manifest(folder)
    problems = _file_problems(folder, manifest["files"])
    for about in manifest["logs"]:
        name = f"{LOGS}/{about['file']}"
        if (folder / name).is_file():  # else told above
            problems += [f"{name}: {problem}" for problem in _log_problems(folder / name, about)]
    return Verified(
        problems,
        [
            f"{len(manifest['files'])} files: size, SHA-256, none missing, none extra",
            f"{len(manifest['logs'])} logs: task, versions, data and number of samples as in the "
            "manifest; metrics recomputed from the samples",
            "every text in them: words of the published list, placeholders, ids, names of models, "
            "texts of public questions; no key, no path",
            "not checked, as only the one who shared them knows: names of users and machines, "
            "pieces of canaries",
        ],
    )


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} holds no {MANIFEST}; give a folder of `contextleak share`"
        )
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = manifest["format"] == _FORMAT and manifest.keys() >= {"logs", "files"}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no manifest of a share: {error}") from error
    if not known:
        raise ValueError(f"{path} has format {manifest['format']!r}; this version reads {_FORMAT}")
    return manifest


def _file_problems(folder: Path, listed: dict[str, dict[str, Any]]) -> list[str]:
    there = set(_files(folder))
    problems = [f"{name} is missing" for name in sorted(listed.keys() - there)]
    problems += [f"{name} is not in the manifest" for name in sorted(there - listed.keys())]
    for name in sorted(listed.keys() & there):
        if (size := (folder / name).stat().st_size) != listed[name]["bytes"]:
            problems.append(f"{name} has {size} bytes, not {listed[name]['bytes']}")
        elif _sha256(folder / name) != listed[name]["sha256"]:
            problems.append(f"{name} has another SHA-256 than the manifest says")
    return problems


def _log_problems(path: Path, about: dict[str, Any]) -> list[str]:
    try:
        found = {f"{leak.place}: {leak.why}" for leak in archive_leaks(path, NOBODY)}
        log = read_eval_log(str(path))
        is_about = _about(log.model_dump(mode="json", exclude={"samples"}), len(log.samples or []))
    except UNREADABLE as error:
        return [f"cannot be read: {error}"]
    problems = sorted(found)
    for name, value in is_about.items():
        if about.get(name) != value:
            problems.append(f"{name} is {value!r}, in the manifest {about.get(name)!r}")
    return problems + changed_metrics(log)


def changed_metrics(log: EvalLog) -> list[str]:
    """Metrics of a log that are not what its samples give under the packages installed here."""
    before = _numbers(log)
    names = _registered()
    for scorer in log.eval.scorers or []:
        for metric in _metrics(scorer.metrics):
            metric.name = names.get(metric.name.rsplit("/", 1)[-1], metric.name)
    try:
        recompute_metrics(log)
    except (ValueError, LookupError, TypeError) as error:
        return [f"metrics cannot be recomputed here: {error}"]
    after = _numbers(log)
    return [
        f"{name} is {before.get(name)}, recomputed {after.get(name)}"
        for name in sorted(before.keys() | after.keys())
        if not _same(before.get(name), after.get(name))
    ]


def _registered() -> dict[str, str]:
    """Metrics of both packages, by the names they have here: a wheel adds that of the package."""
    ours = {"contextleak_inspect", "dprivbench_inspect"}
    registries = [e.load() for e in entry_points(group="inspect_ai") if e.name in ours]
    names = [
        registry_info(getattr(registry, name)).name
        for registry in registries
        for name in registry.__all__
    ]
    return {name.rsplit("/", 1)[-1]: name for name in names}


def _metrics(metrics: Any) -> Iterator[Any]:
    """Definitions of metrics, which Inspect nests in lists and by pattern."""
    if isinstance(metrics, list | dict):
        for below in metrics.values() if isinstance(metrics, dict) else metrics:
            yield from _metrics(below)
    elif metrics is not None:
        yield metrics


def _numbers(log: EvalLog) -> dict[str, float]:
    scores = log.results.scores if log.results else []
    return {
        f"{base_name(score.scorer)}, {score.name}, {name.rsplit('/', 1)[-1]}": metric.value
        for score in scores
        for name, metric in score.metrics.items()
    }


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-9)


def _about(header: dict[str, Any], samples: int) -> dict[str, Any]:
    spec = header["eval"]
    metadata = spec.get("metadata") or {}
    return {
        "task": spec["task"],
        "task_version": spec.get("task_version"),
        "full_task_version": metadata.get("full_task_version"),
        "package_version": metadata.get("package_version"),
        "inspect_ai": (spec.get("packages") or {}).get("inspect_ai"),
        "model": spec["model"],
        "data": metadata.get("data"),
        "source": metadata.get("source"),
        "revision": metadata.get("revision"),
        "questions_hash": metadata.get("questions_hash"),
        "samples": samples,
    }


def _files(folder: Path) -> list[str]:
    names = (p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir())
    return sorted(name for name in names if name != MANIFEST)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
