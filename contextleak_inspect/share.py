"""Logs of either package → a copy without private texts that still re-scores, checked by itself."""

import glob
import re
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from inspect_ai.log import bundle_log_dir, list_eval_logs, read_eval_log

from contextleak_inspect.share_archive import UNREADABLE, Shared, share_log
from contextleak_inspect.share_check import LOGS, changed_metrics, write_manifest
from contextleak_inspect.share_fields import Fate
from contextleak_inspect.share_scan import Leak

VIEWER = "viewer"
_FATES: tuple[Fate, ...] = ("kept", "replaced", "removed")


class LeftOut(NamedTuple):
    """A log that was not shared, and why."""

    location: str
    why: str


class Share(NamedTuple):
    """What was shared.

    Attributes:
        logs: The copies.
        left_out: Logs that could not be shared.
        notes: What to know beside: metrics that do not recompute.
    """

    logs: list[Shared]
    left_out: list[LeftOut]
    notes: list[str]


def locate_logs(paths: Iterable[str]) -> list[str]:
    """Logs behind files, folders and patterns, on disk or wherever Inspect reads; each once.

    Raises:
        FileNotFoundError: A path holds no log.
    """
    found: list[str] = []
    for path in paths:
        if path.endswith((".eval", ".json")) and ("://" in path or Path(path).is_file()):
            logs = [path]
        elif "://" not in path and glob.has_magic(path):
            logs = sorted(glob.glob(path, recursive=True))
            logs = [log for log in logs if log.endswith((".eval", ".json"))]
        else:
            logs = [info.name for info in list_eval_logs(path, descending=False)]
        if not logs:
            raise FileNotFoundError(f"{path}: no log there; give .eval or .json files or folders")
        found += logs
    return list(dict.fromkeys(found))


def share(
    locations: Sequence[str],
    out: Path,
    *,
    viewer: bool = False,
    progress: Callable[[int], None] = lambda step: None,
) -> Share:
    """Write copies of logs for others into a new folder, or nothing at all.

    Placeholders depend on a secret that is forgotten afterwards: within one share the same text has
    the same one, and short texts cannot be found by trying.

    Args:
        locations: Logs, as `locate_logs` gives them.
        out: The folder, which must not exist yet.
        viewer: Add Inspect's viewer as static pages.
        progress: Called with the number of samples done since the last call.

    Raises:
        FileExistsError: The folder exists.
        ValueError: No log can be shared, or a text is left that should not be there.
    """
    if out.exists():
        raise FileExistsError(f"{out} exists; a share is never written over another, choose a name")
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        (partial / LOGS).mkdir()
        salt = secrets.token_bytes(32)
        shared, left_out = [], []
        for location in locations:
            try:
                shared.append(share_log(location, partial / LOGS, salt, progress))
            except UNREADABLE as error:
                why = str(error).partition("\n")[0] or type(error).__name__
                left_out.append(LeftOut(location, why))
        if not shared:
            raise ValueError("no log can be shared:\n" + left_out_text(left_out))
        if left := [(log.file, leak) for log in shared for leak in log.leaks]:
            raise ValueError(_leaks_text(left))
        notes = [
            f"{log.file}: {problem}"
            for log in shared
            for problem in changed_metrics(read_eval_log(str(partial / LOGS / log.file)))
        ]
        if viewer:
            _add_viewer(partial)
        write_manifest(partial, shared)
        partial.chmod(0o755)
        partial.rename(out)
    finally:  # also after Ctrl-C
        shutil.rmtree(partial, ignore_errors=True)
    return Share(shared, left_out, notes)


def left_out_text(left_out: Iterable[LeftOut]) -> str:
    """One line per log that was left out."""
    return "\n".join(f"left out {log.location}: {log.why}" for log in left_out)


def fields_text(logs: Iterable[Shared]) -> str:
    """Which fields were kept, replaced and removed, and how often."""
    fates: Counter[tuple[str, Fate]] = Counter()
    for log in logs:
        fates.update(log.fates)
    lines = []
    for fate in _FATES:
        counts: Counter[str] = Counter()
        for (path, found), count in fates.items():
            if found == fate:
                counts[_grouped(path)] += count
        lines += ["", f"{fate}: {sum(counts.values())} values"]
        lines += [f"  {count:>8}  {path}" for path, count in sorted(counts.items())]
    return "\n".join(lines[1:])


def _grouped(path: str) -> str:
    """The first names of a path, which is enough for a reader."""
    names = path.split(".")
    return ".".join(names[:3]) + (".…" if len(names) > 3 else "")


def _leaks_text(found: Sequence[tuple[str, Leak]]) -> str:
    counts = Counter(f"{file}, {leak.place}: {leak.why}" for file, leak in found)
    lines = [f"  {line} ({count} times)" for line, count in counts.most_common(20)]
    return "\n".join([
        f"{len(found)} texts are left that should not be there; nothing was written:",
        *lines,
        *(["  …"] if len(counts) > 20 else []),
    ])


def _add_viewer(folder: Path) -> None:
    """Inspect's viewer over the copies, without the path that its bundle writes into the page.

    Raises:
        ValueError: A path of this machine is left in a page.
    """
    bundle_log_dir(str(folder / LOGS), str(folder / VIEWER))
    page = folder / VIEWER / "index.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r', "abs_log_dir": "[^"]*"', "", text), encoding="utf-8")
    here = [str(path) for path in (folder.resolve().parent, Path.home(), Path.cwd())]
    for file in sorted((folder / VIEWER).rglob("*")):
        if file.suffix in {".html", ".json", ".txt", ".js"}:
            text = file.read_text(encoding="utf-8", errors="replace")
            if any(len(path) > 1 and path in text for path in here):
                raise ValueError(f"the viewer's {file.name} holds a path of this machine")
