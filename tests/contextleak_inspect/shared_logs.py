"""Logs to share: real audits, audits of private data, archives with private texts everywhere."""

import copy
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.model import get_model

from contextleak_inspect.tasks import contextleak_classification
from contextleak_inspect.tasks_generation import contextleak_generation

# Words that stand nowhere but in the private data below.
PRIVATE = ("migraine", "remission", "relapse", "otto", "patients", "diagnosis", "zoe", "zzerith")


def run_audit(log_dir: Path, **fields: Any) -> EvalLog:
    """A finished audit of the simulated model; its judge, if there is one, always allows."""
    guard = get_model("mockllm/model", custom_outputs=lambda *_: _allowed(), memoize=False)
    [log] = eval(
        contextleak_classification(**({"trials": 10, "null_controls": None} | fields)),
        model=get_model("contextleak/simulated", hit=0.8, false_vote=0.2, unparsed=0.1),
        model_roles={"guard": guard} if fields.get("defense") == "llm_judge" else None,
        log_dir=str(log_dir),
        display="log",
    )
    assert log.status == "success", log.error
    return log


def _allowed() -> Any:
    from inspect_ai.model import ModelOutput, ModelUsage

    output = ModelOutput.from_content("mockllm/model", "no")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def run_texts(log_dir: Path, **fields: Any) -> EvalLog:
    """A finished audit of texts."""
    [log] = eval(
        contextleak_generation(**({"trials": 6} | fields)),
        model=get_model("contextleak/simulated", hit=0.8, false_vote=0.2),
        log_dir=str(log_dir),
        display="log",
    )
    assert log.status == "success", log.error
    return log


def private_audit(folder: Path) -> EvalLog:
    """An audit of a file of patients, with labels, columns, user and path that nobody may see."""
    data = folder / "home" / "otto" / "patients.csv"
    data.parent.mkdir(parents=True)
    rows = [
        f"Zoe had migraine number {i} with {'bcdfghjklmnp'[i % 12]}{'aeiou'[i % 5]}zzerith,"
        f"{'remission' if i % 2 else 'relapse'}"
        for i in range(60)
    ]
    data.write_text("\n".join(["note,diagnosis", *rows]), encoding="utf-8")
    return run_audit(
        folder / "logs",
        source=str(data),
        text_column="note",
        label_column="diagnosis",
        canary="unigram",
        canary_label="relapse",
        seed=3,
    )


def every_text(folder: Path, only: str = "*") -> Iterator[str]:
    """All texts of a folder: names of files, members of archives unpacked, everything else read."""
    for path in sorted(folder.rglob(only)):
        yield path.name
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as archive:
                yield archive.comment.decode()
                for entry in archive.infolist():
                    yield entry.filename + entry.comment.decode()
                    text = archive.read(entry).decode()
                    yield text
                    if text.startswith(("{", "[")):  # without the escapes
                        yield json.dumps(json.loads(text), ensure_ascii=False)
        elif path.is_file():
            yield path.read_text(encoding="utf-8", errors="replace")


def rewritten(
    source: Path,
    target: Path,
    *,
    header: Callable[[dict[str, Any]], object] | None = lambda header: None,
    member: Callable[[str, Any], object] = lambda name, value: None,
    more: dict[str, bytes] | None = None,
    comment: bytes = b"",
) -> None:
    """An archive with changed members; without `header.json` where `header` is None."""
    with zipfile.ZipFile(source) as archive:
        members = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            if name == "header.json":
                if header is None:
                    continue
                header(value)
            else:
                member(name, value)
            archive.writestr(name, json.dumps(value))
        for name, data in (more or {}).items():
            archive.writestr(name, data)
        archive.comment = comment


