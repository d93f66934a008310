"""`contextleak demo`."""

import sys

import click


@click.command(short_help="Audit a simulated model and a small real one.")
@click.option(
    "--model",
    default="gguf/smollm2-135m",
    show_default=True,
    help="Inspect's name of the real model; it must give log-probabilities and go on with a reply "
    "that was begun. Where it cannot be had, the simulated one stands alone.",
)
@click.option(
    "--log-dir",
    default="logs/demo/contextleak",
    show_default=True,
    help="Where the logs go.",
)
def demo(model: str, log_dir: str) -> None:
    """Audit noisy votes of a simulated model, and a small real one with and without a defense.

    Ctrl-C stops and prints what is finished.
    """
    from contextleak_inspect.demo import demo as run_demo

    try:
        run_demo(model, log_dir)
    except KeyboardInterrupt:
        sys.exit(130)
