"""What a report costs on many logs and on a large one: seconds, and the most memory it held.

python tests/benchmarks/report_large.py [logs] [replies of the large log]

Makes folders as users have them, every member of every archive included: 1,000 runs of the 588
questions of Category 1, and 1,000 audits of 100 trials at five ε, by copying real ones (one run,
ten audits) under ids of their own; one log of 50,000 replies; and in each folder a log that is cut
in half. `dprivbench report` and `contextleak report` run on each in a process of their own.
"""

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.log import EvalLog, read_eval_log

from contextleak_inspect.tasks import contextleak_classification
from dprivbench_inspect.tasks import dprivbench_cat1

# A small process starts the report: the memory of a process counts as that of its children too.
WATCH = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, code)
"""
AUDITS = ({"defense": "rnm"}, {"defense": "rnm", "calls": "paired"}, {"defense": "label_rr"})


def run(task: Task, model: str, folder: Path) -> Path:
    """The log of a real run."""
    [log] = eval(task, model=model, log_dir=str(folder), display="none")
    return Path(log.location)


def header_of(log: EvalLog, name: str) -> dict[str, object]:
    """The header of a run of that name."""
    header = log.model_dump(mode="json", exclude={"samples", "location", "etag"}, exclude_none=True)
    header["eval"] |= {"task_id": name, "eval_id": name, "run_id": name, "model": f"lab/{name}"}
    return header


def copies(sources: list[Path], folder: Path, number: int) -> None:
    """So many logs, and one that is cut in half."""
    folder.mkdir()
    logs = [read_eval_log(str(source), header_only=True) for source in sources]
    for k in range(number):
        # named as Inspect names them: of other names its listing reads the headers, once more
        path = folder / f"2026-01-01T00-00-00-00-00_task_{k:05}.eval"
        shutil.copyfile(sources[k % len(sources)], path)
        with zipfile.ZipFile(path, "a") as archive:
            archive.filelist.remove(archive.NameToInfo.pop("header.json"))
            header = header_of(logs[k % len(sources)], f"model-{k}")
            archive.writestr("header.json", json.dumps(header), zipfile.ZIP_DEFLATED)
    (folder / "cut.eval").write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def large(source: Path, path: Path, replies: int) -> None:
    """A log of so many replies, in as many epochs as that takes."""
    log = read_eval_log(str(source))
    samples = log.samples or []
    rows = [s.summary().model_dump(mode="json", exclude_none=True) for s in samples]
    header = header_of(log, "large")
    header["eval"]["config"]["epochs"] = -(-replies // len(rows))  # type: ignore[index]
    header["results"] |= {"total_samples": replies, "completed_samples": replies}  # type: ignore[operator]
    found = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for k in range(replies):
            row = copy.deepcopy(rows[k % len(rows)])
            row["epoch"] = row["scores"]["verdict"]["metadata"]["epoch"] = k // len(rows) + 1
            archive.writestr(f"samples/{row['id']}_epoch_{row['epoch']}.json", b"{}")
            found.append(row)
        archive.writestr("summaries.json", json.dumps(found))
        archive.writestr("header.json", json.dumps(header))


def measure(title: str, package: str, *arguments: str) -> None:
    """Run a report in another process and print what it took, processes of its own included."""
    command = [sys.executable, "-m", f"{package}_inspect.cli", "report", *arguments]
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", WATCH, *command], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    cpu, memory, code = done.stdout.split()
    print(
        f"{package}, {title}: {seconds:.1f} s ({float(cpu):.1f} s of CPU), at most "
        f"{int(memory) / 1024:.0f} MB in a process, exit code {code}, "
        f"load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def main() -> None:
    """Make the logs and print the table."""
    logs, replies = [*map(int, sys.argv[1:]), *(1000, 50_000)[len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        questions = run(dprivbench_cat1(), "dprivbench/always-yes", folder / "source")
        audits = [
            run(
                contextleak_classification(epsilon="1,2,4,8,inf", seed=k, **AUDITS[k % 3]),
                "contextleak/simulated",
                folder / "source",
            )
            for k in range(10)
        ]
        large(questions, folder / "large.eval", replies)
        measure(f"one log of {replies} replies", "dprivbench", str(folder / "large.eval"))
        for package, sources in (("dprivbench", [questions]), ("contextleak", audits)):
            many = folder / package
            copies(sources, many, logs)
            measure(f"{logs} logs", package, str(many))
            out = ("--out", str(folder / f"{package}-report"))
            measure(f"{logs} logs, figures and page", package, str(many), *out)
            shutil.rmtree(many)


if __name__ == "__main__":
    main()
