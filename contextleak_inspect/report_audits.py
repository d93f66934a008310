"""Logs → audits with their trials, each once, and a note on every log left out."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from inspect_ai.log import EvalLog, read_eval_log

from contextleak_inspect.audit_run import Run, gather
from contextleak_inspect.config import audit_config
from contextleak_inspect.report_logs import Unreadable, find_logs, guarded, read_headers
from contextleak_inspect.report_summaries import read_summaries
from contextleak_inspect.rows import rescored
from contextleak_inspect.scoring import release
from contextleak_inspect.trials import plan_worlds
from contextleak_inspect.votes import TrialVotes

SCORER = "membership"
# What logs that were scored by earlier versions call our scorer's options.
_FORMER_OPTIONS = {
    "epsilons": "epsilon",
    "sensitivity": "neighbouring",
    "threshold_rule": "threshold",
}


class AuditLog(NamedTuple):
    """One log of an audit, read back."""

    location: str
    header: EvalLog
    run: Run


def read_audits(paths: Iterable[str]) -> tuple[list[AuditLog], list[str]]:
    """The audits among logs and folders of logs, and a note on every log left out.

    Only headers and summaries are read where that is enough. Where a run was retried, the log with
    the most trials counts; logs scored under other settings stand beside it.

    Raises:
        FileNotFoundError: Nothing is at one of the paths.
    """
    headers, lost = read_headers(find_logs(paths))
    notes = [f"{log.location}: left out, {log.why}" for log in lost]
    audits: dict[tuple[str, str], AuditLog] = {}
    for location, header in headers.items():
        if not is_audit(header):
            notes.append(f"{location}: left out, task {header.eval.task} is no audit")
            continue
        found = guarded(audits_of, location, header)
        if isinstance(found, Unreadable):
            notes.append(f"{location}: left out, {found.why}")
            continue
        for audit in found:
            key = audit.header.eval.task_id, json.dumps(audit.run.config.record())
            earlier = audits.get(key)
            if earlier is not None:
                first, audit = sorted((earlier, audit), key=lambda a: len(a.run.records))
                notes.append(f"{first.location}: the same run as {audit.location}, which is shown")
            audits[key] = audit
    return list(audits.values()), notes


def is_audit(header: EvalLog) -> bool:
    """Whether a log holds an audit that was scored."""
    return "config" in (header.eval.metadata or {}) and bool(_scorers(header))


def audits_of(location: str, header: EvalLog) -> list[AuditLog]:
    """The audits in one log, one for each time that it was scored.

    Raises:
        ValueError: It holds trials of another audit.
    """
    return [
        AuditLog(location, header, _run(location, header, name, options))
        for name, options in _scorers(header)
    ]


def _scorers(header: EvalLog) -> list[tuple[str, dict[str, Any]]]:
    """Names and options of our scorers in a log; one that was appended has a number at its end."""
    found: list[tuple[str, dict[str, Any]]] = []
    for scorer in header.eval.scorers or []:
        if scorer.name.rsplit("/", 1)[-1] == SCORER:
            found.append((f"{SCORER}{len(found) or ''}", scorer.options or {}))
    return found


def _run(location: str, header: EvalLog, name: str, options: dict[str, Any]) -> Run:
    given = {_FORMER_OPTIONS.get(option, option): value for option, value in options.items()}
    logged = (header.eval.metadata or {})["config"]
    if not isinstance(logged, dict):
        raise ValueError(f"its config is {logged!r:.80}, not the settings of an audit")
    config = rescored(audit_config(logged), **given)
    records, lost = [], []
    found = _score_metadata(location, name)
    counted = header.results.completed_samples if header.results else 0
    if counted and not found:
        raise ValueError(f"its header counts {counted} trials, and scores of none are in it")
    for metadata in found:
        if "trial" in metadata:
            votes = TrialVotes.model_validate_json(metadata["trial"])
            records.append((votes, release(votes, config)))
        elif "lost" in metadata:
            lost.append(int(metadata["lost"]))
    results = header.results
    stopped = results is not None and bool(
        results.early_stopping and results.early_stopping.early_stops
    )
    # where every trial failed there are no results
    ran = results.total_samples if results else len(header.eval.dataset.sample_ids or ())
    whole = ran == len(plan_worlds(config))
    finished = header.status == "success" and whole and not stopped
    return gather(config, records, lost=lost, finished=finished)


def _score_metadata(location: str, name: str) -> list[dict[str, Any]]:
    """What the scorer left with each sample; summaries may have cut long votes short."""
    scores = [(summary.get("scores") or {}).get(name) for summary in read_summaries(location)]
    summaries = [score.get("metadata") or {} for score in scores if score]
    if all(_whole(metadata.get("trial", "{}")) for metadata in summaries):
        return summaries
    samples = read_eval_log(location).samples or []
    return [s.scores[name].metadata or {} for s in samples if s.scores and name in s.scores]


def _whole(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
