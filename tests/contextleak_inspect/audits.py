"""Audits with chosen error rates, in memory: votes are drawn, everything after is the package's."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from contextleak_inspect.audit_run import Run, gather
from contextleak_inspect.config import UNPARSED, AuditConfig, World, audit_config
from contextleak_inspect.scoring import Released, release
from contextleak_inspect.trials import plan_worlds
from contextleak_inspect.votes import TrialVotes

LABELS = ("objective", "subjective")


def vote_record(config: AuditConfig, number: int, **fields: Any) -> TrialVotes:
    """A trial whose shards all vote as a model that never errs, unless fields say otherwise."""
    part, worlds = plan_worlds(config)[number]
    m = config.ensemble
    votes: dict[World, tuple[int, ...]] = {
        world: (*([1] * (m - 1)), 0 if world == "in" else 1) for world in worlds
    }
    given = {"labels": LABELS, "votes": votes, "marks": dict.fromkeys(worlds, "v" * m)} | fields
    return TrialVotes(
        audit="0123abcd",
        seed=config.seed,
        trial=number,
        part=part,
        answer=0,
        other=1,
        canary_shard=m - 1,
        calls=m + len(worlds) - 1,
        **given,
    )


def drawn_votes(
    config: AuditConfig,
    rng: np.random.Generator,
    *,
    false_vote: float = 0.0,
    miss: float = 0.0,
    unparsed: float = 0.0,
) -> list[TrialVotes]:
    """Every planned trial, with shards that err independently; the unchanged ones are shared."""
    records = []
    for number, (_, worlds) in enumerate(plan_worlds(config)):
        shared = rng.random(config.ensemble - 1) >= false_vote
        votes: dict[World, tuple[int, ...]] = {}
        for world in worlds:
            own = rng.random() < miss if world == "in" else rng.random() >= false_vote
            cast = np.append(shared, own).astype(int)
            cast[rng.random(cast.size) < unparsed] = UNPARSED
            votes[world] = tuple(cast.tolist())
        records.append(vote_record(config, number, votes=votes))
    return records


def released(
    config: AuditConfig, records: Iterable[TrialVotes]
) -> list[tuple[TrialVotes, Released]]:
    return [(record, release(record, config)) for record in records]


def drawn_run(seed: int, rates: dict[str, float] | None = None, **fields: Any) -> Run:
    """A whole audit, finished."""
    config = audit_config({"seed": seed} | fields)
    rng = np.random.default_rng(seed)
    return gather(config, released(config, drawn_votes(config, rng, **(rates or {}))))
