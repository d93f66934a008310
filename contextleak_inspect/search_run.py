"""A search from grid to fresh contexts, and the query file that it leaves."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import anyio
import anyio.from_thread
import anyio.to_thread
import yaml
from inspect_ai.model import Model

from contextleak_inspect import __version__
from contextleak_inspect.config import AuditConfig, CanaryKind, audit_config
from contextleak_inspect.queries import Query, bundled_queries, read_query
from contextleak_inspect.search import (
    Candidate,
    Objective,
    best_candidate,
    objective_of,
    predicted,
    predicted_limits,
)
from contextleak_inspect.search_contexts import (
    Context,
    answer_all,
    count_errors,
    make_contexts,
    search_seeds,
)
from contextleak_inspect.search_gepa import Ask, Proposed, improve, rates_text
from contextleak_inspect.votes import ErrorRates


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """One search.

    Attributes:
        settings: Settings of the audit that the query is for; seed and trials are the search's.
        canaries: Kinds of canary to try.
        queries: Names of ours, or query files; empty tries all of ours that fit.
        contexts: Contexts per cell of the grid, and for GEPA's training and its validation.
        fresh: Contexts on which winner and best hand-written query are compared at the end.
        proposals: Queries that the reflector may write; 0 searches the grid only.
        seed: Another search for another seed.
    """

    settings: dict[str, Any]
    canaries: tuple[str, ...] = ("hex",)
    queries: tuple[str, ...] = ()
    contexts: int = 20
    fresh: int = 50
    proposals: int = 20
    seed: int = 0


@dataclass
class Search:
    """What a search has found so far.

    Attributes:
        objective: What queries are judged by.
        grid: Hand-written cells with their rates on the grid's contexts.
        tried: Texts on the validation contexts, the best hand-written query's first.
        best: The winner, chosen on the validation contexts (of the grid where GEPA did not run).
        fresh: Rates of the best hand-written query and of the winner on fresh contexts.
        interrupted: The search was stopped before its end.
    """

    plan: SearchPlan
    objective: Objective
    model: str
    reflector: str | None
    grid: list[Candidate] = field(default_factory=list)
    tried: list[Proposed] = field(default_factory=list)
    best: Candidate | None = None
    fresh: tuple[ErrorRates, ErrorRates] | None = None
    interrupted: bool = False

    @property
    def hand_written(self) -> Candidate:
        """The best cell of the grid."""
        return best_candidate(self.objective, self.grid)


def grid_cells(plan: SearchPlan) -> list[tuple[AuditConfig, Query]]:
    """Every canary with every query that fits the defense.

    Raises:
        ValueError: Settings, a canary or a query do not fit together.
    """
    if wrong := [kind for kind in plan.canaries if kind not in get_args(CanaryKind)]:
        raise ValueError(f"canaries {wrong} are unknown; choose from {list(get_args(CanaryKind))}")
    base = audit_config(plan.settings)
    objective_of(base)
    if base.membership != "match":
        raise ValueError("a search counts hits, so membership is 'match'")
    names = plan.queries or tuple(
        q.name
        for q in bundled_queries()
        if q.task == base.task and (q.reads == "label" or base.defense != "rnm")
    )
    cells = []
    for kind in plan.canaries:
        for name in names:
            config = audit_config(plan.settings | {"canary": kind, "query": name})
            cells.append((config, read_query(config)))
    return cells


async def run_search(
    plan: SearchPlan, model: Model, reflector: Model | None, told: Callable[[str], None]
) -> Search:
    """Grid, GEPA on the best cell's query, fresh contexts. The first Ctrl-C ends the search early.

    Args:
        plan: The search.
        model: The model under attack.
        reflector: The model that writes queries; None searches the grid only.
        told: Takes one line of progress at a time.
    """
    cells = grid_cells(plan)
    objective = objective_of(audit_config(plan.settings))
    search = Search(plan, objective, str(model), str(reflector) if reflector else None)
    seeds = search_seeds(plan.seed)
    stopping = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(_watch_interrupts, stopping, told)
        told(f"grid: {len(cells)} cells, {2 * plan.contexts * len(cells)} calls")
        for config, query in cells:
            if stopping.is_set() and search.grid:
                break
            settings = plan.settings | {"canary": config.canary}
            contexts = make_contexts(settings, seeds["grid"], plan.contexts)
            rates = count_errors(await answer_all(model, query, contexts))
            search.grid.append(Candidate(config.canary, query, rates))
            told(f"{config.canary} × {query.name}: {rates_text(objective, rates)}")
        search.best = start = search.hand_written
        told(f"best hand-written: {start.canary} × {start.query.name}")
        if reflector is not None and plan.proposals and not stopping.is_set():
            await _improve(search, start, model, reflector, stopping, told)
        if not stopping.is_set():
            settings = plan.settings | {"canary": start.canary}
            contexts = make_contexts(settings, seeds["fresh"], plan.fresh)
            told(f"fresh contexts: {plan.fresh} for each query")
            before = count_errors(await answer_all(model, start.query, contexts))
            same = search.best.query.text == start.query.text
            after = (
                before
                if same
                else count_errors(await answer_all(model, search.best.query, contexts))
            )
            search.fresh = before, after
        search.interrupted = stopping.is_set()
        group.cancel_scope.cancel()
    return search


async def _improve(
    search: Search,
    start: Candidate,
    model: Model,
    reflector: Model,
    stopping: anyio.Event,
    told: Callable[[str], None],
) -> None:
    plan, seeds = search.plan, search_seeds(search.plan.seed)
    settings = plan.settings | {"canary": start.canary}
    parts: dict[str, list[Context]] = {
        part: make_contexts(settings, seeds[part], plan.contexts)
        for part in ("train", "validation")
    }

    async def reflect(prompt: str) -> str:
        return (await reflector.generate(prompt)).completion

    ask = Ask(
        contexts=lambda query, batch: anyio.from_thread.run(
            answer_all, model, query, [parts[part][i] for part, i in batch]
        ),
        reflector=lambda prompt: anyio.from_thread.run(reflect, prompt),
        should_stop=stopping.is_set,
        told=told,
    )
    told(f"GEPA: up to {plan.proposals} queries by {reflector}")
    search.tried = await anyio.to_thread.run_sync(
        lambda: improve(
            start.query,
            search.objective,
            ask,
            contexts=plan.contexts,
            proposals=plan.proposals,
            seed=plan.seed,
        )
    )
    found = max(search.tried, key=lambda p: predicted(search.objective, p.rates))
    query = start.query.model_copy(
        update={"text": found.text, "name": f"{start.query.name}, searched"}
    )
    if found.text != start.query.text:
        search.best = Candidate(start.canary, query, found.rates)


async def _watch_interrupts(stopping: anyio.Event, told: Callable[[str], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            stopping.set()
            told("stopping after what is being asked; Ctrl-C again ends at once, without a file")
            return


def search_text(search: Search) -> str:
    """The search in words: the grid with joint intervals, then the comparison on fresh contexts."""
    objective, cells = search.objective, len(search.grid)
    lines = [
        f"{search.model}, {objective}, m = {objective.ensemble}, δ = {objective.delta:g}",
        f"Grid, {cells} cells; 95 % intervals that hold for all of them together:",
    ]
    for cell in search.grid:
        low, high = predicted_limits(objective, cell.rates, cells=cells)
        name = f"{cell.canary} × {cell.query.name}"
        lines.append(f"  {name}: {rates_text(objective, cell.rates)} ({low:.3f}-{high:.3f})")
    if search.fresh is None:
        stopped = "Stopped before fresh contexts: the winner's rates are those that chose it."
        return "\n".join([*lines, stopped])
    lines.append("On fresh canaries and contexts; 95 % intervals that hold for both:")
    assert search.best is not None
    for name, rates in zip(("hand-written", "searched"), search.fresh, strict=True):
        low, high = predicted_limits(objective, rates, cells=2)
        lines.append(f"  {name}: {rates_text(objective, rates)} ({low:.3f}-{high:.3f})")
    if search.best.query.text == search.hand_written.query.text:
        lines.append("No better query was found: the hand-written one is the result.")
    return "\n".join(lines)


def query_file(search: Search) -> str:
    """The winner as a query file, with how it was found."""
    assert search.best is not None
    plan, objective, start = search.plan, search.objective, search.hand_written
    fresh = None
    if search.fresh is not None:
        fresh = {
            name: _shown(objective, rates, cells=2)
            for name, rates in zip(("hand_written", "searched"), search.fresh, strict=True)
        }
    provenance = {
        "made_by": f"contextleak search {__version__}",
        "model": search.model,
        "reflector": search.reflector,
        "settings": audit_config(plan.settings).record(),
        "canary": search.best.canary,
        "start": {"name": start.query.name, "text": start.query.text},
        "objective": str(objective),
        "ensemble": objective.ensemble,
        "seeds": sorted(seed for seeds in search_seeds(plan.seed).values() for seed in seeds),
        "contexts": plan.contexts,
        "cells": len(search.grid),
        "texts_tried": len(search.tried),
        "chosen_on": _shown(objective, search.best.rates),
        "fresh": fresh,
        "interrupted": search.interrupted,
    }
    query = search.best.query.model_copy(update={"provenance": provenance})
    return yaml.safe_dump(query.model_dump(), allow_unicode=True, sort_keys=False, width=100)


def _shown(objective: Objective, rates: ErrorRates, cells: int | None = None) -> dict[str, Any]:
    shown = {**rates._asdict(), "predicted": round(predicted(objective, rates), 4)}
    if cells is None:
        return shown | {"optimistic": True}
    low, high = predicted_limits(objective, rates, cells=cells)
    return shown | {"interval_95": [round(low, 4), round(high, 4)]}


def free_path(path: Path) -> Path:
    """The path, if nothing stands there: a search never overwrites a query.

    Raises:
        ValueError: A file is there, or no folder for it.
    """
    if path.exists():
        raise ValueError(f"{path} exists; give another --out, or move it away")
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent}: no such folder")
    return path
