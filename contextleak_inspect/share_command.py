"""`contextleak share` and `contextleak verify`."""

import sys
from pathlib import Path

import click


@click.command(short_help="Copies of logs without private texts.")
@click.argument("logs", nargs=-1, required=True)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="New folder for the share; an existing one is refused.",
)
@click.option("--viewer", is_flag=True, help="Add Inspect's viewer as static pages (12 MB).")
def share(logs: tuple[str, ...], out: Path, viewer: bool) -> None:
    """Make copies of LOGS that others may have, of ContextLeak and DPrivBench.

    LOGS are .eval or .json files, folders, patterns such as 'logs/*/*.eval', or s3:// addresses.

    Kept are the fields of a list, everything else is removed: private examples, canaries, prompts,
    replies, events, embeddings, paths, names of users, addresses of repositories, keys. Where a
    reader should see that a text was there a placeholder stands for it, the same for the same text.
    Votes stay, and of embeddings what noise and detector need: the copies give the same numbers,
    and `inspect score` audits them again. DPrivBench's own and the official questions are public;
    they stay with their replies. Questions from your own files do not.

    \b
    contextleak share logs/ --out shared
    contextleak share 'logs/*rnm*.eval' s3://team/audits --out for-reviewers --viewer
    contextleak verify shared

    Then every text of the copies must be words of a published list, an id or the name of a model,
    and is searched for pieces of canaries, names of users and machines, paths and keys. If one is
    left, nothing is written. What copies tell all the same: settings with the seed (from which a
    canary of random digits can be made again), names of models, counts of votes and tokens, times,
    which texts were equal, and a hash of 32 bits over data and settings.
    """
    from contextleak_inspect.share import fields_text, left_out_text, locate_logs
    from contextleak_inspect.share import share as share_logs

    try:
        locations = locate_logs(logs)
        with click.progressbar(iter(()), label="samples", show_pos=True, file=sys.stderr) as bar:
            made = share_logs(locations, out, viewer=viewer, progress=bar.update)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(fields_text(made.logs))
    for line in (*made.notes, *filter(None, [left_out_text(made.left_out)])):
        click.echo(line, err=True)
    samples = sum(log.samples for log in made.logs)
    click.echo(f"\n{out}: {len(made.logs)} logs, {samples} samples; no private text found in them")


@click.command(short_help="Check a folder that share made.")
@click.argument("folder", type=click.Path(path_type=Path))
def verify(folder: Path) -> None:
    """Check a FOLDER that `contextleak share` made: is it whole, and do its numbers recompute?

    Fails if a file is missing, extra or changed, if a log's numbers do not follow from its samples,
    or if it holds a text that `share` would not have let pass. Anybody can do this, without the
    original logs; what can be looked for with them only is said at the end.
    """
    from contextleak_inspect.share_check import verify as verify_share

    try:
        verified = verify_share(folder)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join(verified.checked))
    if verified.problems:
        raise click.ClickException("\n".join(["", *verified.problems]))
    click.echo("nothing is wrong")
