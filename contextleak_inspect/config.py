"""AuditConfig: everything that fixes one audit, validated once."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import regex
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

TaskKind = Literal["classification", "generation"]
CanaryKind = Literal["hex", "unigram", "false_fact", "ngram", "structured"]
Defense = Literal[
    "none",
    "zero_shot",
    "faux_secrets",
    "keywords",
    "llm_judge",
    "output_filter",
    "rnm",
    "label_rr",
    "esa",
    "ksa",
]
World = Literal["in", "out"]  # the canary is in the context, or it is not
Part = Literal["calibration", "evaluation"]
# Release labels or texts through calibrated noise; the others claim no ε.
PRIVATE_DEFENSES: frozenset[str] = frozenset({"rnm", "label_rr", "esa", "ksa"})
GAUSSIAN_DEFENSES: frozenset[str] = frozenset({"rnm", "esa"})
LABEL_DEFENSES: frozenset[str] = frozenset({"rnm", "label_rr"})
TEXT_DEFENSES: frozenset[str] = frozenset({"esa", "ksa"})
# The released text is the model's own reply, word for word.
UNTOUCHED_DEFENSES: frozenset[str] = frozenset({"none", "zero_shot", "faux_secrets", "keywords"})
DEFAULT_EPSILON = (1.0, 2.0, 4.0, 8.0, math.inf)
UNPARSED = -1  # the vote of a shard whose reply is no option
DATA_SUFFIXES = (".csv", ".jsonl")
# Hub data sets whose columns are known, and what they hold.
PRESETS: dict[str, TaskKind] = {"subjectivity": "classification", "samsum": "generation"}
EMBEDDING = "openai/text-embedding-3-small"
# What only the scorer reads: changing it asks the model nothing new.
SCORING_FIELDS = frozenset({
    "epsilon",
    "delta",
    "neighbouring",
    "noise_calibration",
    "keyword_mechanism",
    "n_keywords",
    "threshold",
    "target_fpr",
    "fixed_fpr",
    "confidence",
    "bound",
    "stop_at",
})

_LARGEST_EPSILON = 1e6  # beyond it σ drowns in rounding
_SMALLEST_EPSILON, _SMALLEST_DELTA = 1e-9, 1e-300  # below them no σ can be computed
_PATTERN_SECONDS = 1.0  # on an empty reply; one that calls itself would fill the memory
_LARGEST_SEED = 2**53 - 1  # what every reader of JSON gives back to the last digit


class AuditConfig(BaseModel):
    """One audit: which data, canary, query and defense, how many trials, and how to score them.

    The defaults shown are those of `rnm`. Where a field is left out or None, other defenses get
    their own: one shard and no ε for heuristics, δ = 0 for `label_rr`, 20 trials in frozen mode.
    Source: arXiv:2512.16059.

    >>> AuditConfig(epsilon="1,.inf").epsilon
    (1.0, inf)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    task: TaskKind = "classification"
    # Private data
    source: str = Field(
        default="bundled", description="bundled, subjectivity, samsum, hub, or a path"
    )
    repo: str | None = Field(default=None, description="Hub data set, owner/name")
    revision: str | None = None
    split: str | None = None
    text_column: str | None = None
    label_column: str | None = None
    n_exemplars: int = Field(default=20, ge=1, le=10_000)
    ensemble: int = Field(default=10, ge=1, description="number of shards, m")
    # Attack
    canary: CanaryKind = "hex"
    canary_label: str | None = Field(default=None, description="y_c; None takes the rarest label")
    query: str = Field(default="if_then_explicit", description="a name, or a query file (.yaml)")
    placement: Literal["random", "first", "last"] = "random"
    vote_balance: Literal["natural", "tied"] = "natural"
    membership: Literal["match", "logprob"] = "match"
    # Defense
    defense: Defense = "rnm"
    guard_sees_exemplars: bool = False
    filter_match: Literal["exact", "fuzzy", "regex"] | None = None
    filter_similarity: float = Field(default=0.8, gt=0, le=1)
    filter_pattern: str | None = None
    embedding: str = Field(default=EMBEDDING, description="embedding model of esa")
    candidates: int = Field(default=10, ge=1, le=1000, description="zero-shot texts of esa and ksa")
    reference_pairs: int = Field(
        default=8, ge=1, le=1000, description="calls for esa's direction, by two"
    )
    keyword_mechanism: Literal["joint", "ptr"] = "joint"
    n_keywords: int = Field(
        default=10, ge=1, le=1000, description="words that ksa releases, at most"
    )
    epsilon: tuple[float, ...] = DEFAULT_EPSILON
    delta: float = Field(default=1e-5, ge=0, lt=1)
    neighbouring: Literal["replace_one", "add_remove"] = Field(
        default="replace_one", description="the relation that the noise is calibrated for"
    )
    noise_calibration: Literal["analytic", "classical"] = "analytic"
    # Trials
    trials: int = Field(default=100, ge=1, le=1_000_000)
    seed: int = Field(default=0, ge=0, le=_LARGEST_SEED)
    temperature: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)
    system_turn: bool = Field(default=True, description="exemplars in a system turn of their own")
    calls: Literal["naive", "paired", "frozen"] = "naive"
    balanced: bool = False
    null_controls: int = Field(default=10, ge=0, description="trials that ask one prompt twice")
    calibration_share: float = Field(default=0.3, gt=0, lt=1)
    context_window: int | None = Field(default=None, ge=1, description="tokens")
    # Scoring
    threshold: Literal["fixed", "fixed_rank", "holdout", "grid", "dkw"] = "fixed_rank"
    target_fpr: float = Field(default=0.1, gt=0, lt=1)
    fixed_fpr: float | None = Field(
        default=None, gt=0, lt=1, description="of the fixed threshold, by theory; None is half-way"
    )
    confidence: float = Field(default=0.95, ge=0.5, lt=1)
    bound: Literal["clopper_pearson", "e_process"] = "clopper_pearson"
    stop_at: float | None = Field(default=None, gt=0, description="stop once the bound is above")

    @property
    def shots(self) -> int:
        """Exemplars per shard."""
        return self.n_exemplars // self.ensemble

    def record(self) -> dict[str, Any]:
        """All settings as plain JSON values (ε = ∞ as a word), which `audit_config` reads back."""
        settings: dict[str, Any] = json.loads(self.model_dump_json())
        return settings

    def text(self) -> str:
        """The same on one short line; None, which stands for a default, is left out.

        Only a temperature of None, which is the provider's own, is said.
        """
        settings = {k: v for k, v in self.record().items() if v is not None or k == "temperature"}
        return json.dumps(settings, separators=(",", ":"))

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_defense(cls, fields: object) -> object:
        if not isinstance(fields, dict):
            return fields
        given = {name: value for name, value in fields.items() if value is not None}
        if fields.get("temperature", 0.0) is None:
            given["temperature"] = None  # the provider's own default
        defense = str(given.get("defense", "rnm"))  # a list of several is refused below
        private = defense in PRIVATE_DEFENSES
        one_bit = not private and given.get("membership", "match") == "match"
        paired, frozen = given.get("calls") == "paired", given.get("calls") == "frozen"
        trials = 20 if frozen else 100
        defaults: dict[str, Any] = {
            "ensemble": 10 if private and defense != "label_rr" else 1,
            "epsilon": DEFAULT_EPSILON if private else (),
            "delta": 0.0 if defense == "label_rr" else 1e-5,
            "trials": trials,
            "threshold": "fixed" if one_bit else "holdout" if paired else "fixed_rank",
            "null_controls": 0 if frozen else min(10, _whole(given.get("trials", trials), paired)),
            "bound": "clopper_pearson" if given.get("stop_at") is None else "e_process",
        }
        if defense == "output_filter":
            defaults["filter_match"] = "exact"
        return defaults | given

    @field_validator("*", mode="before")
    @classmethod
    def _something_of_its_kind(cls, value: object, info: ValidationInfo) -> object:
        """No blank text, which would pass for "left out"; no switch that passes for 0 or 1."""
        if isinstance(value, str) and not value.strip():
            raise ValueError("is empty; leave it out or give a value")
        parts = value if isinstance(value, list | tuple) else [value]
        switch = cls.model_fields[info.field_name or ""].annotation is bool
        if not switch and any(isinstance(part, bool) for part in parts):
            raise ValueError("is no switch; give a value, or leave it out")
        return value

    @field_validator("epsilon", mode="before")
    @classmethod
    def _epsilon_from_text(cls, value: object) -> object:
        """The command line sends "1,2,inf", ["1", "2", "inf"], one number, or YAML's ".inf"."""
        if isinstance(value, str):
            listed = value.strip("[] ")
            value = listed.split(",") if listed else []
        elif isinstance(value, int | float):
            value = [value]
        if isinstance(value, list | tuple):
            return tuple(
                part.strip().replace(".inf", "inf") if isinstance(part, str) else part
                for part in value
            )
        return value

    @field_validator("epsilon")
    @classmethod
    def _epsilon_is_a_guarantee(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if wrong := [e for e in value if math.isnan(e) or e < 0]:
            raise ValueError(f"{wrong} are no ε; give numbers from 0 (no private data) to inf")
        if huge := [e for e in value if _LARGEST_EPSILON < e < math.inf]:
            raise ValueError(
                f"{huge} claim next to nothing; give ε up to {_LARGEST_EPSILON:g}, or inf"
            )
        if tiny := [e for e in value if 0 < e < _SMALLEST_EPSILON]:
            raise ValueError(f"{tiny} drown all in noise; give ε from {_SMALLEST_EPSILON:g}")
        if len(set(value)) < len(value):
            raise ValueError(f"{list(value)} names an ε twice; give each once")
        return tuple(sorted(value))

    @field_validator("delta")
    @classmethod
    def _delta_can_be_computed_with(cls, value: float) -> float:
        if 0 < value < _SMALLEST_DELTA:
            raise ValueError(f"is next to nothing; give 0, or δ from {_SMALLEST_DELTA:g}")
        return value

    @field_validator("stop_at")
    @classmethod
    def _stop_is_finite(cls, value: float | None) -> float | None:
        if value is not None and not math.isfinite(value):
            raise ValueError(f"no run can show ε > {value}; give a finite ε")
        return value

    @model_validator(mode="after")
    def _fields_fit_together(self) -> Self:
        for check in (_check_source, _check_defense, _check_shards, _check_calls, _check_scoring):
            check(self)
        return self


def _whole(trials: object, paired: bool) -> int:
    """Draws of exemplars behind this many trials; 10 where it is no number, which is refused."""
    try:
        return int(str(trials)) // (2 if paired else 1)
    except ValueError:
        return 10


def _check_source(c: AuditConfig) -> None:
    hub_only = {name: getattr(c, name) for name in ("repo", "revision", "split")}
    columns = {name: getattr(c, name) for name in ("text_column", "label_column")}
    given = [name for name, value in (hub_only | columns).items() if value is not None]
    if c.source == "hub":
        missing = [name for name in ("repo", *columns) if getattr(c, name) is None]
        if missing:
            raise ValueError(f"source 'hub' needs {missing}")
    elif c.source == "bundled" or c.source in PRESETS:
        if wrong := [name for name in given if c.source == "bundled" or name != "revision"]:
            raise ValueError(f"source {c.source!r} takes no {wrong}; use source 'hub' or a path")
    elif not c.source.endswith(DATA_SUFFIXES):
        raise ValueError(
            f"source {c.source!r} is none of {['bundled', *PRESETS, 'hub']}, "
            f"or a path that ends in {' or '.join(DATA_SUFFIXES)}"
        )
    elif wrong := [name for name in given if name in hub_only]:
        raise ValueError(f"{wrong} belong to source 'hub', not to the file {c.source!r}")
    if PRESETS.get(c.source, c.task) != c.task:
        raise ValueError(
            f"source {c.source!r} is for {PRESETS[c.source]}, got task {c.task!r}; change either"
        )


_DEFENSES_OF = {
    "embedding": ("esa",),
    "reference_pairs": ("esa",),
    "candidates": ("esa", "ksa"),
    "keyword_mechanism": ("ksa",),
    "n_keywords": ("ksa",),
}


def _check_defense(c: AuditConfig) -> None:
    if c.task == "generation" and c.defense in LABEL_DEFENSES:
        raise ValueError(f"defense {c.defense!r} releases labels; use 'esa' or 'ksa' for texts")
    if c.task == "classification" and c.defense in TEXT_DEFENSES:
        raise ValueError(f"defense {c.defense!r} releases texts; use 'rnm' or 'label_rr'")
    if c.epsilon and c.defense not in PRIVATE_DEFENSES:
        raise ValueError(
            f"defense {c.defense!r} claims no ε, got epsilon {list(c.epsilon)}; leave it out, "
            f"or use one of {sorted(PRIVATE_DEFENSES)}"
        )
    if c.defense in PRIVATE_DEFENSES and not c.epsilon:
        raise ValueError(f"defense {c.defense!r} needs at least one epsilon, such as 1,2,4,8,inf")
    if c.epsilon == (0.0,):
        raise ValueError("ε = 0 means that no private exemplar is used; audit 'zero_shot' instead")
    if c.defense in GAUSSIAN_DEFENSES and c.delta == 0:
        raise ValueError("Gaussian noise has no guarantee at δ = 0; give delta above 0")
    if c.keyword_mechanism == "ptr" and c.delta == 0:
        raise ValueError("keyword_mechanism 'ptr' has no guarantee at δ = 0; give delta above 0")
    if c.defense != "llm_judge" and c.guard_sees_exemplars:
        raise ValueError(f"guard_sees_exemplars belongs to 'llm_judge', not to {c.defense!r}")
    if c.defense != "output_filter" and (c.filter_match or c.filter_pattern):
        raise ValueError(f"filter settings belong to 'output_filter', not to {c.defense!r}")
    if (c.filter_match == "regex") != (c.filter_pattern is not None):
        raise ValueError("filter_match 'regex' and filter_pattern go together; give both")
    if c.filter_pattern is not None:
        try:
            everything = regex.search(c.filter_pattern, "", timeout=_PATTERN_SECONDS) is not None
        except (regex.error, TimeoutError) as error:
            raise ValueError(f"filter_pattern {c.filter_pattern!r}: {error}") from error
        if everything:
            raise ValueError(
                f"filter_pattern {c.filter_pattern!r} is found even in an empty reply, so it would "
                "block every reply; give one that needs at least one character"
            )
    for name, defenses in _DEFENSES_OF.items():
        given = getattr(c, name) != AuditConfig.model_fields[name].default
        if given and c.defense not in defenses:
            raise ValueError(f"{name} belongs to {' and '.join(defenses)}, not to {c.defense!r}")
    if c.task == "generation" and c.canary_label is not None:
        raise ValueError("canary_label is for classification; in generation y_c is the canary")
    if c.membership == "logprob" and c.defense not in UNTOUCHED_DEFENSES:
        raise ValueError(
            f"membership 'logprob' scores the model's own reply, which {c.defense!r} does not "
            f"release; use one of {sorted(UNTOUCHED_DEFENSES)}"
        )


def _check_shards(c: AuditConfig) -> None:
    if c.defense not in PRIVATE_DEFENSES and c.ensemble != 1:
        raise ValueError(
            f"defense {c.defense!r} runs on one prompt; ensemble is 1, not {c.ensemble}"
        )
    if c.n_exemplars % c.ensemble:
        fitting = [m for m in range(1, c.n_exemplars + 1) if c.n_exemplars % m == 0]
        raise ValueError(
            f"{c.n_exemplars} exemplars cannot be dealt evenly into {c.ensemble} shards; "
            f"use ensemble {fitting} or another n_exemplars"
        )
    if c.vote_balance == "tied":
        if c.defense != "rnm":
            raise ValueError(f"vote_balance 'tied' is about votes of 'rnm', not {c.defense!r}")
        if c.ensemble % 2 == 0 or c.ensemble == 1:
            raise ValueError(f"vote_balance 'tied' needs an odd ensemble ≥ 3, got {c.ensemble}")


def _check_calls(c: AuditConfig) -> None:
    if c.calls != "naive":
        if c.defense not in PRIVATE_DEFENSES or c.ensemble == 1:
            raise ValueError(
                f"calls={c.calls!r} keeps the answers of unchanged shards and redraws known noise; "
                f"{c.defense!r} with {c.ensemble} shard(s) has none of that, use calls='naive'"
            )
        if c.balanced:
            raise ValueError(f"calls={c.calls!r} holds both worlds already; leave balanced out")
    draws = c.trials // 2 if c.calls == "paired" else c.trials
    if draws > 1 and not 0 < (first := round(c.calibration_share * draws)) < draws:
        raise ValueError(
            f"calibration_share {c.calibration_share:g} leaves {draws - first} of {draws} trials "
            f"to judge by the threshold that {first} choose; give a share near 0.3"
        )
    if c.calls == "paired" and c.trials % 2:
        raise ValueError(f"calls='paired' needs an even number of trials, got {c.trials}")
    if c.calls == "frozen":
        if c.defense not in GAUSSIAN_DEFENSES:
            raise ValueError(
                "calls='frozen' gives ‖f(D)-f(D′)‖/σ of Gaussian noise: 'rnm' or 'esa'"
            )
        if c.temperature != 0:
            raise ValueError(
                "calls='frozen' describes a mechanism that always answers alike; temperature "
                f"{c.temperature} does not, use temperature=0 or calls='paired'"
            )
        if c.null_controls:
            raise ValueError("calls='frozen' repeats every prompt already; leave null_controls out")


def _check_scoring(c: AuditConfig) -> None:
    one_bit = c.defense not in PRIVATE_DEFENSES and c.membership == "match"
    if one_bit and c.threshold != "fixed":
        raise ValueError(
            f"defense {c.defense!r} gives a score of 0 or 1, which has one threshold; "
            f"use threshold 'fixed', not {c.threshold!r}"
        )
    if c.calls == "paired" and c.threshold == "fixed_rank":
        raise ValueError(
            "threshold 'fixed_rank' needs worlds that share no answers, and calls='paired' shares "
            "them; use threshold 'holdout', 'fixed', 'grid' or 'dkw'"
        )
    if c.membership == "logprob" and c.threshold == "grid":
        raise ValueError(
            "threshold 'grid' lies between numbers of votes, which membership 'logprob' has none "
            "of; use 'fixed_rank', 'holdout' or 'dkw'"
        )
    if c.fixed_fpr is not None and (
        c.threshold != "fixed" or c.defense not in GAUSSIAN_DEFENSES or c.calls == "frozen"
    ):
        raise ValueError(
            "fixed_fpr says where theory puts the threshold 'fixed' of 'rnm' and 'esa', got "
            f"threshold {c.threshold!r} of {c.defense!r} with calls={c.calls!r}; leave it out"
        )
    if c.stop_at is not None:
        if c.bound != "e_process":
            raise ValueError(
                f"stop_at looks at the bound after every trial, where {c.bound!r} does not hold; "
                "use bound 'e_process' or leave one of them out"
            )
        if c.calls == "frozen":
            raise ValueError("calls='frozen' gives an exact value, nothing to stop; drop stop_at")


def audit_config(fields: Mapping[str, Any]) -> AuditConfig:
    """An AuditConfig, or one readable line that says what is wrong with the fields.

    Raises:
        ValueError: Any field, or fields together, cannot be an audit.
    """
    try:
        return AuditConfig.model_validate(dict(fields))
    except ValidationError as error:
        raise ValueError("; ".join(map(_error_line, error.errors()))) from error


def _error_line(error: Any) -> str:
    message = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return str(message)
    field = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"{field} is no setting; choose from {sorted(AuditConfig.model_fields)}"
    return f"{field}: {message}, got {error['input']!r:.80}"


def config_hash(config: AuditConfig, *data: str) -> str:
    """8 hex digits, equal where the model is asked the same: scoring settings do not enter.

    Args:
        config: The audit.
        data: Hashes of what the audit reads, such as the private data and the query file.
    """
    asked = {k: v for k, v in config.record().items() if k not in SCORING_FIELDS}
    if Path(config.source).suffix in DATA_SUFFIXES:
        asked["source"] = "file"  # what it holds is in `data`, where it lies does not matter
    text = json.dumps([asked, *data], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def stream_seed(seed: int, *names: object) -> int:
    """128 bits that depend on the seed and on every name, and on nothing else."""
    text = json.dumps([seed, *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])


def stream(seed: int, *names: object) -> np.random.Generator:
    """A random stream of its own for each purpose: never shared between trials, arms or ε.

    >>> bool(stream(7, "coin", 13).integers(2)) == bool(stream(7, "coin", 13).integers(2))
    True
    """
    return np.random.default_rng(stream_seed(seed, *names))
