"""Every source gives the same kind of samples, and what gives the answer away stays out of them."""

import json
import logging
import types
from pathlib import Path
from typing import Any

import datasets
import huggingface_hub
import pytest
from huggingface_hub.errors import RevisionNotFoundError

from dprivbench_inspect.dataset import (
    keep,
    load_questions,
    provenance,
    question_dataset,
    question_to_sample,
)
from dprivbench_inspect.questions import TOPICS, Question, questions_hash
from dprivbench_inspect.release import HUB_DATASET

from .test_release import category_2_record, write_release


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Any, ...]]:
    """The Hub, answered by files of the release's shape; returns the requests made."""
    folder = write_release(tmp_path / "release")
    requests: list[tuple[Any, ...]] = []

    def dataset_info(self: object, repo: str, revision: str | None = None) -> types.SimpleNamespace:
        requests.append((repo, revision))
        return types.SimpleNamespace(sha="48f86ab")

    def load_dataset(repo: str, config: str, *, split: str, revision: str) -> datasets.Dataset:
        requests.append((repo, config, split, revision))
        category = "category_2" if config == "cate_2" else "category_1"
        records = json.loads((folder / category / f"{config}.json").read_text(encoding="utf-8"))
        return datasets.Dataset.from_list(records)

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", dataset_info)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return requests


def test_the_bundle_has_588_and_every_topic_in_it_is_known() -> None:
    first, second = load_questions(1), load_questions(2)
    assert len(first.questions) == 588
    assert {q.topic for q in second.questions} <= set(TOPICS)
    assert first.revision is None
    assert first.differences == []


def test_the_graded_variant_asks_other_questions_with_the_same_ids() -> None:
    pairs, graded = load_questions(1).questions, load_questions(1, variant="graded").questions
    assert [q.id for q in pairs] == [q.id for q in graded]
    assert [q.label for q in pairs] == [q.label for q in graded]
    assert questions_hash(pairs) != questions_hash(graded)


def test_the_hub_is_read_at_one_commit_whatever_the_revision_is_called(
    hub: list[tuple[Any, ...]], caplog: pytest.LogCaptureFixture
) -> None:
    loaded = load_questions(1, "hub", revision="main")
    assert (len(loaded.questions), loaded.revision, loaded.differences) == (588, "48f86ab", [])
    assert hub[0] == (HUB_DATASET, "main")
    assert {request[2:] for request in hub[1:]} == {("test", "48f86ab")}
    assert len(load_questions(2, "hub").questions) == 125
    assert len(hub) == 1 + 6 + 1 + 1
    assert not caplog.records


def test_a_folder_that_differs_from_the_release_is_read_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_release(tmp_path)
    file = folder / "category_2" / "cate_2.json"
    records = json.loads(file.read_text(encoding="utf-8"))[1:]
    file.write_text(json.dumps(records), encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        loaded = load_questions(2, str(folder))
    expected = "topic accounting: 4 questions with label yes, the release has 5"
    assert loaded.differences == [expected]
    assert expected in caplog.text
    assert provenance(loaded, loaded.questions)["differences_from_release"] == [expected]


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".yaml"])
def test_a_file_in_our_form_gives_the_bundled_samples_again(tmp_path: Path, suffix: str) -> None:
    questions = load_questions(1).questions[:4]
    records = [q.model_dump(exclude_none=True) for q in questions]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    file = tmp_path / f"mine{suffix}"  # JSON is YAML
    file.write_text(lines if suffix == ".jsonl" else json.dumps(records), encoding="utf-8")
    loaded = load_questions(1, str(file))
    assert loaded.questions == questions
    assert provenance(loaded, questions) == {
        "source": str(file),
        "revision": None,
        "n_questions": 4,
        "questions_hash": questions_hash(questions),
    }
    with pytest.raises(ValueError, match="holds no question of category 2"):
        load_questions(2, str(file))


