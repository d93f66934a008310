"""Fields of a log → what others may see of them, by the allow-list in data/share_fields.yaml."""

import hashlib
import hmac
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Literal, cast

import yaml

from contextleak_inspect.share_private import Private
from contextleak_inspect.share_scan import is_machine_id, is_name, is_version
from contextleak_inspect.share_words import ALLOWED, knows
from contextleak_inspect.votes import read_label

# A rule is a kind of field, by its name in the allow-list, or rules for the fields below.
Rule = str | Mapping[str, "Rule"]
Fate = Literal["kept", "replaced", "removed"]
_FILE_TYPES = frozenset({".csv", ".jsonl", ".yaml", ".yml"})  # settings are checked for these
_HASH = re.compile(r"[0-9a-f]{7,64}")
_ATTACHMENT = re.compile(r"attachment://([0-9a-f]{32})")
_NUMBERED = re.compile(r"-?\d+$")  # how Inspect tells scorers of one name apart


@cache
def allowed(section: str) -> Rule:
    """Rules for "header", "contextleak_sample" or "dprivbench_sample"."""
    return cast(Rule, yaml.safe_load(ALLOWED.read_text(encoding="utf-8"))[section])


@dataclass
class Redactor:
    """Keeps what is allowed of one log and replaces or removes the rest.

    Attributes:
        salt: Secret of one share, forgotten afterwards: the same text gets the same placeholder,
            and nobody can try texts until one fits.
        private: Names that public texts must not hold.
        public_texts: Whether the log is about public questions.
        public_data: Whether the data behind it are public, and their hash with them.
        labels: Labels of the sample at hand, which also stand within texts of our scorers.
        attachments: Texts of the sample at hand that stand elsewhere in it.
        fates: What became of the fields, by their path.
    """

    salt: bytes
    private: Private
    public_texts: bool
    public_data: bool
    labels: tuple[str, ...] = ()
    attachments: Mapping[str, str] = field(default_factory=dict)
    fates: Counter[tuple[str, Fate]] = field(default_factory=Counter)

    def placeholder(self, text: str) -> str:
        """What stands for a text; the ending of a file's name stays, as settings are checked."""
        digest = hmac.new(self.salt, text.encode(), hashlib.sha256).hexdigest()[:12]
        suffix = PurePosixPath(text).suffix if len(text) < 4096 else ""
        return f"private-{digest}{suffix if suffix in _FILE_TYPES else ''}"

    def redact(self, value: Any, rule: Rule, path: str) -> Any:
        """What is left of a value, of the same shape."""
        if isinstance(value, list) and rule not in ("text", "asked"):
            return [self.redact(below, rule, path) for below in value]
        if isinstance(value, str) and (attached := _ATTACHMENT.fullmatch(value)):
            value = self.attachments.get(attached.group(1), "")
        if not isinstance(rule, str):
            return self._below(value, rule, path)
        if rule == "keep" or (rule != "text" and not isinstance(value, str | dict)):
            self.fates[path, "kept"] += 1
            return value
        if isinstance(value, dict) and rule == "ranked":
            self.fates[path, "replaced"] += 1
            return _ranked(value)
        if isinstance(value, dict) and rule != "text":
            return self._below(value, {"*": rule}, path)
        if value is None or value == "":
            return value
        text = value if isinstance(value, str) else json.dumps(value)
        left = self._text(text, rule)
        self.fates[path, "kept" if left == text else "replaced"] += 1
        return left

    def _below(self, value: Any, rules: Mapping[str, Rule], path: str) -> Any:
        if isinstance(value, str) and "json" in rules:
            try:
                inner = json.loads(value)
            except ValueError:  # cut short, as in summaries of Inspect
                return self.redact(value, "text", path)
            return json.dumps(self.redact(inner, rules["json"], path))
        if not isinstance(value, dict):
            return self.redact(value, rules.get(".", "words"), path)
        left = {}
        for key, below in value.items():
            rule, name = _rule_for(key, rules)
            if rule is None:
                self.fates[f"{path}.{key}", "removed"] += 1
                continue
            left_key = self._key(key, rule, path) if name == "*" else key
            left[left_key] = self.redact(below, rule, f"{path}.{name}")
        return left

    def _key(self, key: str, rule: Rule, path: str) -> str:
        if knows(key) or ("/" in key and is_name(key)):
            return key
        left = self._text(key, rule if isinstance(rule, str) else "words")
        if left != key:
            self.fates[f"{path}.*, its name", "replaced"] += 1
        return left

    def _text(self, text: str, rule: str) -> str:
        if rule == "label" and self.labels:
            index = read_label(text, self.labels)
            text = text if index is None else self.labels[index]
        if rule == "text":
            return self.placeholder(text)
        clean = self.private.found(text) is None
        if clean and (
            (rule == "name" and is_name(text))
            or (rule == "version" and is_version(text))
            or (rule == "id" and is_machine_id(text))
            or (rule == "hash" and self.public_data and _HASH.fullmatch(text) is not None)
        ):
            return text
        if self.public_texts and rule in {"public", "asked", "id"}:
            for part in self.private.spans(text):
                text = text.replace(part, self.placeholder(part))
            return text
        if rule == "asked":
            return self.placeholder(text)
        left = self._without_labels(text)
        known = knows(left) and self.private.found(left) is None
        return left if known else self.placeholder(text)

    def _without_labels(self, text: str) -> str:
        for label in sorted(self.labels, key=len, reverse=True):
            if knows(label):
                continue
            within = rf"(?<!\w){re.escape(label)}(?!\w)"
            text = re.sub(within, self.placeholder(label), text)
        return text


def _rule_for(key: str, rules: Mapping[str, Rule]) -> tuple[Rule | None, str]:
    for name in (key, _NUMBERED.sub("", key.rsplit("/", 1)[-1])):
        if name in rules and name not in {".", "json", "*"}:
            return rules[name], name
    return rules.get("*"), "*"


def _ranked(record: dict[str, Any]) -> dict[str, Any]:
    """A keyword record whose words are their ranks: mechanisms compare words and nothing else."""
    counts: dict[str, dict[str, int]] = record["counts"]
    lists = {name: record[name] for name in ("vocabulary", "canary")}
    words = sorted({
        *(w for c in counts.values() for w in c),
        *(w for listed in lists.values() for w in listed),
    })
    rank = {word: f"word{number:05d}" for number, word in enumerate(words)}
    return {
        "counts": {world: {rank[w]: n for w, n in c.items()} for world, c in counts.items()},
        **{name: [rank[word] for word in listed] for name, listed in lists.items()},
    }
