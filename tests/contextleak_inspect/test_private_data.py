import json
import re
from collections import Counter

import datasets
import pytest

from contextleak_inspect.config import audit_config
from contextleak_inspect.private_data import DATA, SUBJECTIVITY, deal, read_private_data


def test_bundled_set_is_large_enough_balanced_and_without_repetition():
    everything = []
    for part, least in (("train", 60), ("validation", 40), ("test", 60)):
        pool = read_private_data(audit_config({}), part).pool
        counts = Counter(exemplar.answer for exemplar in pool)
        assert len(pool) >= least
        assert counts["objective"] == counts["subjective"]
        everything += [exemplar.text for exemplar in pool]
    assert len(set(everything)) == len(everything)


def test_bundled_dialogues_are_short_varied_and_summarised_in_a_sentence_or_two():
    config = audit_config({"task": "generation", "defense": "esa"})
    speakers = []
    texts = []
    for part, least in (("train", 60), ("validation", 40), ("test", 60)):
        pool = read_private_data(config, part).pool
        assert len(pool) >= least
        for dialogue, summary in pool:
            turns = [line.split(": ", 1) for line in dialogue.split("\n")]
            assert all(len(turn) == 2 for turn in turns)
            assert 2 <= len(turns) <= 6
            assert 1 <= len(re.findall(r"[.?!](?= |$)", summary)) <= 2
            assert 5 <= len(summary.split()) <= 30
            speakers += {name for name, _ in turns}
            texts.append(dialogue)
    assert len(set(texts)) == len(texts)
    assert Counter(speakers).most_common(1)[0][1] <= 3  # no name runs through the set


@pytest.mark.parametrize(
    "name",
    ["subjectivity.jsonl", "dialogues.jsonl", "canary_words.yaml", "queries.yaml", "defenses.yaml"],
)
def test_bundled_files_say_that_they_are_not_for_training(name):
    assert "do-not-train canary 3b0f9a54" in (DATA / name).read_text(encoding="utf-8")


def write_csv(path, rows):
    path.write_text("\n".join(["body,kind", *rows]), encoding="utf-8")
    return audit_config({
        "source": str(path),
        "text_column": "body",
        "label_column": "kind",
        "n_exemplars": 2,
        "ensemble": 2,
    })


def test_csv_with_named_columns_quotes_and_line_breaks(tmp_path):
    config = write_csv(tmp_path / "a.csv", ['"one, two\nthree",x', "four,y"])
    data = read_private_data(config)
    assert data.pool == (("one, two\nthree", "x"), ("four", "y"))
    assert data.labels == ("x", "y")


def test_jsonl_skips_notices_and_turns_numbers_into_texts(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"do_not_train": "x"}, {"text": "one", "label": 0}, {"text": "two", "label": 1}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    config = audit_config({"source": str(path), "n_exemplars": 2, "ensemble": 1})
    assert read_private_data(config).pool == (("one", "0"), ("two", "1"))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["one,x", ",y"], r"a\.csv, line 3: 'body' is empty"),
        (["one"], r"a\.csv, line 2: 1 values for 2 columns .*quote texts"),
        (["one, two,x"], r"a\.csv, line 2: 3 values for 2 columns .*quote texts"),
        (["one,x"], "holds 1 exemplars, a context needs 2"),
        (["one,x", "one,y"], "'one' 2 times"),
        (["one,x", "two,x"], r"labels \('x',\); an audit needs two"),
    ],
)
def test_broken_rows_are_named_by_file_and_line(tmp_path, rows, says):
    with pytest.raises(ValueError, match=says):
        read_private_data(write_csv(tmp_path / "a.csv", rows))


def test_missing_file_column_and_broken_json(tmp_path):
    path = tmp_path / "a.jsonl"
    config = audit_config({"source": str(path)})
    with pytest.raises(ValueError, match="no such file"):
        read_private_data(config)
    path.write_text('{"text": "one"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 1: no column 'label'; it has \['text'\]"):
        read_private_data(config)
    path.write_text('{"text": "one", "label": "x"}\n{"text"', encoding="utf-8")
    with pytest.raises(ValueError, match="line 2: "):
        read_private_data(config)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (
            "a.csv",
            "text,label\nhafén,x\n".encode("latin-1"),
            r"a\.csv is no UTF-8 text \(byte 0xe9",
        ),
        ("a.csv", "text,label\none,x\n".encode("utf-16"), "save it as UTF-8"),
        ("a.csv", b"text,text,label\none,two,x\n", r"\['text'\] stand twice"),
        ("a.csv", b"text;label\none;x\n", r"it has \['text;label'\]"),
        ("a.csv", b'text,label\n"' + b"z " * 70_000 + b'",x\n', "line 2: field larger"),
        ("a.jsonl", b'{"text": null, "label": "x"}', "line 1: 'text' is empty"),
        (
            "a.jsonl",
            b'{"text": ["one"], "label": "x"}',
            r"line 1: 'text' is \['one'\]; give a text",
        ),
        ("a.jsonl", b'[{"text": "one"}]', "line 1: expected an object"),
        ("a.jsonl", b'\n{"text": ' + b"[" * 100_000, "line 2: "),
        ("a.jsonl", b'{"text": ' + b"9" * 5000 + b', "label": "x"}', "line 1: "),
        ("a.jsonl", b'{"text": "one\\ud800", "label": "x"}', "half a surrogate pair"),
        ("a.csv", b"", "holds 0 exemplars"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else str(value)[:20],
)
def test_what_is_no_clean_file_is_refused_by_name(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        read_private_data(audit_config({"source": str(path)}))


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("\n", "\r"), ("", ""), ("\n", "\n\n")])
def test_line_ends_byte_order_marks_and_blank_lines_change_nothing(tmp_path, change):
    path, text = tmp_path / "a.csv", 'text,label\n"one, two",x\nfour,y\n'.replace(*change)
    config = audit_config({"source": str(path), "n_exemplars": 2, "ensemble": 1})
    for start in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(start + text.encode())
        assert read_private_data(config).pool == (("one, two", "x"), ("four", "y"))


