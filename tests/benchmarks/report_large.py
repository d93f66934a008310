"""What a report costs on many logs and on a large one: seconds, and the most memory it held.

python tests/benchmarks/report_large.py [logs] [replies of the large log] [replies a log]

Makes 1,000 logs of 588 replies and one of 50,000 by copying one real run (every file differs in
its ids), one more cut in half, and runs `dprivbench report` on each in a process of its own.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from inspect_ai import eval
from inspect_ai.log import EvalLog, read_eval_log

from dprivbench_inspect.tasks import dprivbench_cat1


def source(folder: Path) -> EvalLog:
    """A real run of Category 1."""
    [log] = eval(
        dprivbench_cat1(), model="dprivbench/always-yes", log_dir=str(folder), display="none"
    )
    return read_eval_log(log.location)


def summaries(log: EvalLog, replies: int) -> str:
    """Summaries of so many replies, in as many epochs as that takes, as Inspect stores them."""
    rows = [s.summary().model_dump(mode="json", exclude_none=True) for s in log.samples or []]
    found = []
    for k in range(replies):
        row = copy.deepcopy(rows[k % len(rows)])
        row["epoch"] = row["scores"]["verdict"]["metadata"]["epoch"] = k // len(rows) + 1
        found.append(row)
    return json.dumps(found)


def write(log: EvalLog, path: Path, replies: int, name: str, rows: str) -> None:
    """A log with these summaries and a name of its own, in Inspect's layout."""
    header = log.model_dump(mode="json", exclude={"samples", "location", "etag"}, exclude_none=True)
    header["eval"] |= {"task_id": name, "eval_id": name, "run_id": name, "model": f"lab/{name}"}
    ids = [sample.id for sample in log.samples or []]
    header["eval"]["config"]["epochs"] = -(-replies // len(ids))
    header["results"] |= {"total_samples": replies, "completed_samples": replies}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for k in range(replies if replies > len(ids) else 0):
            archive.writestr(f"samples/{ids[k % len(ids)]}_epoch_{k // len(ids) + 1}.json", b"{}")
        archive.writestr("summaries.json", rows)
        archive.writestr("header.json", json.dumps(header))


def measure(title: str, *arguments: str) -> None:
    """Run the report in another process and print what it took; other processes of it included."""
    command = [sys.executable, "-m", "dprivbench_inspect.cli", "report", *arguments]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, code, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    print(
        f"{title}: {seconds:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of CPU), at most "
        f"{used.ru_maxrss / 1024:.0f} MB in a process, exit code {os.waitstatus_to_exitcode(code)}",
        flush=True,
    )


def main() -> None:
    """Make the logs and print the table."""
    logs, replies, each = [*map(int, sys.argv[1:]), *(1000, 50_000, 588)[len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        log = source(folder / "source")
        (folder / "many").mkdir()
        rows = summaries(log, each)
        for number in range(logs):
            write(log, folder / "many" / f"{number}.eval", each, f"model-{number}", rows)
        whole = (folder / "many" / "0.eval").read_bytes()
        (folder / "many" / "cut.eval").write_bytes(whole[: len(whole) // 2])
        write(log, folder / "large.eval", replies, "large", summaries(log, replies))
        measure(f"one log of {replies} replies", str(folder / "large.eval"))
        measure(f"{logs} logs of {each} replies", str(folder / "many"))
        out = ("--out", str(folder / "out"))
        measure("the same with figures and page", str(folder / "many"), *out)


if __name__ == "__main__":
    main()
