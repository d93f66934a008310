"""`contextleak ablate`."""

from pathlib import Path

import click


@click.command(short_help="How one setting changes what audits find.")
@click.argument("logs", nargs=-1, required=True)
@click.option(
    "--setting",
    required=True,
    help="What the audits differ in: ensemble, shots, trials, temperature, embedding, placement, "
    "canary, query, or any other setting.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Draw accuracy and bound against the setting into this file (.svg, .png, .pdf).",
)
def ablate(logs: tuple[str, ...], setting: str, plot: Path | None) -> None:
    """Show how one setting changes what an audit finds: accuracy and bound against it.

    LOGS are log files or folders of them. Run the audits first, one a value:

    \b
    for m in 1 2 5 10 20; do inspect eval tasks/contextleak_classification.py \\
      -T ensemble=$m --model openai/gpt-4.1-mini --log-dir logs/ensemble; done
    contextleak ablate logs/ensemble --setting ensemble --plot ensemble.svg

    Beside each measurement stands the best accuracy that any attack could reach at the error rates
    measured in that audit. Bounds of several seeds stay points of their own.
    """
    from contextleak_inspect.ablation import ablation, ablation_text, also_differ, save_ablation
    from contextleak_inspect.report_audits import read_audits

    try:
        audits, notes = read_audits(logs)
        runs = [audit.run for audit in audits]
        points = ablation(runs, setting)
        click.echo(ablation_text(points, setting))
        if others := also_differ(runs, setting):
            click.echo(f"The audits differ in {', '.join(others)} too.")
        for note in notes:
            click.echo(note, err=True)
        if plot is not None:
            save_ablation(points, setting, plot)
            click.echo(f"Figure: {plot}")
    except (ValueError, FileNotFoundError) as error:
        raise click.ClickException(str(error)) from error
