"""`contextleak search`."""

from functools import partial
from pathlib import Path
from typing import Any

import click
import yaml


def _pairs(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, Any]:
    """name=value as often as it is given; values are read as YAML."""
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not name=value")
        try:
            found[name] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise click.BadParameter(f"the value of {pair!r} is no YAML; quote it") from error
    return found


@click.command(short_help="Find the query that shows a canary best.")
@click.option("--model", required=True, help="Model under attack, as Inspect names it.")
@click.option("-M", "model_args", multiple=True, callback=_pairs, help="Its arguments: name=value.")
@click.option("--reflector", default=None, help="Model that writes queries; none: grid only.")
@click.option(
    "--task",
    type=click.Choice(["classification", "generation"]),
    default="classification",
    show_default=True,
)
@click.option("--canary", "canaries", multiple=True, default=["hex"], show_default=True)
@click.option(
    "--query",
    "queries",
    multiple=True,
    show_default="all of ours that fit",
    help="Where to start: a name of ours, or a query file.",
)
@click.option(
    "-T",
    "settings",
    multiple=True,
    callback=_pairs,
    help="Any setting of the audit that the query is for: defense=faux_secrets, ensemble=5, …",
)
@click.option(
    "--contexts",
    type=click.IntRange(min=2),
    default=20,
    show_default=True,
    help="Contexts per cell of the grid, and for GEPA's training and its validation.",
)
@click.option(
    "--fresh",
    type=click.IntRange(min=2),
    default=50,
    show_default=True,
    help="Contexts on which both queries are compared at the end.",
)
@click.option(
    "--proposals",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Queries that the reflector may write.",
)
@click.option("--seed", type=click.IntRange(0, 10**9), default=0, show_default=True)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("query.yaml"),
    show_default=True,
    help="File for the winning query.",
)
def search(
    model: str,
    model_args: dict[str, Any],
    reflector: str | None,
    task: str,
    canaries: tuple[str, ...],
    queries: tuple[str, ...],
    settings: dict[str, Any],
    out: Path,
    **counts: int,
) -> None:
    """Find the query that makes a model tell most reliably whether the canary is in its context.

    A query enters an audit only through two error rates: how often a shard with the canary misses
    it, and how often one without reports it. So a query costs two calls per context here, not a
    whole trial, and the rates say what accuracy an audit with it can reach (classification: at
    ε = 10; generation: mean over ε = 1 to 10, as in the paper).

    \b
    1. Grid: every --canary with every --query.
    2. GEPA: the best cell's query is rewritten by --reflector, which reads what went wrong; new
       texts are judged on training contexts and kept by their rates on validation contexts.
    3. Fresh canaries and contexts, for the winner and the best hand-written query. Only these
       numbers are unbiased: whatever was chosen looks better where it was chosen.

    \b
    contextleak search --model openai/gpt-4.1-mini --reflector openai/gpt-4.1
    contextleak search --model openai/gpt-4.1-mini --canary hex --canary unigram --proposals 0
    inspect eval tasks/contextleak_classification.py -T query=query.yaml --model …

    The file names model, settings, seeds and rates behind the query; an audit refuses it under a
    seed that the search has used. Ctrl-C ends the search and keeps the best query so far.
    """
    import anyio

    from contextleak_inspect.arguments import first_refusal, named_model
    from contextleak_inspect.search_run import (
        SearchPlan,
        free_path,
        grid_cells,
        query_file,
        run_search,
        search_text,
    )

    defense = {"classification": "rnm", "generation": "esa"}[task]
    plan = SearchPlan(
        settings={"defense": defense} | settings | {"task": task},
        canaries=canaries,
        queries=queries,
        **counts,
    )
    told = partial(click.echo, err=True)
    try:
        free_path(out)
        grid_cells(plan)
        found = anyio.run(
            run_search,
            plan,
            named_model(model, **model_args),
            named_model(reflector, role="reflector") if reflector else None,
            told,
        )
    except (ValueError, RuntimeError, OSError, ExceptionGroup) as error:
        refused = first_refusal(error)
        if not isinstance(refused, ValueError | RuntimeError | OSError):
            raise
        raise click.ClickException(str(refused)) from error
    out.write_text(query_file(found), encoding="utf-8")
    click.echo(search_text(found))
    click.echo(f"Query: {out}")
