"""`dprivbench generate | verify | paraphrase | report | demo`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from dprivbench_inspect import __version__
from dprivbench_inspect.report_command import report

if TYPE_CHECKING:
    from dprivbench_inspect.divergences import Certificate


class Row(NamedTuple):
    """One label, or one sensitivity, that was recomputed."""

    text: str
    agrees: bool


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """DPrivBench: does a described mechanism keep the privacy guarantee it claims?

    Models are asked with Inspect, for example in the project's folder:

    \b
    inspect eval tasks/dprivbench_cat1.py --model openai/gpt-5
    inspect eval tasks/dprivbench_cat2.py --model openai/gpt-5
    dprivbench report logs       # tables of these runs beside the paper's numbers

    From elsewhere a task has a name, dprivbench_inspect/dprivbench_cat1 (without the prefix in an
    editable install). No command here needs a network, but for `paraphrase` with a model behind
    one.
    """


main.add_command(report)


@main.command(short_help="Rewrite Category 1 after a change of its code.")
def generate() -> None:
    """Rewrite the bundled questions of Category 1 from the function bank and the mechanisms.

    For those who change functions.py or mechanisms.py: data/category_1.jsonl in the package comes
    out the same, byte for byte, unless the bank or a wording has changed. Prints which.
    """
    from dprivbench_inspect.generate import CATEGORY_1, write_category_1

    before = CATEGORY_1.read_bytes() if CATEGORY_1.exists() else b""
    write_category_1()
    state = "unchanged" if CATEGORY_1.read_bytes() == before else "changed"
    click.echo(f"{CATEGORY_1}: {state}")


@main.command(short_help="Recompute every label of the bundled questions.")
@click.option(
    "--category",
    type=click.Choice(["1", "2", "both"]),
    default="both",
    show_default=True,
    help="Whose labels; 2 includes what the audit says of official ones.",
)
@click.option(
    "--variant",
    type=click.Choice(["pairs", "graded"]),
    default="pairs",
    show_default=True,
    help="Questions of Category 1 with the noise needed and half of it, or with a drawn factor.",
)
def verify(category: str, variant: str) -> None:
    """Recompute the labels of the bundled questions and show the numbers behind each.

    A line names the question and its label, what the claim allows, what a pair of neighbours gives
    away (measured, ± the numerical error) and the margin between them: above 0 exactly where the
    pair breaks the claim. A claim that no pair breaks is checked, not proved.

    \b
    category 1 1: laplace-1 (yes): claim 1, measured 1 ± 2e-16, margin -2.22e-16 ε; …
    category 1 2: laplace-2 (no): claim 1, measured 2 ± 4e-16, margin 1 ε; …

    What the audit says of official labels is recomputed too. Questions of Category 2 that rest on
    a citation alone are counted in the end. Exit code 1 if a label disagrees. Ctrl-C stops and
    sums up.
    """
    checks = []
    if category != "2":
        checks += [("sensitivities", _sensitivities()), ("category 1", _category_1(variant))]
    if category != "1":
        checks += [("category 2", _category_2()), ("label audit", _label_audit())]
    summary, wrong = [], 0
    try:
        for name, rows in checks:
            agree = total = 0
            summary.append("")
            for row in rows:
                total, agree = total + 1, agree + row.agrees
                wrong += not row.agrees
                click.echo(f"{name} {total}: {row.text}{'' if row.agrees else '  DISAGREES'}")
                summary[-1] = f"{name}: {agree} of {total} agree"
    except KeyboardInterrupt:
        click.echo("\nstopped; so far:")
        click.echo("\n".join(filter(None, summary)))
        sys.exit(130)
    if category != "1":
        summary.append(f"category 2: {_citations()} more labels rest on a citation alone")
    click.echo("\n".join(["", *summary]))
    sys.exit(1 if wrong else 0)


@main.command(short_help="True claims in other words, by a model.")
@click.option(
    "--model",
    required=True,
    envvar="INSPECT_EVAL_MODEL",
    show_envvar=True,
    help="Who paraphrases, by Inspect's name, such as openai/gpt-5.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The .yaml file to write. If it is there, what it lacks is added.",
)
@click.option(
    "--source",
    default="bundled",
    show_default=True,
    help="Whose true claims: bundled, hub, or a path, as -T source= of the tasks.",
)
@click.option("--topics", help="Only these, such as svt,dp_sgd.  [default: all 18]")
def paraphrase(model: str, out: Path, source: str, topics: str | None) -> None:
    """Let a model put the true claims of Category 2 into other words, for a person to review.

    \b
    dprivbench paraphrase --model openai/gpt-5 --out mine.yaml
    inspect eval tasks/dprivbench_cat2.py -T source=mine.yaml --model openai/gpt-5
    dprivbench report logs

    Every entry is marked reviewed: false, and a file with such entries is refused as a source. A
    person compares each with its original, which stands above it, and sets reviewed: true. The
    report sets the run beside one on the originals.

    Ctrl-C keeps what is done. The same command again asks for the rest.
    """
    import anyio

    from dprivbench_inspect.dataset import keep, load_questions
    from dprivbench_inspect.named_model import named_model
    from dprivbench_inspect.paraphrase import paraphrase_all, to_paraphrase
    from dprivbench_inspect.questions import Question

    if out.suffix != ".yaml":
        raise click.ClickException(f"--out {out}: the file must end in .yaml")
    if not out.parent.is_dir():
        raise click.ClickException(f"--out {out}: there is no folder {out.parent}")
    try:
        wanted = None if topics is None else [topic.strip() for topic in topics.split(",")]
        questions = keep(load_questions(2, source).questions, topics=wanted)
        left = to_paraphrase(questions, out)
        asked = named_model(model)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    done, useless = 0, 0

    def progress(question: Question, wrong: str | None) -> None:
        nonlocal done, useless
        done, useless = done + 1, useless + (wrong is not None)
        click.echo(f"{done}/{len(left)} {question.id}{f': left out, {wrong}' if wrong else ''}")

    def state() -> str:
        return f"{done - useless} of {len(left)} written to {out}; the same command asks again"

    try:
        anyio.run(paraphrase_all, left, asked, out, progress)
    except KeyboardInterrupt:
        click.echo(f"\nstopped; {state()}")
        sys.exit(130)
    except ExceptionGroup as group:
        raise click.ClickException(f"{group.exceptions[0]}\n{state()}") from group
    if useless:
        raise click.ClickException(state())
    click.echo(f"{out}: {len(left)} new entries; read each and set reviewed: true")


@main.command(short_help="Run both categories on models that need no key.")
@click.option(
    "--model",
    default="gguf/smollm2-135m",
    show_default=True,
    help="A real model for thirty questions, by Inspect's name; where it cannot be had, the reason "
    "is printed and the others run.",
)
@click.option(
    "--log-dir",
    default="logs/demo/dprivbench",
    show_default=True,
    help="Folder for the logs.",
)
def demo(model: str, log_dir: str) -> None:
    """Ask models that need no network every bundled question and a real one thirty; print tables.

    Those models say always yes, always no, or compute the answer (Category 1). Ctrl-C stops and
    prints what is finished. Look at single replies with: inspect view start --log-dir <folder>
    """
    from dprivbench_inspect.demo import demo as run_demo

    try:
        run_demo(model, log_dir)
    except KeyboardInterrupt:
        sys.exit(130)


def _sensitivities() -> Iterator[Row]:
    from dprivbench_inspect.certificates.sensitivities import verify_sensitivities

    for evidence in verify_sensitivities():
        yield Row(
            f"function {evidence.function_id} at n = {evidence.n}: stated {evidence.stated}, "
            f"attained {evidence.attained}, most found by search {evidence.found:.6g}",
            evidence.holds,
        )


def _category_1(variant: str) -> Iterator[Row]:
    from dprivbench_inspect.certificates.category_1 import verify_category_1

    for evidence in verify_category_1("graded" if variant == "graded" else "pairs"):
        yield Row(
            f"{evidence.question_id} ({evidence.label}): {_numbers(evidence.certificate)}",
            evidence.agrees,
        )


def _category_2() -> Iterator[Row]:
    from dprivbench_inspect.certificates import all_certificates
    from dprivbench_inspect.dataset import load_questions

    labels = {question.id: question.label for question in load_questions(2).questions}
    for question_id, program in all_certificates().items():
        certificate, label = program(), labels.get(question_id)
        yield Row(f"{question_id} ({label}): {_numbers(certificate)}", certificate.verdict == label)


def _label_audit() -> Iterator[Row]:
    from dprivbench_inspect.certificates.label_audit import CERTIFICATES
    from dprivbench_inspect.label_audit import read_label_audit

    for record in read_label_audit().values():
        about = f"{record.id} (label {record.upstream_label}, audit {record.verdict})"
        for evidence in record.certificates:
            certificate = CERTIFICATES[evidence.name]()
            yield Row(
                f"{about}, {evidence.name} shows {certificate.verdict}: {_numbers(certificate)}",
                certificate.verdict == evidence.shows,
            )


def _citations() -> int:
    from dprivbench_inspect.dataset import load_questions

    return sum(question.evidence == "citation" for question in load_questions(2).questions)


def _numbers(certificate: "Certificate") -> str:
    return (
        f"claim {certificate.claim:.6g}, measured {certificate.measured:.6g} "
        f"± {certificate.error:.1g}, margin {certificate.margin:.3g} {certificate.unit}; "
        f"{certificate.pair}"
    )


if __name__ == "__main__":
    main()
