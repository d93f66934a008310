"""Whole shares: the numbers stay, nothing private does, and damage is told."""

import json
import shutil
import zipfile
from pathlib import Path

import fsspec
import pytest
from click.testing import CliRunner
from inspect_ai import eval, score
from inspect_ai.log import convert_eval_logs, read_eval_log, recompute_metrics, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from contextleak_inspect import share_archive
from contextleak_inspect.cli import main
from contextleak_inspect.scorers import membership
from contextleak_inspect.share import locate_logs, share
from contextleak_inspect.share_check import verify
from contextleak_inspect.share_fields import Redactor, allowed
from contextleak_inspect.share_private import Private
from contextleak_inspect.share_scan import leaks
from contextleak_inspect.tasks_utility import contextleak_utility
from contextleak_inspect.utility_scorers import utility
from dprivbench_inspect.attribution_scorer import attribution, labelled_cause
from dprivbench_inspect.citation_scorer import citations
from dprivbench_inspect.noise_scorer import noise_scale
from dprivbench_inspect.scorers import paper_verdict, verdict
from dprivbench_inspect.tasks import (
    dprivbench_calibrate,
    dprivbench_cat1,
    dprivbench_cat2,
    dprivbench_grader_check,
    dprivbench_hard,
)
from tests.contextleak_inspect.shared_logs import (
    PRIVATE,
    as_from_a_wheel,
    every_text,
    leaves,
    planted,
    private_audit,
    rewritten,
    run_audit,
    run_texts,
    with_text,
)

AUDITS = {
    "none": {"defense": "none"},
    "zero_shot": {"defense": "zero_shot"},
    "faux_secrets": {"defense": "faux_secrets"},
    "keywords": {"defense": "keywords"},
    "llm_judge": {"defense": "llm_judge"},
    "output_filter": {"defense": "output_filter"},
    "rnm": {"defense": "rnm", "ensemble": 4},
    "label_rr": {"defense": "label_rr"},
    "logprob": {"defense": "none", "membership": "logprob"},
    "paired": {"calls": "paired", "threshold": "holdout", "ensemble": 4},
    "frozen": {"calls": "frozen", "trials": 6, "ensemble": 4},
    "unigram": {"canary": "unigram", "query": "input_output", "ensemble": 4},
    "stopped": {"calls": "paired", "threshold": "fixed", "stop_at": 0.1, "epsilon": "inf"},
}


TEXTS = {
    "generation none": {"defense": "none"},
    "esa": {"defense": "esa", "embedding": "hashing", "ensemble": 4},
    "esa paired": {"defense": "esa", "embedding": "hashing", "ensemble": 4, "calls": "paired"},
    "ksa": {"defense": "ksa", "ensemble": 4},
    "ksa ptr": {"defense": "ksa", "ensemble": 4, "keyword_mechanism": "ptr"},
}


def numbers(log) -> dict[tuple[str, str], str]:
    """All metrics, nan equal to nan."""
    return {
        (s.name, name): repr(m.value) for s in log.results.scores for name, m in s.metrics.items()
    }


def share_one(source: str | Path, out: Path):
    """Share one log and read the copy."""
    share(locate_logs([str(source)]), out)
    [copy] = (out / "logs").iterdir()
    return read_eval_log(str(copy))


@pytest.mark.parametrize("name", [*AUDITS, *TEXTS])
def test_an_audit_gives_the_same_numbers_from_its_copy(tmp_path, name):
    if name in TEXTS:
        log = run_texts(tmp_path / "logs", **TEXTS[name])
    else:
        log = run_audit(tmp_path / "logs", **AUDITS[name])
    copy = share_one(log.location, tmp_path / "out")
    assert numbers(copy) == numbers(log)
    again = score(copy, membership(), action="overwrite", model="none/none", display="log")
    assert numbers(again) == numbers(log)
    recompute_metrics(copy)
    assert numbers(copy) == numbers(log)
    canary = log.eval.metadata["canary"]["text"]
    for text in every_text(tmp_path / "out"):
        assert canary not in text
        assert "Reply with that one word" not in text
        assert "vectors" not in text
    assert verify(tmp_path / "out").problems == []