@pytest.fixture
def hub(monkeypatch):
    """The Hub cannot be reached in tests: a table of the same shape, and what was asked for."""
    asked = []

    def load_dataset(repo, *, revision, split):
        asked.append((repo, revision, split))
        rows = {
            "text": [f"sentence {i} ." for i in range(30)] + ["sentence 0 ."],
            "label": [i % 2 for i in range(30)] + [0],
            "label_text": [("objective", "subjective")[i % 2] for i in range(30)] + ["objective"],
        }
        return datasets.Dataset.from_dict(rows)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return asked


def test_subjectivity_preset_names_its_labels(hub):
    data = read_private_data(audit_config({"source": "subjectivity"}))
    assert data.pool[:2] == (("sentence 0 .", "objective"), ("sentence 1 .", "subjective"))
    assert len(data.pool) == 30  # the text that stands twice is kept once
    assert hub == [(SUBJECTIVITY.repo, "main", "train")]
    with pytest.raises(ValueError, match=r"no part 'validation'; it has \['test', 'train'\]"):
        read_private_data(audit_config({"source": "subjectivity"}), "validation")


def test_samsum_preset_reads_dialogues_and_summaries(monkeypatch):
    asked = []

    def load_dataset(repo, *, revision, split):
        asked.append((repo, revision, split))
        rows = range(25)
        return datasets.Dataset.from_dict({
            "id": [str(i) for i in rows],
            "dialogue": [f"A: {i}?\r\nB: Yes." if i != 7 else None for i in rows],
            "summary": [f"It is {i}." for i in rows],
        })

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    config = audit_config({"source": "samsum", "task": "generation", "defense": "esa"})
    pool = read_private_data(config, "validation").pool
    assert pool[3] == ("A: 3?\r\nB: Yes.", "It is 3.")
    assert len(pool) == 24  # the empty dialogue is left out
    assert asked == [("knkarthick/samsum", "main", "validation")]


# PFL-DocVQA: the text read from an invoice with a question, and the short answer.
def test_document_questions_come_as_a_users_file(tmp_path):
    path = tmp_path / "invoices.jsonl"
    rows = [
        {"document": f"Provider {i} total {i}.50\nQ: What is the total?", "answer": f"{i}.50"}
        for i in range(20)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    config = audit_config({
        "task": "generation",
        "defense": "esa",
        "source": str(path),
        "text_column": "document",
        "label_column": "answer",
    })
    assert read_private_data(config).pool[4].answer == "4.50"


def test_any_hub_set_by_repo_revision_split_and_columns(hub):
    fields = {
        "source": "hub",
        "repo": "a/b",
        "revision": "abc",
        "split": "dev",
        "text_column": "text",
        "label_column": "label_text",
    }
    data = read_private_data(audit_config(fields))
    assert data.labels == ("objective", "subjective")
    assert hub == [("a/b", "abc", "dev")]
    with pytest.raises(
        ValueError, match=r"no column \['x'\]; it has \['text', 'label', 'label_text'\]"
    ):
        read_private_data(audit_config(fields | {"text_column": "x"}))


def test_class_label_features_give_names(monkeypatch):
    features = datasets.Features({
        "t": datasets.Value("string"),
        "y": datasets.ClassLabel(names=["plain", "sarcastic"]),
    })
    table = datasets.Dataset.from_dict(
        {"t": [f"reply {i}" for i in range(20)], "y": [i % 2 for i in range(20)]}, features=features
    )
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: table)
    fields = {"source": "hub", "repo": "a/b", "text_column": "t", "label_column": "y"}
    assert read_private_data(audit_config(fields)).labels == ("plain", "sarcastic")


def test_shards_are_disjoint_and_complete():
    shards = deal(range(20), 10)
    assert [len(shard) for shard in shards] == [2] * 10
    assert [card for shard in shards for card in shard] == list(range(20))
    with pytest.raises(ValueError, match="20 exemplars cannot be dealt evenly into 3"):
        deal(range(20), 3)