def test_a_broken_record_is_refused_with_file_and_number(tmp_path: Path) -> None:
    file = tmp_path / "cate_2.json"
    records = [category_2_record(1), category_2_record(2, label="maybe")]
    file.write_text(json.dumps(records), encoding="utf-8")
    with pytest.raises(ValueError, match=r"cate_2\.json, record 2: label: .*'maybe'"):
        load_questions(2, str(file))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"source": "hup"}, FileNotFoundError, "'hup' is neither bundled, hub nor a path"),
        ({"revision": "main"}, ValueError, "revision 'main' belongs to source=hub"),
        ({"source": "hub", "variant": "graded"}, ValueError, "belongs to source=bundled"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        load_questions(1, **arguments)


def test_unknown_values_are_refused_with_those_that_are_there() -> None:
    questions = load_questions(1).questions
    assert len(keep(questions, mechanisms=["laplace", "permute_flip"])) == 196
    assert len(keep(questions, mechanisms=["laplace"], functions=[1, 2])) == 4
    assert keep(questions, functions=None) == questions
    with pytest.raises(ValueError, match=r"mechanisms \['lapalce'\] .*choose from \['expo_mech'"):
        keep(questions, mechanisms=["laplace", "lapalce"])
    with pytest.raises(ValueError, match=r"functions \[50\] .*choose from \[1, 2, 3"):
        keep(questions, functions=[50])
    with pytest.raises(ValueError, match="functions is an empty list; choose from"):
        keep(questions, functions=[])


def test_values_that_are_there_but_never_together_are_refused_as_such() -> None:
    questions = load_questions(2).questions
    with pytest.raises(ValueError, match=r"no question has topics \['svt'\] together with subj"):
        keep(questions, topics=["svt"], subjects=["DP-ML"])
    # A value that would add nothing is told too, not dropped.
    with pytest.raises(ValueError, match=r"no question has topics \['svt'\] together with subj"):
        keep(questions, topics=["svt", "pate"], subjects=["DP-ML"])
    kept = keep(questions, topics=["pate"], subjects=["DP-ML"])
    assert {q.topic for q in kept} == {"pate"}


def test_questions_of_the_other_category_in_a_file_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    both = load_questions(1).questions[:3] + load_questions(2).questions[:2]
    file = tmp_path / "both.json"
    file.write_text(json.dumps([q.model_dump(exclude_none=True) for q in both]), encoding="utf-8")
    assert load_questions(1, str(file)).questions == both[:3]
    assert "2 questions of category 2 are not asked here, the 3 of category 1 are" in caplog.text
    assert load_questions(2, str(file)).questions == both[3:]
    assert "3 questions of category 1 are not asked here, the 2 of category 2 are" in caplog.text


RESPONSE: Any = types.SimpleNamespace(headers={}, request=None)


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (OSError("no\nroute"), r"could not be reached for .* \(OSError: no route\)"),
        (TimeoutError(), r"could not be reached for .* \(TimeoutError: TimeoutError\(\)\)"),
        (
            RevisionNotFoundError("404", response=RESPONSE),
            r"the Hub refused .* \(RevisionNotFoundError: 404\)",
        ),
    ],
    ids=["offline", "silent", "refused"],
)
def test_a_hub_that_does_not_answer_is_one_line(
    failure: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dataset_info(*given: object, **options: object) -> None:
        raise failure

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", dataset_info)
    with pytest.raises(ConnectionError, match=message) as caught:
        load_questions(2, "hub", "v1")
    text = str(caught.value)
    assert f"{HUB_DATASET} at revision v1" in text
    assert "use source=bundled" in text
    assert "\n" not in text


def test_a_sample_asks_the_text_alone() -> None:
    question = Question(
        id="svt-01",
        category=2,
        question="Is $\\frac{1}{2}$ enough?",
        label="no",
        topic="svt",
        subject="Accounting and Composition",
        release={"comments": "It is not.", "negative_mode": "atom"},
    )
    sample = question_to_sample(question)
    assert (sample.id, sample.input, sample.target) == ("svt-01", question.question, "no")
    assert (sample.metadata or {})["release"]["comments"] == "It is not."
    assert "label" not in (sample.metadata or {})
    assert [s.id for s in question_dataset([question], "svt")] == ["svt-01"]