@pytest.mark.parametrize("kind", ["classification", "generation"])
def test_utility_gives_the_same_numbers_from_its_copy(tmp_path, kind):
    embedding = {"embedding": "hashing"} if kind == "generation" else {}
    log = ask(contextleak_utility(kind=kind, **embedding), tmp_path / "logs", limit=6)
    copy = share_one(log.location, tmp_path / "out")
    recompute_metrics(copy)
    assert numbers(copy) == numbers(log)
    again = score(copy, utility(), action="overwrite", model="none/none", display="log")
    if kind == "classification":
        assert numbers(again) == numbers(log)
    else:  # texts are not there to be compared, which must not look like a result
        assert again.results.scores[0].unscored_samples == 6
    texts = " ".join(every_text(tmp_path / "out"))
    for sample in log.samples:
        assert sample.input not in texts
        assert kind == "classification" or sample.target not in texts


def test_the_copy_is_audited_again_at_another_epsilon(tmp_path):
    log = run_audit(tmp_path / "logs", epsilon="1")
    copy = share_one(log.location, tmp_path / "out")
    scores = [
        score(x, membership(epsilon="3"), action="overwrite", model="none/none", display="log")
        for x in (log, copy)
    ]
    assert numbers(scores[0]) == numbers(scores[1])
    assert numbers(scores[0]) != numbers(log)


def test_an_audit_of_private_data_keeps_no_word_of_them(tmp_path):
    log = private_audit(tmp_path)
    copy = share_one(log.location, tmp_path / "out")
    assert numbers(copy) == numbers(log)
    again = score(copy, membership(), action="overwrite", model="none/none", display="log")
    assert numbers(again) == numbers(log)
    for text in every_text(tmp_path / "out"):
        for word in PRIVATE:
            assert word not in text.casefold()
        assert log.eval.metadata["data"]["sha256"] not in text


def reply(input, tools, tool_choice, config) -> ModelOutput:
    """Every kind of reply, by the length of the prompt."""
    texts = [
        "Class: subjective",
        "**objective**",
        "So \\boxed{yes}",
        "Hence \\boxed{\\text{No}}",
        "no box, but no",
        "\\boxed{yes} or \\boxed{no}",
        "",
        "I'm sorry, I cannot help",
        "see /home/otto/notes.txt \\boxed{no}",
    ]
    output = ModelOutput.from_content("mockllm/model", texts[len(input[-1].text) % len(texts)])
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def ask(task, log_dir, limit=None):
    model = get_model("mockllm/model", memoize=False, custom_outputs=reply)
    [log] = eval(task, model=model, log_dir=str(log_dir), display="log", limit=limit)
    assert log.status == "success", log.error
    return log


@pytest.mark.parametrize(
    ("task", "scorers"),
    [
        (lambda: dprivbench_cat1("laplace", paper_extraction=True), [verdict(), paper_verdict()]),
        (lambda: dprivbench_cat2("dp_sgd,svt"), [verdict()]),
        (lambda: dprivbench_calibrate("laplace", "1,2,3"), [noise_scale()]),
        (lambda: dprivbench_hard("retrieval"), [verdict(), citations()]),
        (lambda: dprivbench_grader_check(), [labelled_cause()]),
    ],
)
def test_public_questions_are_graded_alike_from_the_copy(tmp_path, task, scorers):
    log = ask(task(), tmp_path / "logs", limit=12)
    copy = share_one(log.location, tmp_path / "out")
    assert numbers(copy) == numbers(log)
    recompute_metrics(copy)
    assert numbers(copy) == numbers(log)
    again = score(copy, scorers, action="overwrite", model="none/none", display="log")
    assert numbers(again) == numbers(log)
    assert [s.input for s in copy.samples] == [s.input for s in log.samples]
    assert [s.id for s in copy.samples] == [s.id for s in log.samples]
    assert [s.metadata for s in copy.samples] == [s.metadata for s in log.samples]
    assert not any("otto" in text for text in every_text(tmp_path / "out"))
    assert verify(tmp_path / "out").problems == []


def test_causes_that_were_appended_are_shared_too(tmp_path):
    log = ask(dprivbench_cat1("laplace"), tmp_path / "logs", limit=12)
    appended = score(log, attribution(), action="append", model="none/none", display="log")
    write_eval_log(appended, str(tmp_path / "appended.eval"))
    copy = share_one(tmp_path / "appended.eval", tmp_path / "out")
    assert numbers(copy) == numbers(appended)
    assert {s.scorer for s in copy.results.scores} == {"verdict", "attribution"}
    assert verify(tmp_path / "out").problems == []


