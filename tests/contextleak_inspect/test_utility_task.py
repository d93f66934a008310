"""Utility of every defense from one set of answers, on scripted models."""

import json
import math
from functools import cache

import pytest
from inspect_ai import eval, eval_retry, score
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from contextleak_inspect import baselines
from contextleak_inspect.calibration import analytic_sigma, randomized_response, vote_sensitivity
from contextleak_inspect.config import audit_config
from contextleak_inspect.private_data import read_private_data
from contextleak_inspect.queries import task_input
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.report import report
from contextleak_inspect.tasks_utility import contextleak_utility
from contextleak_inspect.utility import rouge1
from contextleak_inspect.utility_questions import utility_questions
from contextleak_inspect.utility_report import read_utility
from contextleak_inspect.utility_scorers import utility
from contextleak_inspect.utility_solvers import UtilityAnswers
from tests.conftest import require_weights


class Scripted:
    """A model whose replies a function makes, with every call kept."""

    def __init__(self, reply):
        self.reply, self.seen = reply, []

    @property
    def model(self):
        return get_model("mockllm/model", custom_outputs=self, memoize=False)

    def __call__(self, messages, tools, choice, config):
        self.seen.append((messages, config))
        output = ModelOutput.from_content("m", self.reply(messages, config))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output


@cache
def truth(kind):
    config = audit_config({
        "task": kind,
        "defense": {"classification": "rnm", "generation": "esa"}[kind],
    })
    return {task_input(kind, e.text): e.answer for e in read_private_data(config, "test").pool}


def run(scripted, folder, limit=5, **settings):
    if settings.get("kind") == "generation":
        settings = {"embedding": "hashing", "candidates": 3} | settings
    [log] = eval(
        contextleak_utility(**settings),
        model=scripted.model,
        limit=limit,
        log_dir=str(folder),
        display="log",
    )
    assert log.status == "success", log.error
    return log


def rows(log):
    return {name: row.mean for name, row in read_utility(log, log.location).rows.items()}


def shots(messages):
    return messages[0].text.count("\n\nText: ")


# With examples always right, without never; one shard of ten is wrong.
def classifier(messages, config):
    right = truth("classification")[messages[1].text]
    wrong = {"objective": "subjective", "subjective": "objective"}[right]
    return right if shots(messages) and (config.seed or 0) % 10 else wrong


def test_one_set_of_answers_gives_every_defense_and_epsilon(tmp_path):
    scripted = Scripted(lambda m, c: classifier(m, c) if shots(m) != 20 else _right(m))
    log = run(scripted, tmp_path, epsilon="0,1,8,inf")
    assert len(scripted.seen) == 5 * (1 + 1 + 2 + 10)
    found = rows(log)
    assert found["zero_shot"] == 0
    assert found["few_shot"] == found["keywords"] == found["faux_secrets"] == 1
    assert found["rnm ε=0"] == found["label_rr ε=0"] == 0  # no private example at all
    assert found["rnm ε=inf"] == found["label_rr ε=inf"] == 1
    assert found["label_rr ε=8"] == pytest.approx(randomized_response(8.0, 3).keep)
    expected = []
    for sample in log.samples:
        answers = sample.store_as(UtilityAnswers)
        right = sum(reply == answers.answer for reply in answers.shards)
        sigma = analytic_sigma(8.0, 1e-5, vote_sensitivity())
        expected.append(float(label_probability([right, 10 - right, 0], sigma, 0)))
    assert found["rnm ε=8"] == pytest.approx(sum(expected) / 5)
    assert found["rnm ε=1"] < found["rnm ε=8"] < 1
    text = report([log.location])
    assert "accuracy over 5 questions" in text
    assert "rnm ε=8" in text


def _right(messages):
    return truth("classification")[messages[1].text]


def test_other_epsilons_are_scored_without_a_model(tmp_path):
    log = run(Scripted(lambda m, c: _right(m)), tmp_path, epsilon="1")
    again = score(log, utility(epsilon="4,inf"), action="overwrite", display="log")
    names = {found.name for found in again.results.scores}
    assert {"zero_shot", "rnm ε=4", "rnm ε=inf"} <= names
    assert "rnm ε=1" not in names


def summarizer(messages, config):
    """Examples make the summary right; candidates differ by seed."""
    right = truth("generation")[messages[1].text]
    if shots(messages) or "Words that a good answer may use" in messages[0].text:
        return right
    return right if config.seed % 3 == 0 else "Somebody talks to somebody about something."


