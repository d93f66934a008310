"""Private data: exemplars from our own set, the Hub or a user's file, and their disjoint shards."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from contextleak_inspect.config import AuditConfig
from contextleak_inspect.record_files import read_records

DATA = Path(__file__).parent / "data"
# Per task: our file, and its columns of texts and of labels or target texts.
BUNDLED = {
    "classification": (DATA / "subjectivity.jsonl", "text", "label"),
    "generation": (DATA / "dialogues.jsonl", "dialogue", "summary"),
}
T = TypeVar("T")


class Exemplar(NamedTuple):
    """One private example: a text, and its label or (in generation) its target text."""

    text: str
    answer: str


class PrivateData(NamedTuple):
    """The private pool that exemplars are drawn from, and where it came from."""

    name: str
    pool: tuple[Exemplar, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels in alphabetical order."""
        return tuple(sorted({exemplar.answer for exemplar in self.pool}))

    @property
    def sha256(self) -> str:
        """Changes with any text, answer or their order."""
        return hashlib.sha256(json.dumps(self.pool).encode()).hexdigest()


class HubPreset(NamedTuple):
    """A Hub data set whose columns are known; `label_names` turns stored numbers into labels.

    Read from public descriptions; none was fetched when this was written.
    """

    repo: str
    revision: str
    splits: Mapping[str, str]
    text_column: str
    label_column: str
    label_names: Mapping[str, str] | None = None
    drop_empty: bool = False


# Pang & Lee 2004, CC BY 4.0.
SUBJECTIVITY = HubPreset(
    repo="SetFit/subj",
    revision="main",
    splits={"train": "train", "test": "test"},
    text_column="text",
    label_column="label",
    label_names={"0": "objective", "1": "subjective"},
)
# Gliwa et al. 2019, CC BY-NC-ND 4.0. One of its dialogues is reported to be empty.
SAMSUM = HubPreset(
    repo="knkarthick/samsum",
    revision="main",
    splits={"train": "train", "validation": "validation", "test": "test"},
    text_column="dialogue",
    label_column="summary",
    drop_empty=True,
)
HUB_PRESETS = {"subjectivity": SUBJECTIVITY, "samsum": SAMSUM}


def read_private_data(config: AuditConfig, part: str = "train") -> PrivateData:
    """Exemplars that the audit may draw from.

    Args:
        config: Names source, columns and how many exemplars a context holds.
        part: "train" (the private pool), "validation" or "test". A user's file is a pool as a
            whole; `split` names the pool of a Hub data set.

    Raises:
        ValueError: The source lacks the part, a column or a value (with file and line), holds too
            few exemplars, or in classification fewer than two labels.
    """
    if config.source == "bundled":
        path, *columns = BUNDLED[config.task]
        records = (r for r in read_records(path, ("split", *columns)) if r["split"] == part)
        pool = tuple(Exemplar(r[columns[0]], r[columns[1]]) for r in records)
        name = f"bundled {path.name}"
    elif config.source in HUB_PRESETS:
        preset = HUB_PRESETS[config.source]
        if part not in preset.splits:
            raise ValueError(f"{preset.repo} has no part {part!r}; it has {sorted(preset.splits)}")
        revision = config.revision or preset.revision
        pool = read_hub(
            preset.repo,
            revision,
            preset.splits[part],
            (preset.text_column, preset.label_column),
            preset.label_names,
            preset.drop_empty,
        )
        name = f"{preset.repo}@{revision}"
    else:
        text_column, label_column = config.text_column or "text", config.label_column or "label"
        if config.source == "hub":
            repo, revision = config.repo or "", config.revision or "main"
            split = (config.split or part) if part == "train" else part
            pool = read_hub(repo, revision, split, (text_column, label_column))
            name = f"{repo}@{revision}"
        else:
            path = Path(config.source)
            pool = tuple(
                Exemplar(r[text_column], r[label_column])
                for r in read_records(path, (text_column, label_column))
            )
            name = path.name
    return _usable(PrivateData(name, pool), config)


def _usable(data: PrivateData, config: AuditConfig) -> PrivateData:
    if len(data.pool) < config.n_exemplars:
        raise ValueError(
            f"{data.name} holds {len(data.pool)} exemplars, a context needs {config.n_exemplars}; "
            "lower n_exemplars or bring more data"
        )
    texts = Counter(exemplar.text for exemplar in data.pool)
    text, times = texts.most_common(1)[0]
    if times > 1:
        raise ValueError(f"{data.name} holds {text!r:.80} {times} times; remove repetitions")
    if config.task == "classification" and len(data.labels) < 2:
        raise ValueError(f"{data.name} has the labels {data.labels}; an audit needs two or more")
    return data


def read_hub(
    repo: str,
    revision: str,
    split: str,
    columns: tuple[str, str],
    label_names: Mapping[str, str] | None = None,
    drop_empty: bool = False,
) -> tuple[Exemplar, ...]:
    """Exemplars of a Hub data set, with texts repeated in it kept once.

    Labels stored as numbers get the names of the data set's own features, or `label_names`.

    Raises:
        ValueError: A column is missing, or a value in it empty and not to be dropped.
    """
    import datasets  # heavy, and needed only here

    table = datasets.load_dataset(repo, revision=revision, split=split)
    label_column = columns[1]
    if missing := [c for c in columns if c not in table.column_names]:
        raise ValueError(f"{repo}@{revision} has no column {missing}; it has {table.column_names}")
    names = getattr(table.features[label_column], "names", None)
    found: dict[str, Exemplar] = {}
    for row, record in enumerate(table):
        text, answer = (str(record[c]).strip() if record[c] is not None else "" for c in columns)
        if drop_empty and not (text and answer):
            continue
        if not text or not answer:
            raise ValueError(f"{repo}@{revision}, {split} row {row}: empty {columns}")
        if label_names is not None:
            answer = _name_of(answer, label_names, f"{repo}@{revision}, {split} row {row}")
        elif names is not None:
            answer = names[int(record[label_column])]
        found.setdefault(text, Exemplar(text, answer))
    return tuple(found.values())


def _name_of(label: str, names: Mapping[str, str], where: str) -> str:
    if label in names:
        return names[label]
    if label in names.values():
        return label
    raise ValueError(f"{where}: label {label!r} is none of {dict(names)}")


def deal(cards: Sequence[T], shards: int) -> tuple[tuple[T, ...], ...]:
    """Disjoint shards of equal size, in order.

    >>> deal("abcdef", 3)
    (('a', 'b'), ('c', 'd'), ('e', 'f'))
    """
    size, rest = divmod(len(cards), shards)
    if rest:
        raise ValueError(f"{len(cards)} exemplars cannot be dealt evenly into {shards} shards")
    return tuple(tuple(cards[i : i + size]) for i in range(0, len(cards), size))


def texts_that_hold(words: str, exemplars: Iterable[Exemplar]) -> int:
    """In how many exemplars the words stand (text or answer), case and spacing aside."""
    wanted = _plain(words)
    return sum(wanted in _plain(f"{e.text}\n{e.answer}") for e in exemplars)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