def test_questions_of_ones_own_are_replaced_and_not_graded_anew(tmp_path):
    source = tmp_path / "mine.jsonl"
    record = {"id": "ward-7", "category": 2, "topic": "wards", "subject": "DP-ML", "label": "yes"}
    records = [
        record | {"question": "Does the ward's release hold?"},
        record | {"id": "ward-8", "question": "And Zoe's?", "label": "no"},
    ]
    source.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    log = ask(dprivbench_cat2(source=str(source)), tmp_path / "logs")
    copy = share_one(log.location, tmp_path / "out")
    recompute_metrics(copy)
    values = dict(numbers(log))
    named = {key for key in values if "wards" in str(key)}  # the topic's name is private too
    assert named
    assert {k: v for k, v in numbers(copy).items() if "private-" not in str(k)} == {
        k: v for k, v in values.items() if k not in named
    }
    for text in every_text(tmp_path / "out"):
        assert not any(word in text.casefold() for word in ("ward", "zoe", "mine.jsonl", "box{"))
    with pytest.raises(ValueError, match="must be yes or no"):
        score(copy, verdict(), action="overwrite", model="none/none", display="log")


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return Path(run_audit(tmp_path_factory.mktemp("logs"), trials=6, null_controls=0).location)


def test_nothing_is_left_of_texts_planted_everywhere(tmp_path, audit):
    archive, secrets = planted(audit, tmp_path / "planted.eval")
    assert len(secrets) > 60
    before = " ".join(every_text(archive.parent, only=archive.name))
    assert all(secret in before for secret in secrets)
    copy = share_one(archive, tmp_path / "out")
    assert len(copy.samples) == 6
    texts = list(every_text(tmp_path / "out"))
    for secret in secrets:
        assert not any(secret in text for text in texts), secret
    assert not any("zebedee" in text.casefold() for text in texts)
    raw = b"".join(p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert b"zebedee" not in raw.lower()


def contents(archive: Path) -> tuple[dict, dict]:
    """Header and first sample."""
    with zipfile.ZipFile(archive) as members:
        name = next(n for n in members.namelist() if n.startswith("samples/"))
        return json.loads(members.read("header.json")), json.loads(members.read(name))


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Header and sample, with the rules for them, of a log of each package."""
    audited = run_texts(tmp_path_factory.mktemp("a"), defense="ksa", trials=2)
    asked = ask(dprivbench_cat1("laplace"), tmp_path_factory.mktemp("d"), limit=2)
    return {
        name: contents(Path(log.location))
        for name, log in (("contextleak", audited), ("dprivbench", asked))
    }


def judged(value, rules, *, public=False) -> tuple[str, list]:
    """What is left of a value, and what the scan says of it."""
    private = Private(frozenset(), frozenset())
    made = Redactor(b"salt", private, public_texts=public, public_data=public)
    trial = (value.get("store") or {}).get("Answers:trial") or {}
    made.labels = tuple(trial.get("labels") or ())
    left = made.redact(value, rules, "x")
    return json.dumps(left, ensure_ascii=False), list(leaks(left, private, public_texts=public))


def kinds_of_places(value):
    """One path of each kind: the first of a list, and of all metrics and epsilons one."""
    first = {}
    for path in leaves(value):
        named = [str(key) for key in path if not isinstance(key, int)]
        kind = tuple("ε" if before == "metrics" or "ε" in key else key
                     for before, key in zip(["", *named], named, strict=False))  # fmt: skip
        first.setdefault(kind, path)
    return first.values()


# Where texts about public questions are kept, a private one could not be told from them.
SAID = {"id", "input", "target", "messages", "output", "explanation", "answer", "sibling",
        "mechanism", "mechanisms", "sample_ids"}  # fmt: skip
NAMES = {"model", "embedding"}  # one word there is taken for the name of a model


@pytest.mark.parametrize("package", ["contextleak", "dprivbench"])
def test_a_private_text_at_any_place_is_replaced_or_told(both, package):
    header, sample = both[package]
    public, tried = package == "dprivbench", 0
    for value, rules in ((header, "header"), (sample, f"{package}_sample")):
        for path in kinds_of_places(value):
            if public and not SAID.isdisjoint(map(str, path)):
                continue
            alone = ["Zebedee"] if NAMES.isdisjoint(map(str, path)) else []
            for secret in ("Zebedee fell ill", "/home/zebedee/Zebedee", *alone):
                text, found = judged(with_text(value, path, secret), allowed(rules), public=public)
                assert "Zebedee" not in text or found, path
                tried += 1
    assert tried > 150


@pytest.mark.parametrize("package", ["contextleak", "dprivbench"])
def test_any_removed_text_would_be_told_if_its_field_were_listed(both, package):
    header, sample = both[package]
    public, tried = package == "dprivbench", 0
    for value, name in ((header, "header"), (sample, f"{package}_sample")):
        for field in value.keys() - set(allowed(name)):
            if not any(len(text.split()) > 3 for text in texts_of(value[field])):
                continue
            rules = dict(allowed(name)) | {field: "keep"}
            assert judged(value, rules, public=public)[1], field
            tried += 1
    assert tried >= 2


def texts_of(value):
    """All strings in JSON."""
    for path in leaves(value):
        below = value
        for key in path:
            below = below[key]
        yield below


@pytest.mark.parametrize("field", ["input", "messages", "events_data", "attachments", "header"])
def test_one_field_more_on_the_list_and_nothing_is_shared(tmp_path, monkeypatch, audit, field):
    sample, header = dict(allowed("contextleak_sample")), dict(allowed("header"))
    if field == "header":
        header["eval"] = dict(header["eval"]) | {"task_file": "keep"}
    else:
        sample[field] = "keep"
    rules = {"contextleak_sample": sample, "header": header, "note": allowed("note")}
    monkeypatch.setattr(share_archive, "allowed", rules.__getitem__)
    with pytest.raises(ValueError, match="texts are left that should not be there"):
        share([str(audit)], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_json_logs_and_logs_elsewhere_are_shared_too(tmp_path, audit):
    convert_eval_logs(str(audit), "json", str(tmp_path / "json"))
    [as_json] = (tmp_path / "json").iterdir()
    elsewhere = fsspec.filesystem("memory")
    elsewhere.put(str(audit), "/bucket/logs/a.eval")
    renamed = tmp_path / "teamB final (2).eval"
    shutil.copy(audit, renamed)
    for number, where in enumerate((as_json, "memory://bucket/logs", tmp_path / "team*.eval")):
        copy = share_one(where, tmp_path / f"out{number}")
        assert numbers(copy) == numbers(read_eval_log(str(audit)))
        assert not any("teamB" in name for name in map(str, (tmp_path / "out2").rglob("*")))


def test_a_log_from_an_installed_wheel_is_shared_and_recomputes_here(tmp_path, audit):
    as_from_a_wheel(audit, tmp_path / "wheel.eval")
    copy = share_one(tmp_path / "wheel.eval", tmp_path / "out")
    assert len(copy.results.scores) == len(read_eval_log(str(audit)).results.scores)
    assert copy.samples[0].scores["contextleak_inspect/membership"].metadata["trial"]
    assert verify(tmp_path / "out").problems == []


def test_only_logs_that_were_named_are_shared(tmp_path, audit):
    for name in ("public/a.eval", "draft.eval"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(audit, tmp_path / name)
    made = share(locate_logs([str(tmp_path / "public")] * 2), tmp_path / "out")
    assert len(made.logs) == 1


def test_logs_that_cannot_be_shared_are_named_and_left_out(tmp_path, audit):
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copy(audit, logs / "good.eval")
    (logs / "torn.eval").write_bytes(audit.read_bytes()[:5000])
    (logs / "words.json").write_text("no log", encoding="utf-8")
    damaged = bytearray(audit.read_bytes())
    with zipfile.ZipFile(audit) as archive:
        member = next(i for i in archive.infolist() if i.filename.startswith("samples/"))
    start = member.header_offset + 200
    damaged[start : start + 400] = b"\x55" * 400
    (logs / "damaged.eval").write_bytes(damaged)
    rewritten(audit, logs / "newer.eval", header=lambda h: h.update(version=99))
    rewritten(audit, logs / "running.eval", header=lambda h: h.update(status="started"))
    rewritten(audit, logs / "killed.eval", header=None)
    rewritten(audit, logs / "other.eval", header=lambda h: h["eval"].update(scorers=[]))
    for place in ("config", "canary"):
        edit = {place: 5}
        rewritten(
            audit,
            logs / f"odd_{place}.eval",
            header=lambda h, e=edit: h["eval"]["metadata"].update(e),
        )
    named = [str(logs), str(logs / "words.json"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, ["share", *named])
    assert result.exit_code == 0, result.output
    assert "1 logs, 6 samples" in result.output
    reasons = {
        "torn": "",
        "words": "",
        "damaged": "",
        "newer": "version 99",
        "running": "status is started",
        "killed": "unfinished",
        "other": "known are",
        "odd_config": "its config is 5",
        "odd_canary": "its canary is 5",
    }
    for name, why in reasons.items():
        [line] = [line for line in result.output.splitlines() if f"{name}." in line]
        assert line.startswith("left out")
        assert why in line
    assert len(list((tmp_path / "out" / "logs").iterdir())) == 1


def test_nothing_is_written_where_no_log_can_be_shared(tmp_path):
    (tmp_path / "a.eval").write_bytes(b"no zip")
    result = CliRunner().invoke(
        main, ["share", str(tmp_path / "a.eval"), "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 1
    assert "a.eval" in result.output
    assert [p.name for p in tmp_path.iterdir()] == ["a.eval"]


def test_an_existing_folder_is_refused(tmp_path, audit):
    (tmp_path / "out").mkdir()
    result = CliRunner().invoke(main, ["share", str(audit), "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "never written over another" in result.output


def test_ctrl_c_leaves_nothing_behind(tmp_path, audit):
    def interrupt(step: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        share([str(audit)], tmp_path / "out", progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_the_viewer_holds_the_copies_and_no_path(tmp_path, audit):
    share([str(audit)], tmp_path / "out", viewer=True)
    page = (tmp_path / "out" / "viewer" / "index.html").read_text(encoding="utf-8")
    assert '"log_dir": "logs"' in page
    assert str(tmp_path) not in page
    [copy] = (tmp_path / "out" / "viewer" / "logs").glob("*.eval")
    assert copy.read_bytes() == (tmp_path / "out" / "logs" / copy.name).read_bytes()
    assert verify(tmp_path / "out").problems == []


def test_the_table_says_what_became_of_each_field(tmp_path, audit):
    result = CliRunner().invoke(main, ["share", str(audit), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    kept, rest = result.output.split("replaced:")
    replaced, removed = rest.split("removed:")
    assert "sample.store.Answers:trial" in kept
    assert "sample.input" in replaced
    assert "sample.events" in removed
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert "sample.input" in manifest["fields"]["replaced"]
    assert manifest["logs"][0]["full_task_version"] == "1-A"
    assert manifest["logs"][0]["samples"] == 6


@pytest.fixture
def shared(tmp_path, audit):
    share([str(audit)], tmp_path / "out")
    return tmp_path / "out"


def problems_after(folder: Path, *, rehash: bool = False) -> str:
    if rehash:  # as somebody would who wants to deceive, or who edits a log and forgets half
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        for name, about in manifest["files"].items():
            from contextleak_inspect.share_check import _sha256

            about |= {"sha256": _sha256(folder / name), "bytes": (folder / name).stat().st_size}
        path.write_text(json.dumps(manifest), encoding="utf-8")
    result = CliRunner().invoke(main, ["verify", str(folder)])
    assert result.exit_code == 1
    return result.output


def test_verify_finds_a_whole_share_whole(shared):
    result = CliRunner().invoke(main, ["verify", str(shared)])
    assert result.exit_code == 0, result.output
    assert "nothing is wrong" in result.output
    assert "not checked" in result.output


def test_verify_finds_changed_missing_and_extra_files(shared):
    [log] = (shared / "logs").iterdir()
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    assert "another SHA-256" in problems_after(shared)
    log.unlink()
    (shared / "logs" / "more.eval").write_bytes(b"x")
    said = problems_after(shared)
    assert f"{log.name} is missing" in said
    assert "more.eval is not in the manifest" in said


def test_verify_finds_a_number_that_does_not_follow_from_the_samples(shared):
    [log] = (shared / "logs").iterdir()

    def better(header):
        header["results"]["scores"][1]["metrics"]["audit_AUC"]["value"] = 0.999

    rewritten(log, log, header=better)
    assert "audit_AUC is 0.999, recomputed" in problems_after(shared, rehash=True)


def test_verify_finds_texts_that_are_not_published(shared):
    [log] = (shared / "logs").iterdir()
    rewritten(log, log, header=lambda h: h["eval"].update(tags=["Ann fell ill"]))
    said = problems_after(shared, rehash=True)
    assert "eval.tags: a word that is not published" in said
    assert "Ann" not in said


def test_verify_wants_a_manifest(tmp_path):
    with pytest.raises(FileNotFoundError, match="manifest"):
        verify(tmp_path)
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="no manifest of a share"):
        verify(tmp_path)