def test_texts_are_scored_by_rouge_for_embeddings_and_keywords(tmp_path):
    scripted = Scripted(summarizer)
    log = run(scripted, tmp_path, kind="generation", epsilon="1,inf")
    # Zero-shot, few-shot, two prompts, ten shards, three candidates, one text per ε.
    assert len(scripted.seen) == 5 * (1 + 1 + 2 + 10 + 3 + 2)
    found = rows(log)
    assert found["few_shot"] == 1
    assert found["ksa ε=inf"] == 1
    best = []
    for sample in log.samples:
        answers = sample.store_as(UtilityAnswers)
        best.append(max(rouge1(answers.answer, text) for text in answers.candidates))
        assert len(answers.keywords["ksa ε=1"]) == 10
        assert all(word for word in answers.keywords["ksa ε=inf"])
    # Without noise the candidate nearest to the right shards is released.
    assert found["esa ε=inf"] == pytest.approx(sum(best) / 5, abs=0.05)
    assert found["zero_shot"] <= found["esa ε=1"] + 0.5
    assert "ROUGE-1 over 5 questions" in report([log.location])


def test_the_filter_and_the_guard_take_their_toll(tmp_path):
    def copies(messages, config):
        return messages[0].text.split("Text: ")[1].split("\nClass")[0] if shots(messages) else "x"

    log = run(Scripted(copies), tmp_path, limit=2)
    assert {s.store_as(UtilityAnswers).replies["output_filter"] for s in log.samples} == {"None"}
    assert "llm_judge" not in rows(log)
    [log] = eval(
        contextleak_utility(),
        model=Scripted(lambda m, c: _right(m)).model,
        model_roles={"guard": Scripted(lambda m, c: "LEAK").model},
        limit=2,
        log_dir=str(tmp_path),
        display="log",
    )
    assert rows(log)["few_shot"] == 1
    assert rows(log)["llm_judge"] == 0


