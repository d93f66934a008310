"""`contextleak plan | report | serve | share | verify`."""

import threading
from pathlib import Path
from typing import Any, get_args

import click

from contextleak_inspect import __version__
from contextleak_inspect.ablate_command import ablate
from contextleak_inspect.config import DEFAULT_EPSILON, PRIVATE_DEFENSES, Defense
from contextleak_inspect.demo_command import demo
from contextleak_inspect.report_command import report
from contextleak_inspect.search_command import search
from contextleak_inspect.share_command import share, verify

_PLANNED = tuple(name for name in get_args(Defense) if name not in {"zero_shot", "ksa"})


def _epsilons(context: click.Context, option: click.Parameter, text: str) -> tuple[float, ...]:
    """One ε or several, by commas; inf is no noise."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of numbers such as 1,4,inf") from None


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """ContextLeak: what a private in-context-learning system leaks, as bounds on ε.

    Audits run with Inspect, for example in the project's folder:

    \b
    inspect eval tasks/contextleak_classification.py --model openai/gpt-4.1 --log-dir logs/audits
    contextleak report logs/audits

    and likewise contextleak_generation.py and contextleak_utility.py. Of the commands here only
    search and demo ask a model; none needs the network for itself.
    """


main.add_command(report)
main.add_command(search)
main.add_command(ablate)
main.add_command(demo)
main.add_command(share)
main.add_command(verify)


@main.command(short_help="How many trials and calls it takes to show an ε.")
@click.option("--epsilon", "show", type=float, required=True, help="ε that the bound must reach.")
@click.option("--defense", type=click.Choice(_PLANNED), default="rnm", show_default=True)
@click.option(
    "--claimed",
    callback=_epsilons,
    default=",".join(f"{epsilon:g}" for epsilon in DEFAULT_EPSILON),
    show_default=True,
    metavar="ε,ε,…",
    help="Values of ε that the noise may be calibrated for.",
)
@click.option("--delta", type=float, default=None, help="δ [default: 1e-5; label_rr: 0].")
@click.option(
    "--ensemble", type=int, default=10, show_default=True, help="Number of shards (rnm, esa)."
)
@click.option(
    "--false-votes",
    type=float,
    default=0.0,
    show_default=True,
    help="Chance that a shard without the canary answers as if it were there.",
)
@click.option(
    "--misses",
    type=float,
    default=0.0,
    show_default=True,
    help="Chance that the shard with the canary does not answer with it.",
)
@click.option(
    "--level",
    type=click.Choice(["aggregate", "label"]),
    default="aggregate",
    show_default=True,
    help="What the auditor sees of rnm: the noisy histogram, or the label that wins.",
)
@click.option(
    "--neighbouring",
    type=click.Choice(["replace_one", "add_remove"]),
    default="replace_one",
    show_default=True,
    help="What the noise is calibrated for; the attack replaces an exemplar.",
)
@click.option(
    "--distance",
    type=float,
    default=2**0.5,
    show_default="√2, orthogonal",
    help="Between the embeddings of the two outputs (esa).",
)
@click.option(
    "--cos-angle",
    type=float,
    default=1.0,
    show_default=True,
    help="Cosine between their difference and the detector's direction (esa).",
)
@click.option(
    "--options",
    "n_options",
    type=int,
    default=3,
    show_default=True,
    help="What label_rr may release: the labels, and that there is none.",
)
@click.option(
    "--target-fpr",
    type=float,
    default=0.1,
    show_default=True,
    help="FPR of the fixed_rank threshold, the audit's default rule.",
)
@click.option(
    "--power", type=float, default=0.8, show_default=True, help="Chance to show it if it is there."
)
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Chance that the bound holds."
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Draw power against trials into this file (.svg, .png, .pdf).",
)
def plan(plot: Path | None, delta: float | None, **settings: Any) -> None:
    """How many trials and model calls does it take to show that ε is at least --epsilon?

    Asks no model. For every claimed ε the noise is known, and with it the best that any attack can
    do; for every kind of bound the table gives the number of trials at which it reaches --epsilon
    with chance --power. Perfect answers are assumed unless you give the error rates of a pilot run
    (--false-votes, --misses): with ten shards even 5 % of each cost most of the signal.

    \b
    contextleak plan --epsilon 2 --defense rnm
    contextleak plan --epsilon 1 --defense rnm --claimed 4 --false-votes 0.05 --misses 0.05
    contextleak plan --epsilon 1 --defense faux_secrets --misses 0.3 --plot plan.svg

    Reading the table: "out of reach" says that the release itself leaks less than --epsilon, so
    that no number of trials would do; "never" that this method cannot show it, another can.
    """
    from contextleak_inspect.plan import plan as plan_rows
    from contextleak_inspect.plan_report import plan_table, save_plot
    from contextleak_inspect.releases import Planned

    if delta is None:
        delta = 0.0 if settings["defense"] == "label_rr" else 1e-5
    if settings["defense"] not in PRIVATE_DEFENSES:
        settings["claimed"] = ()
    try:
        planned = Planned(delta=delta, **settings)
        rows = plan_rows(planned)
        click.echo(plan_table(planned, rows))
        if plot is not None:
            save_plot(planned, rows, plot)
            click.echo(f"\nPower against trials: {plot}")
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error


@main.command(short_help="Serve a GGUF file on this machine.")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="a free one")
@click.option(
    "--context",
    type=click.IntRange(min=256),
    default=4096,
    show_default=True,
    help="Window in tokens.",
)
@click.option("--threads", type=click.IntRange(min=1), default=None, show_default="all cores")
def serve(model: str, port: int, context: int, threads: int | None) -> None:
    """Serve the GGUF file MODEL on this machine for other processes, until Ctrl-C.

    Nothing outside this machine can reach it. A reply ends after 2048 tokens unless --max-tokens
    says otherwise.
    """
    from contextleak_inspect.local import serve as start

    try:
        served = start(model, port=port, context=context, threads=threads)
    except (ValueError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error
    name = Path(model).stem
    click.echo(
        f"{name} at {served.address}. In another terminal:\n\n"
        f"export LOCAL_BASE_URL={served.address}/v1 LOCAL_API_KEY=none\n"
        "inspect eval tasks/contextleak_classification.py "
        f"--model openai-api/local/{name} --max-connections 1\n\nCtrl-C stops it."
    )
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("stopped")


if __name__ == "__main__":
    main()
