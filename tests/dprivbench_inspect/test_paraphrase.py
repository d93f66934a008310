"""True claims in other words: what a model writes, a person reviews, and a task asks."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
import pytest
import yaml
from inspect_ai import eval

from dprivbench_inspect import baselines, cli
from dprivbench_inspect.dataset import load_questions
from dprivbench_inspect.paraphrase import read_paraphrase, record_text, to_paraphrase
from dprivbench_inspect.prompts import PARAPHRASE_INSTRUCTION, paraphrase_prompt
from dprivbench_inspect.questions import DO_NOT_TRAIN, read_questions
from dprivbench_inspect.tasks import dprivbench_cat2

QUESTIONS = {q.id: q for q in load_questions(2).questions}
TRUE = [name for name, q in QUESTIONS.items() if q.label == "yes"]


def rewords(prompt: str) -> str:
    """Stands in for a model: the question with a preface, between the tags."""
    question = prompt.split("<question>\n")[1].split("\n</question>")[0]
    return f"<paraphrase>\nPut otherwise: {question}\n</paraphrase>"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], str]], None]:
    """Lets `dprivbench/always-yes` answer with a function instead."""

    def answer_with(answer: Callable[[str], str]) -> None:
        monkeypatch.setitem(baselines.ANSWERS, "always-yes", answer)

    return answer_with


def paraphrase(out: Path, *options: str) -> click.testing.Result:
    arguments = ["paraphrase", "--model", "dprivbench/always-yes", "--out", str(out), *options]
    return click.testing.CliRunner().invoke(cli.main, arguments)


def test_the_prompt_is_exactly_this() -> None:
    prompt = paraphrase_prompt(r"Is $\frac{1}{2} > \boxed{0}$?")
    assert prompt.endswith("\n\n<question>\nIs $\\frac{1}{2} > \\boxed{0}$?\n</question>")
    assert prompt.startswith(PARAPHRASE_INSTRUCTION)


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("Is $x$?", "0 texts"),
        ("<paraphrase>Is $x$?", "0 texts"),
        ("<paraphrase>a</paraphrase> <paraphrase>b</paraphrase>", "2 texts"),
        ("<paraphrase>Is  $M$\nprivate?!</paraphrase>", "it is the original"),
        ("<paraphrase>Is $N$ safe? \\boxed{yes}</paraphrase>", "boxed"),
        ("<paraphrase></paraphrase>", "0 characters"),
        (f"<paraphrase>{'Is $N$ safe? ' * 9}</paraphrase>", "characters, the original 16"),
    ],
)
def test_replies_of_no_use_say_why(reply: str, wrong: str) -> None:
    assert wrong in (read_paraphrase(reply, "Is $M$ private?!")[1] or "")


def test_a_record_can_be_read_again_whatever_is_in_it(tmp_path: Path) -> None:
    text = (
        "1. Let $a = \\frac{1}{n}$: \"so\" – 'yes' # no\n\n   * $\\theta$ | > x\n- {id: b}\nIs it?"
    )
    file = tmp_path / "p.yaml"
    file.write_text(record_text(QUESTIONS["pate-01"], text), encoding="utf-8")
    (question,) = read_questions(file)
    assert question.question == f"{text}\n"
    assert (question.id, question.label, question.reviewed) == ("pate-01", "yes", False)
    assert question.reference == QUESTIONS["pate-01"].reference
    assert "#   1. Every teacher votes for one class" in file.read_text(encoding="utf-8")


def test_the_command_writes_all_true_claims_for_review(
    offline: Callable[..., None], tmp_path: Path
) -> None:
    offline(rewords)
    out = tmp_path / "p.yaml"
    done = paraphrase(out)
    assert done.exit_code == 0, done.output
    assert f"{len(TRUE)}/{len(TRUE)} " in done.output
    assert yaml.safe_load(out.read_text(encoding="utf-8"))[0] == {"do_not_train": DO_NOT_TRAIN}
    written = {q.id: q for q in read_questions(out)}
    assert set(written) == set(TRUE)
    assert not any(q.reviewed for q in written.values())
    assert all(
        q.question.strip() == f"Put otherwise: {QUESTIONS[name].question.strip()}"
        for name, q in written.items()
    )


def test_what_nobody_has_reviewed_is_refused_unless_told(
    offline: Callable[..., None], tmp_path: Path
) -> None:
    offline(rewords)
    out = tmp_path / "p.yaml"
    assert paraphrase(out, "--topics", "pate, ptr").exit_code == 0
    refused = r"nobody has reviewed \['pate-01', 'pate-05', 'ptr-01', 'ptr-04'\].*reviewed: true"
    with pytest.raises(ValueError, match=refused):
        dprivbench_cat2(source=str(out))
    assert len(dprivbench_cat2(source=str(out), allow_unreviewed=True).dataset) == 4
    text = out.read_text(encoding="utf-8").replace("reviewed: false", "reviewed: true", 3)
    out.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"nobody has reviewed \['\w+-\d+'\]"):
        dprivbench_cat2(source=str(out))
    out.write_text(text.replace("reviewed: false", "reviewed: true"), encoding="utf-8")
    task = dprivbench_cat2(source=str(out), topics="pate")
    assert [sample.id for sample in task.dataset] == ["pate-01", "pate-05"]
    assert (task.metadata or {})["paraphrase"] is True


def test_an_interrupted_run_keeps_what_is_done_and_goes_on(
    offline: Callable[..., None], tmp_path: Path
) -> None:
    asked: list[str] = []

    def breaks_off(prompt: str) -> str:
        asked.append(prompt)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return rewords(prompt)

    offline(breaks_off)
    out = tmp_path / "p.yaml"
    stopped = paraphrase(out, "--topics", "pate,ptr")
    assert stopped.exit_code == 130
    assert re.search(r"stopped; (\d) of 4 written", stopped.output)
    kept = read_questions(out)
    assert 0 < len(kept) < 4
    left = to_paraphrase([QUESTIONS[n] for n in ("pate-01", "pate-05", "ptr-01", "ptr-04")], out)
    assert len(left) + len(kept) == 4
    offline(rewords)
    again = paraphrase(out, "--topics", "pate,ptr")
    assert (again.exit_code, len(read_questions(out))) == (0, 4)
    assert f"{len(left)}/{len(left)} " in again.output
    assert paraphrase(out, "--topics", "pate,ptr").output.startswith(f"{out}: 0 new entries")


def test_a_lost_connection_keeps_what_is_done_too(
    offline: Callable[..., None], tmp_path: Path
) -> None:
    def fails(prompt: str) -> str:
        if "teachers" in prompt:
            raise RuntimeError("the connection was lost")
        return rewords(prompt)

    offline(fails)
    failed = paraphrase(tmp_path / "p.yaml", "--topics", "ptr,pate")
    assert failed.exit_code == 1
    assert "the connection was lost" in failed.output
    assert "of 4 written" in failed.output


def test_a_reply_of_no_use_is_left_out_and_asked_again(
    offline: Callable[..., None], tmp_path: Path
) -> None:
    offline(lambda prompt: "\\boxed{yes}" if "finite set" in prompt else rewords(prompt))
    out = tmp_path / "p.yaml"
    first = paraphrase(out, "--topics", "ptr")
    assert first.exit_code == 1
    assert "ptr-04: left out, 0 texts" in first.output
    assert [q.id for q in read_questions(out)] == ["ptr-01"]


@pytest.mark.parametrize(
    ("out", "options", "message"),
    [
        ("p.txt", (), "must end in .yaml"),
        ("p.yaml", ("--topics", "svm"), r"topics ['svm'] are not in this source"),
        ("p.yaml", ("--source", "nowhere"), "'nowhere' is neither bundled"),
    ],
)
def test_other_options_are_refused(
    out: str, options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    result = paraphrase(tmp_path / out, *options)
    assert result.exit_code == 1
    assert message in result.output
    assert not (tmp_path / out).exists()


def test_bundled_paraphrases_are_asked_as_a_variant(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    task = dprivbench_cat2(variant="paraphrase")
    assert [sample.id for sample in task.dataset] == TRUE
    assert {sample.target for sample in task.dataset} == {"yes"}
    texts = {str(sample.id): str(sample.input) for sample in task.dataset}
    assert not [name for name in TRUE if texts[name].strip() == QUESTIONS[name].question.strip()]
    assert (task.metadata or {})["paraphrase"] is True
    model = mock()
    (log,) = eval(task, model=model.model, log_dir=str(tmp_path), display="log", limit=2)
    assert log.status == "success"
    assert {a.messages[0].text.split("\n\n")[0] for a in model.asked} == {
        texts[name].strip().split("\n\n")[0] for name in TRUE[:2]
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variant": "graded"}, "'pairs' or 'paraphrase'"),
        ({"variant": "paraphrase", "source": "hub"}, "belongs to source=bundled"),
        ({"allow_unreviewed": "perhaps"}, "allow_unreviewed"),
    ],
)
def test_other_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dprivbench_cat2(**arguments)
    with pytest.raises(ValueError, match="category 1 has no variant 'paraphrase'"):
        load_questions(1, variant="paraphrase")


def test_official_questions_can_be_paraphrased(
    offline: Callable[..., None], release: Path, tmp_path: Path
) -> None:
    offline(rewords)
    out = tmp_path / "p.yaml"
    assert paraphrase(out, "--source", str(release)).exit_code == 0
    written = read_questions(out)
    assert [q.id for q in written] == ["cate_2-124", "cate_2-28", "cate_2-3"]
    assert "They add" not in out.read_text(encoding="utf-8")  # comments stay behind
    assert json.dumps([q.label for q in written]) == '["yes", "yes", "yes"]'
