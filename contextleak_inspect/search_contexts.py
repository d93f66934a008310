"""Contexts to judge a query on: each with the canary and without it, two calls."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import anyio
from inspect_ai.model import Model

from contextleak_inspect.calls import ask, check_windows, stop_reason
from contextleak_inspect.config import World, audit_config
from contextleak_inspect.queries import Query
from contextleak_inspect.trials import (
    Audit,
    Call,
    Trial,
    canary_shard,
    prepare_audit,
    prompts,
)
from contextleak_inspect.votes import ErrorRates, read_vote

# Seeds of searches lie apart from those that people give to audits.
FIRST_SEED = 1_000_000
SEEDS_A_SEARCH = 100
T = TypeVar("T")
CANARIES = 4  # a part of a search shares its contexts between so many canaries


class Context(NamedTuple):
    """A shard that holds the canary in one world and not in the other."""

    audit: Audit
    trial: Trial


class Answered(NamedTuple):
    """Both replies of a context, and how they were read."""

    hit: bool
    false_vote: bool
    reply_in: str
    reply_out: str


def search_seeds(seed: int) -> dict[str, tuple[int, ...]]:
    """Seeds of each part of a search: no two parts share a canary or a context.

    >>> {part: seeds[0] for part, seeds in search_seeds(0).items()}
    {'grid': 1000000, 'train': 1000004, 'validation': 1000008, 'fresh': 1000012}
    """
    first = FIRST_SEED + SEEDS_A_SEARCH * seed
    parts = ("grid", "train", "validation", "fresh")
    return {
        part: tuple(range(first + i * CANARIES, first + (i + 1) * CANARIES))
        for i, part in enumerate(parts)
    }


def make_contexts(settings: dict[str, Any], seeds: Sequence[int], count: int) -> list[Context]:
    """So many contexts, dealt between the canaries of the seeds.

    Args:
        settings: Settings of the audit that the query is for; its query plays no part here.
        seeds: One canary each.
        count: Number of contexts.
    """
    per_seed = -(-count // len(seeds))
    audits = [
        prepare_audit(
            audit_config(settings | {"seed": seed, "trials": per_seed, "null_controls": 0})
        )
        for seed in seeds
    ]
    dealt = [Context(audit, audit.trials[i]) for i in range(per_seed) for audit in audits]
    return dealt[:count]


async def answer(model: Model, query: Query, context: Context) -> Answered:
    """Ask one context in both worlds."""
    audit, trial = replace(context.audit, query=query), context.trial
    worlds: tuple[World, World] = ("in", "out")

    async def reply(world: World) -> tuple[bool, str]:
        shard = canary_shard(audit, trial)
        prompt = prompts(audit, trial, world)[shard]
        call = Call(f"{query.text}/{world}", shard, prompt, (world,))
        check_windows(model, [call])
        output = await ask(model, audit, trial, call)
        labels = audit.labels
        vote = read_vote(
            output.completion,
            stop_reason(output),
            labels=labels,
            canary=audit.canary,
            query=query,
        )
        return vote.vote == labels.index(audit.canary.answer), output.completion

    (hit, reply_in), (false_vote, reply_out) = await gather([partial(reply, w) for w in worlds])
    return Answered(hit, false_vote, reply_in, reply_out)


async def answer_all(model: Model, query: Query, contexts: Sequence[Context]) -> list[Answered]:
    """Ask all contexts; the model's own limit says how many calls run at a time."""
    return await gather([partial(answer, model, query, context) for context in contexts])


def count_errors(answers: Sequence[Answered]) -> ErrorRates:
    """False votes and misses among answered contexts."""
    n = len(answers)
    return ErrorRates(sum(a.false_vote for a in answers), n, sum(not a.hit for a in answers), n)


async def gather(tasks: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Results in order of the tasks; the first error cancels the others."""
    results: dict[int, T] = {}

    async def run(index: int) -> None:
        results[index] = await tasks[index]()

    try:
        async with anyio.create_task_group() as group:
            for index in range(len(tasks)):
                group.start_soon(run, index)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [results[index] for index in range(len(tasks))]
