"""Trials: seeded coins, drawn exemplars and two neighbouring contexts, all fixed before a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from contextleak_inspect.canaries import Canary, check_planted, make_canary, plant
from contextleak_inspect.config import AuditConfig, Part, World, config_hash, stream, stream_seed
from contextleak_inspect.defenses import guard_words
from contextleak_inspect.private_data import Exemplar, PrivateData, deal, read_private_data
from contextleak_inspect.queries import Prompt, Query, check_window, read_query, system_text

BOTH: tuple[World, World] = ("out", "in")


class Trial(NamedTuple):
    """One trial: a fair coin, or both worlds of it, over one draw of exemplars.

    `drawn` are positions in the private pool, by slot; the canary replaces the one at `slot`.
    `planted` are further slots that hold the canary in both worlds (nearly tied votes).
    """

    number: int
    part: Part
    worlds: tuple[World, ...]
    drawn: tuple[int, ...]
    slot: int
    planted: tuple[int, ...]
    null_control: bool


class Call(NamedTuple):
    """One question to the model: shard, prompt, and the worlds whose answer it is."""

    key: str
    shard: int
    prompt: Prompt
    worlds: tuple[World, ...]


@dataclass(frozen=True)
class Audit:
    """An audit made ready: everything that a run needs, and nothing that a run could change.

    Not a tuple or model: Inspect would write those, private pool included, into every log.
    """

    config: AuditConfig
    data: PrivateData
    canary: Canary
    query: Query
    trials: tuple[Trial, ...]
    id: str

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What a shard can vote for: the labels; in generation empty brackets and the canary."""
        if self.config.task == "classification":
            return self.data.labels
        return self.canary.other, self.canary.answer


def coin(seed: int, trial: int) -> bool:
    """Whether the canary is in: fair, independent over trials, and the same at every attempt.

    >>> [coin(7, 13) for attempt in range(3)] == [coin(7, 13)] * 3
    True
    """
    return bool(stream(seed, "coin", trial).integers(2))


def prepare_audit(config: AuditConfig) -> Audit:
    """Data, canary, query and all trials of an audit, checked.

    Raises:
        ValueError: Data, canary and query do not fit the configuration, or a prompt may not fit
            the context window that it names.
    """
    data = read_private_data(config)
    query = read_query(config)
    canary = make_canary(config, data)
    trials = plan_trials(config, len(data.pool))
    if config.null_controls > len(trials):
        raise ValueError(
            f"null_controls {config.null_controls} are more than the {len(trials)} draws of "
            "exemplars; give at most that many"
        )
    audit = Audit(
        config,
        data,
        canary,
        query,
        trials,
        config_hash(config, data.sha256, query.model_dump_json(), canary.text),
    )
    for trial in trials:
        out, with_canary = (context(audit, trial, world) for world in BOTH)
        check_neighbours(out, with_canary)
        check_planted(out, canary, len(trial.planted))
        check_planted(with_canary, canary, len(trial.planted) + 1)
        if config.context_window is not None:
            for prompt in (p for world in BOTH for p in prompts(audit, trial, world)):
                check_window(prompt, config.context_window)
    return audit


@lru_cache(maxsize=16)
def plan_worlds(config: AuditConfig) -> tuple[tuple[Part, tuple[World, ...]], ...]:
    """Part and worlds of every trial, in planned order: a function of the configuration alone.

    Naive: one world a trial, by its coin. Paired: both worlds, half as many draws. Frozen: both,
    again and again. The first `calibration_share` are for calibration.
    """
    count = config.trials // 2 if config.calls == "paired" else config.trials
    calibration = round(config.calibration_share * count)
    parts: list[Part] = [
        "calibration" if number < calibration else "evaluation" for number in range(count)
    ]
    if config.calls != "naive":
        return tuple((part, BOTH) for part in parts)
    coins = (
        _balanced_coins(config, parts)
        if config.balanced
        else [coin(config.seed, number) for number in range(count)]
    )
    return tuple(
        (part, ("in",) if is_in else ("out",)) for part, is_in in zip(parts, coins, strict=True)
    )


def plan_trials(config: AuditConfig, pool_size: int) -> tuple[Trial, ...]:
    """All trials in planned order, a function of configuration and pool size alone.

    Frozen mode repeats the first draw of exemplars.
    """
    planned = plan_worlds(config)
    count, nulls = len(planned), config.null_controls
    trials = []
    for number, (part, worlds) in enumerate(planned):
        drawn, slot, planted = _draw(config, pool_size, 0 if config.calls == "frozen" else number)
        null = (number + 1) * nulls // count > number * nulls // count
        trials.append(Trial(number, part, worlds, drawn, slot, planted, null))
    return tuple(trials)