# MMLU, the paper's control: a question with its options, answered without any use of examples.
def test_a_control_that_gains_nothing_from_examples(tmp_path):
    path = tmp_path / "mmlu.jsonl"
    lines = [
        {"text": f"What is {i} + 1?\nA. {i}\nB. {i + 1}\nC. 0\nD. -1", "label": "ABCD"[i % 4]}
        for i in range(60)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    def knows(messages, config):
        return "ABCD"[int(messages[1].text.split("What is ")[1].split(" ")[0]) % 4]

    log = run(Scripted(knows), tmp_path, source=str(path), epsilon="inf")
    found = rows(log)
    assert found["zero_shot"] == found["few_shot"] == found["rnm ε=inf"] == 1


def test_a_users_file_is_dealt_into_parts_that_do_not_meet(tmp_path):
    path = tmp_path / "own.csv"
    rows_of = [f"text {i},{'ab'[i % 2]}" for i in range(100)]
    path.write_text("text,label\n" + "\n".join(rows_of), encoding="utf-8")
    config = audit_config({"source": str(path)})
    parts = {part: utility_questions(config, part) for part in ("validation", "test")}
    texts = {part: {q.text for q in found.questions} for part, found in parts.items()}
    pool = {e.text for found in parts.values() for q in found.questions for e in q.exemplars}
    assert (len(texts["validation"]), len(texts["test"])) == (20, 30)
    assert not texts["validation"] & texts["test"]
    assert not pool & (texts["validation"] | texts["test"])
    assert len({q.exemplars for q in parts["test"].questions}) == 30
    small = audit_config({"source": str(path), "n_exemplars": 60, "ensemble": 10})
    with pytest.raises(ValueError, match="50 private examples are left beside the questions"):
        utility_questions(small, "test")
    with pytest.raises(ValueError, match="part 'train' is none of"):
        utility_questions(config, "train")
    with pytest.raises(ValueError, match=r"kind \['a', 'b'\] is none of"):
        contextleak_utility(kind=["a", "b"])
    with pytest.raises(ValueError, match=r"part \['test', 'validation'\] is none of"):
        contextleak_utility(part=["test", "validation"])
    lines = ["text,label", *(f"text {i},{'ab'[i % 2]}" for i in range(99)), "text 99,c"]
    path.write_text("\n".join(lines), encoding="utf-8")
    told = 0
    for seed in range(12):  # the one text with label c falls into a part by the seed
        try:
            utility_questions(audit_config({"source": str(path), "seed": seed}), "test")
        except ValueError as error:
            told += "labels ['c'], which no private example has" in str(error)
    assert 0 < told < 12


def test_bundled_parts_are_the_data_sets_own():
    for kind, defense in (("classification", "rnm"), ("generation", "esa")):
        config = audit_config({"task": kind, "defense": defense})
        sizes = {p: len(utility_questions(config, p).questions) for p in ("validation", "test")}
        assert sizes["validation"] >= 40
        assert sizes["test"] >= 60


@pytest.mark.local_model
def test_a_real_model_is_scored_on_one_question(tmp_path):
    require_weights("smollm2-135m")
    [log] = eval(
        contextleak_utility(ensemble=2, n_exemplars=4, epsilon="8"),
        model="gguf/smollm2-135m",
        limit=1,
        max_tokens=8,
        log_dir=str(tmp_path),
        display="log",
    )
    assert log.status == "success"
    found = rows(log)
    assert len(found) == 7
    assert all(0 <= value <= 1 for value in found.values())
    assert not math.isnan(found["rnm ε=8"])


# 60 questions; the simulated model is right at a chosen rate, whatever the examples are.
def test_the_simulated_model_is_as_right_as_it_is_told(tmp_path):
    [log] = eval(
        contextleak_utility(epsilon="1,inf"),
        model="contextleak/simulated",
        model_args={"hit": 0.8},
        limit=60,
        log_dir=str(tmp_path),
        display="log",
    )
    found = rows(log)
    keep = randomized_response(1.0, 3).keep
    expected = {
        "zero_shot": 0.8,
        "few_shot": 0.8,
        "label_rr ε=1": 0.8 * keep + 0.2 * (1 - keep) / 2,
    }
    for name, rate in expected.items():
        assert abs(found[name] - rate) < 4 * math.sqrt(0.8 * 0.2 / 60)
    # ten answers, ties drawn by lot: Bin(10, 0.8) is 6 or more with chance .967, 5 with .026
    assert abs(found["rnm ε=inf"] - (0.967 + 0.026 / 2)) < 4 * math.sqrt(0.98 * 0.02 / 60)


def test_utility_answers_asks_without_with_all_and_with_each_shard(tmp_path):
    scripted = Scripted(classifier)
    log = run(scripted, tmp_path, limit=1, ensemble=5, n_exemplars=10)
    assert [step.solver for step in log.plan.steps] == ["utility_answers"]
    asked = {shots(messages) for messages, _ in scripted.seen}
    assert asked == {0, 2, 10}
    assert sum(shots(messages) == 2 for messages, _ in scripted.seen) == 5


def test_ids_change_with_a_question_and_with_a_private_example(tmp_path):
    path, moved = tmp_path / "own.csv", tmp_path / "moved.csv"
    lines = ["text,label", *(f"text {i},{'ab'[i % 2]}" for i in range(60))]
    path.write_text("\n".join(lines), encoding="utf-8")
    moved.write_bytes(path.read_bytes())
    first = utility_questions(audit_config({"source": str(path)}), "test")
    assert utility_questions(audit_config({"source": str(moved)}), "test").id == first.id
    asked, private = first.questions[0].text, first.questions[0].exemplars[0].text
    ids = {first.id}
    for text in (asked, private):
        edited = [line.replace(f"{text},", f"{text} edited,") for line in lines]
        path.write_text("\n".join(edited), encoding="utf-8")
        ids.add(utility_questions(audit_config({"source": str(path)}), "test").id)
    assert len(ids) == 3


# A retry takes over answers by id: those over the old file once stood among those over the new one.
def test_a_retry_after_the_file_was_edited_asks_everything_anew(monkeypatch, tmp_path):
    path = tmp_path / "own.csv"

    def write(word):
        rows_of = [f"{word} text {i},{'ab'[i % 2]}" for i in range(20)]
        path.write_text("text,label\n" + "\n".join(rows_of), encoding="utf-8")

    calls = 0
    answer = baselines.Simulated.generate

    async def breaks_down(*arguments, **named):
        nonlocal calls
        calls += 1
        if calls > 15:  # six a question
            raise RuntimeError("the connection was lost")
        return await answer(*arguments, **named)

    write("former")
    monkeypatch.setattr(baselines.Simulated, "generate", breaks_down)
    task = contextleak_utility(source=str(path), n_exemplars=4, ensemble=2, epsilon="inf")
    here = {"log_dir": str(tmp_path), "display": "log"}
    [broken] = eval(task, model="contextleak/simulated", max_samples=1, **here)
    assert sum(sample.error is None for sample in broken.samples) == 2
    monkeypatch.setattr(baselines.Simulated, "generate", answer)
    write("later")
    [again] = eval_retry(broken, **here)
    again = read_eval_log(again.location)
    assert len(again.samples) == 6
    assert "former" not in " ".join(sample.model_dump_json() for sample in again.samples)