class _Secrets:
    """Sentences with a name that stands nowhere else; each is another one."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self) -> str:
        self.made.append(f"Zebedee slept badly on day {len(self.made)}q of May")
        return self.made[-1]


def planted(source: Path, target: Path) -> tuple[Path, list[str]]:
    """The log with a private text in every place where Inspect or a user can put one."""
    secret = _Secrets()
    error = {"message": secret(), "traceback": secret(), "traceback_ansi": secret()}

    def header(h: dict[str, Any]) -> None:
        spec = h["eval"]
        h["anything_new"] = {"deep": [{"deeper": secret()}]}
        h["log_updates"] = [
            {
                "edits": [{"type": "tags", "tags_add": [secret()], "tags_remove": []}],
                "provenance": {
                    "author": secret(), "reason": secret(), "timestamp": "2026-01-01T00:00:00Z"
                },
            }
        ]  # fmt: skip
        h["error"] = dict(error)
        h["tags"] = [secret()]
        spec |= {
            "anything_new": secret(),
            "task_file": f"/home/zebedee/{secret()}",
            "task_attribs": {"owner": secret()},
            "task_description": secret(),
            "task_display_name": secret(),
            "solver": secret(),
            "solver_args": {"x": secret()},
            "tags": [secret()],
            "sandbox": {"type": secret(), "config": secret()},
            "model_base_url": f"https://zebedee:{secret()}@example.org",
            "revision": {"type": "git", "origin": secret(), "commit": secret(), "dirty": True},
        }
        spec["model_args"] |= {"path": secret(), "api_key": secret(), "grammar": secret()}
        spec["model_generate_config"] = {
            "system_message": secret(), "stop_seqs": [secret()], "extra_body": {"user": secret()}
        }  # fmt: skip
        spec["model_roles"] = {
            "guard": {
                "model": secret(),
                "config": {},
                "base_url": secret(),
                "args": {"k": secret()},
            }
        }
        spec["task_args"] |= {"diary": secret(), "split": secret(), "filter_pattern": secret()}
        spec["task_args_passed"] |= {"repo": secret()}
        spec["config"] |= {"notification": secret(), "acp_server": secret()}
        spec["dataset"] |= {"name": secret(), "location": secret()}
        spec["packages"] |= {"zebedee_plugin": secret()}
        spec["metadata"] |= {"note": secret()}
        spec["metadata"]["canary"]["text"] = secret()
        spec["metadata"]["data"]["name"] = secret()
        spec["scorers"][0]["metadata"] = {"note": secret()}
        spec["scorers"].append({"name": secret(), "options": {}})
        h["metadata"] |= {"note": secret()}
        h["plan"]["steps"][0]["params"]["audit"] = secret()
        h["plan"]["steps"].append({"solver": secret(), "params": {"x": secret()}})
        h["results"]["metadata"] = {"x": secret()}
        h["results"]["scores"][0]["metadata"] = {"x": secret()}
        h["results"]["scores"][0]["metrics"]["trials"]["metadata"] = {"x": secret()}
        h["results"]["scores"].append({"name": secret(), "scorer": secret(), "metrics": {}})
        h["stats"]["model_usage"][secret()] = {"input_tokens": 1}

    def sample(s: dict[str, Any]) -> None:
        message = {"role": "user", "content": secret(), "metadata": {"canary": secret()}}
        s |= {
            "anything_new": secret(),
            "input": [message],
            "choices": [secret()],
            "description": secret(),
            "files": [secret()],
            "setup": secret(),
            "messages": [
                message,
                {"role": "assistant", "content": [{"type": "text", "text": secret()}]},
            ],
            "error": dict(error),
            "error_retries": [dict(error)],
            "limit": {"type": "custom", "limit": 1, "reason": secret()},
            "invalidation": {"author": secret(), "timestamp": "2026-01-01T00:00:00Z"},
            "events": [{"event": "info", "source": secret(), "data": secret()}],
            "timelines": [{"name": secret()}],
            "events_data": {"messages": [message], "calls": [{"request": secret()}]},
            "uuid": secret(),
        }  # fmt: skip
        s["attachments"]["0" * 32] = secret()
        s["output"] = {
            "model": secret(),
            "completion": secret(),
            "error": secret(),
            "metadata": {"x": secret()},
            "choices": [
                {"message": {"role": "assistant", "content": secret()}, "stop_reason": "stop"}
            ],
        }
        s["metadata"] |= {"note": secret(), secret(): 1}
        s["store"] |= {"note": secret(), "Texts:candidates": [secret()]}
        s["store"]["Answers:trial"] |= {"note": secret()}
        s["store"]["Answers:temperature_sent"] = secret()
        scored = s["scores"]["membership"]
        scored |= {"answer": secret(), "explanation": secret(), "reason": secret()}
        scored["history"] = [{"value": 1, "explanation": secret(), "provenance": None}]
        scored["metadata"] |= {"note": secret()}
        s["scores"]["of_mine"] = copy.deepcopy(scored) | {"explanation": secret()}

    def member(name: str, value: Any) -> None:
        if name.startswith("samples/"):
            sample(value)
        elif name == "summaries.json" or name.startswith("_journal/summaries/"):
            for summary in value:
                summary["input"] = secret()
        elif name == "_journal/start.json":
            value["eval"]["task_file"] = secret()
        elif name == "reductions.json":
            value.append({
                "scorer": "membership",
                "samples": [{"value": 1, "explanation": secret()}],
            })

    more = {f"notes/{secret()}.txt": secret().encode(), "_journal/config_updates/1.json": b"{}"}
    rewritten(source, target, header=header, member=member, more=more, comment=secret().encode())
    return target, secret.made


Path_ = tuple[str | int, ...]


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Paths of all strings in JSON."""
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(below, (*path, key))
    elif isinstance(value, str):
        yield path


def with_text(value: Any, path: Path_, text: str) -> Any:
    """The value with another text at the end of a path."""
    if not path:
        return text
    changed = copy.copy(value)
    changed[path[0]] = with_text(value[path[0]], path[1:], text)
    return changed


def as_from_a_wheel(source: Path, target: Path) -> None:
    """The log with the package's name before all names, as Inspect writes it there."""
    package = "contextleak_inspect/"

    def qualified(metrics: Any) -> None:
        if isinstance(metrics, dict) and "name" in metrics:
            metrics["name"] = package + metrics["name"]
        else:
            for below in metrics.values() if isinstance(metrics, dict) else metrics:
                qualified(below)

    def header(h: dict[str, Any]) -> None:
        h["eval"]["task"] = package + h["eval"]["task"]
        [scorer] = h["eval"]["scorers"]
        scorer["name"] = package + scorer["name"]
        qualified(scorer["metrics"])
        for score in h["results"]["scores"]:
            score["scorer"] = package + score["scorer"]
            score["metrics"] = {
                (package + name if name.startswith("audit_") else name): metric
                for name, metric in score["metrics"].items()
            }
            if score["name"] == "membership":
                score["name"] = package + score["name"]

    def member(name: str, value: Any) -> None:
        if name.startswith("samples/"):
            value["scores"] = {package + key: score for key, score in value["scores"].items()}

    rewritten(source, target, header=header, member=member)