def _balanced_coins(config: AuditConfig, parts: Sequence[Part]) -> list[bool]:
    """As many in as out in each part, in random order; an odd one out is a coin."""
    coins: list[bool] = []
    both: tuple[Part, Part] = ("calibration", "evaluation")
    for part in both:
        size = parts.count(part)
        half = [True] * (size // 2) + [False] * (size // 2)
        half += [coin(config.seed, len(coins))] * (size % 2)
        order = stream(config.seed, "balanced", part).permutation(size)
        coins += [half[i] for i in order]
    return coins


def _draw(
    config: AuditConfig, pool_size: int, number: int
) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """Exemplars, the canary's slot and further slots, from a stream that no coin touches."""
    rng: np.random.Generator = stream(config.seed, "context", number)
    drawn = tuple(int(i) for i in rng.choice(pool_size, size=config.n_exemplars, replace=False))
    shots = config.shots
    position = {"random": int(rng.integers(shots)), "first": 0, "last": shots - 1}[config.placement]
    shards = [int(shard) for shard in rng.permutation(config.ensemble)]
    also = shards[1 : 1 + (config.ensemble - 1) // 2] if config.vote_balance == "tied" else []
    slots = [shard * shots + position for shard in [shards[0], *sorted(also)]]
    return drawn, slots[0], tuple(slots[1:])


def context(audit: Audit, trial: Trial, world: World) -> tuple[Exemplar, ...]:
    """The private exemplars of one world, in slot order.

    The worlds differ in one exemplar at one slot: neighbours under replace-one.
    """
    drawn = [audit.data.pool[i] for i in trial.drawn]
    slots = [*trial.planted, trial.slot] if world == "in" else trial.planted
    return plant(drawn, slots, audit.canary)


def canary_shard(audit: Audit, trial: Trial) -> int:
    """The shard in which the worlds differ."""
    return trial.slot // audit.config.shots


def prompts(audit: Audit, trial: Trial, world: World) -> tuple[Prompt, ...]:
    """One prompt per shard of one world."""
    shards = deal(context(audit, trial, world), audit.config.ensemble)
    return tuple(shard_prompt(audit, shard) for shard in shards)


def shard_prompt(audit: Audit, exemplars: Sequence[Exemplar]) -> Prompt:
    """The audit's query over some exemplars; over none it is zero-shot."""
    config = audit.config
    return Prompt(
        system_text(
            config.task,
            audit.labels if config.task == "classification" else (),
            exemplars if config.defense != "zero_shot" else (),
            guard_words(config),
        ),
        audit.query.fill(audit.canary),
        audit.query.fill(audit.canary, "begun"),
    )


def plan_calls(audit: Audit, trial: Trial) -> list[Call]:
    """The calls of one trial: m, or m + 1 for both worlds, and one more for a null control.

    Worlds differ in one shard, so the answers of the others serve both. The null control asks a
    prompt that another call asks too; with several shards, one without the difference.
    """
    changed = canary_shard(audit, trial)
    both = len(trial.worlds) > 1
    calls = []
    for world in trial.worlds:
        for shard, prompt in enumerate(prompts(audit, trial, world)):
            if both and shard == changed:
                calls.append(Call(f"{shard}/{world}", shard, prompt, (world,)))
            elif world == trial.worlds[0]:
                calls.append(Call(str(shard), shard, prompt, trial.worlds))
    if trial.null_control:
        again = (changed + 1) % audit.config.ensemble
        first = next(call for call in calls if call.shard == again)
        calls.append(first._replace(key="null", worlds=()))
    return calls


def call_seed(audit: Audit, trial: Trial, key: str) -> int:
    """Seed of one call, below 2³¹; no two calls of an audit share one but by accident."""
    return stream_seed(audit.config.seed, audit.id, "call", trial.number, key) % 2**31


def check_neighbours(out: Sequence[Exemplar], with_canary: Sequence[Exemplar]) -> None:
    """Two contexts are neighbours under replace-one: equal in number, different at one slot.

    Raises:
        ValueError: They are not, so no guarantee relates them.
    """
    if len(out) != len(with_canary):
        raise ValueError(
            f"contexts of {len(out)} and {len(with_canary)} exemplars are not neighbours under "
            "replace-one; put a substitute at the canary's slot"
        )
    slots = [i for i, (a, b) in enumerate(zip(out, with_canary, strict=True)) if a != b]
    if len(slots) != 1:
        raise ValueError(f"contexts differ at slots {slots}; neighbours differ at exactly one")
