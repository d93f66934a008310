"""The tasks: DPrivBench's two categories. arXiv:2604.15851."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.log import HeadlineMetric
from inspect_ai.solver import generate
from inspect_ai.viewer import TaskSamplesColumn, TaskSamplesView, ViewerConfig
from pydantic import BaseModel

from dprivbench_inspect import __version__
from dprivbench_inspect.arguments import (
    Arguments,
    Calibrate,
    Category1,
    Category2,
    Hard,
    checked,
)
from dprivbench_inspect.attribution_scorer import labelled_cause
from dprivbench_inspect.citation_scorer import citations
from dprivbench_inspect.dataset import (
    Loaded,
    keep,
    labelled_dataset,
    load_questions,
    noise_dataset,
    provenance,
    question_dataset,
)
from dprivbench_inspect.exemplars import EXEMPLARS
from dprivbench_inspect.hard_track import find_embedder, hard_track
from dprivbench_inspect.noise_scorer import noise_scale
from dprivbench_inspect.questions import Question
from dprivbench_inspect.refusals import one_line_errors
from dprivbench_inspect.scorers import paper_verdict, verdict
from dprivbench_inspect.solvers import ask_noise, ask_verdict, ask_with_help
from dprivbench_inspect.versions import COMPARABILITY, INTERFACE, VERSION


@task
@one_line_errors
def dprivbench_cat1(
    mechanisms: str | list[str] | None = None,
    functions: int | str | list[int] | None = None,
    variant: str = "pairs",
    prompt: str = "zero_shot",
    source: str = "bundled",
    revision: str | None = None,
    paper_extraction: bool = False,
) -> Task:
    """Textbook mechanisms over a bank of functions: does the noise suffice for the claim?

    Args:
        mechanisms: Keep these only: laplace, gaussian_gdp, gaussian_zcdp, expo_mech, laplace_rnm,
            permute_flip. None keeps all.
        functions: Keep these functions of the bank only, by number, 1 to 49.
        variant: "pairs" asks with exactly the noise needed and with half of it; "graded" with a
            factor drawn for each question. For source=bundled.
        prompt: "zero_shot", or "one_shot" with a worked example for the same mechanism.
        source: "bundled"; "hub" for the official questions; or a path: a folder in the public
            release's layout, one of its files, or a file in our form.
        revision: Commit, tag or branch of the Hub dataset. For source=hub.
        paper_extraction: Add a second score, read from the reply as the paper's code does it.
    """
    given = checked(Category1, locals())
    loaded = load_questions(1, given.source, given.revision, given.variant)
    questions = keep(loaded.questions, mechanisms=given.mechanisms, functions=given.functions)
    return _verdict_task("DPrivBench Category 1", given, loaded, questions, headline="accuracy")


@task
@one_line_errors
def dprivbench_cat2(
    topics: str | list[str] | None = None,
    subjects: str | list[str] | None = None,
    variant: str = "pairs",
    prompt: str = "zero_shot",
    source: str = "bundled",
    revision: str | None = None,
    allow_unreviewed: bool = False,
    paper_extraction: bool = False,
) -> Task:
    """Algorithms from the literature, each true claim beside false siblings: does it hold?

    Args:
        topics: Keep these only, such as dp_sgd or svt. None keeps all 18.
        subjects: Keep these only: Accounting and Composition, DP-ML, DP-statistics, Data-Adaptive.
        variant: "pairs" asks all; "paraphrase" asks the true claims in other words, under the same
            ids. For source=bundled.
        prompt: "zero_shot", or "one_shot" with a worked example.
        source: As for `dprivbench_cat1`; a file that `dprivbench paraphrase` wrote is one in our
            form.
        revision: As for `dprivbench_cat1`.
        allow_unreviewed: Take a file with paraphrases that no person has reviewed.
        paper_extraction: As for `dprivbench_cat1`.
    """
    given = checked(Category2, locals())
    loaded = load_questions(
        2,
        given.source,
        given.revision,
        given.variant,
        allow_unreviewed=given.allow_unreviewed,
    )
    questions = keep(loaded.questions, topics=given.topics, subjects=given.subjects)
    return _verdict_task("DPrivBench Category 2", given, loaded, questions, headline="F1")


@task
@one_line_errors
def dprivbench_hard(
    help: str = "theorems",
    source: str = "bundled",
    revision: str | None = None,
    theorems: str | None = None,
    k: int = 5,
    distractors: int = 0,
    embedder: str | None = None,
    paper_extraction: bool = False,
) -> Task:
    """Hard questions of Category 2 with statements of the literature in the prompt, cited by id.

    Args:
        help: "theorems" shows what the question rests on; "related" a true claim on another
            algorithm, with the reason why it holds; "retrieval" what a search over all theorem
            records finds; "none" nothing, for comparison on the same questions. A claim and its
            false siblings see the same, but for what is retrieved.
        source: "bundled": our hard questions, chosen by the rule in `theorems.hard_questions`;
            "hub" or a path in the release's layout: its own 18.
        revision: As for `dprivbench_cat1`.
        theorems: Folder of the release's Git repository, which holds its theorems: with official
            questions for help=theorems and help=retrieval. None looks in and beside `source`.
        k: For help=retrieval: how many statements are shown.
        distractors: For help=theorems: put so many other statements among the right ones.
        embedder: For help=retrieval: search by embeddings instead of words; the function that
            turns a list of texts into vectors, as package.module:function.
        paper_extraction: As for `dprivbench_cat1`.
    """
    given = checked(Hard, locals())
    track = hard_track(
        given.help,
        load_questions(2, given.source, given.revision),
        Path(given.theorems).expanduser() if given.theorems else None,
        k=given.k,
        distractors=given.distractors,
        embed=find_embedder(given.embedder) if given.embedder else None,
    )
    name = "DPrivBench: hard questions"
    scorers = [verdict()]
    if given.help != "none":
        scorers.append(citations())
    if given.paper_extraction:
        scorers.append(paper_verdict())
    return Task(
        dataset=MemoryDataset(track.samples, name=name),
        solver=ask_with_help(),
        scorer=scorers,
        headline_metric=HeadlineMetric(scorer="verdict", metric="F1"),
        version=COMPARABILITY,
        display_name=name,
        viewer=_VIEW,
        metadata=_metadata(given) | provenance(track.loaded, track.questions),
    )


@task
@one_line_errors
def dprivbench_calibrate(
    mechanisms: str | list[str] | None = None,
    functions: int | str | list[int] | None = None,
    prompt: str = "zero_shot",
) -> Task:
    """Textbook mechanisms over a bank of functions: the smallest noise that makes the claim true.

    The answer is a formula for the scale of Laplace or Gumbel noise, the standard deviation of
    normal noise, the mean of exponential noise. It may hold n, the privacy parameter and public
    constants.

    Args:
        mechanisms: As for `dprivbench_cat1`.
        functions: As for `dprivbench_cat1`.
        prompt: As for `dprivbench_cat1`.
    """
    given = checked(Calibrate, locals())
    # sympy; slow to import
    from dprivbench_inspect.calibration import noise_questions, noise_questions_hash

    questions = keep(
        list(noise_questions()), mechanisms=given.mechanisms, functions=given.functions
    )
    name = "DPrivBench: the smallest noise"
    return Task(
        dataset=noise_dataset(questions, name),
        solver=ask_noise(given.prompt),
        scorer=noise_scale(),
        headline_metric=HeadlineMetric(scorer="noise_scale", metric="equal"),
        version=COMPARABILITY,
        display_name=name,
        metadata=_metadata(given)
        | {
            "source": "bundled",
            "n_questions": len(questions),
            "questions_hash": noise_questions_hash(questions),
        },
    )


@task
@one_line_errors
def dprivbench_grader_check() -> Task:
    """Is the model a good grader? It finds the causes of wrong replies that a person has labelled.

    Run it with the model that is to be bound to the role `grader` of `attribution`.
    """
    name = "DPrivBench: a grader on labelled replies"
    return Task(
        dataset=labelled_dataset(name),
        solver=generate(),
        scorer=labelled_cause(),
        version=COMPARABILITY,
        display_name=name,
        metadata=_metadata(None),
    )


def _verdict_task(
    name: str, given: Arguments, loaded: Loaded, questions: Sequence[Question], headline: str
) -> Task:
    lacking = sorted({q.mechanism for q in questions if q.mechanism} - EXEMPLARS.keys())
    if given.prompt == "one_shot" and lacking:
        raise ValueError(
            f"prompt=one_shot has no worked example for mechanisms {lacking}; use prompt=zero_shot"
        )
    return Task(
        dataset=question_dataset(questions, name),
        solver=ask_verdict(given.prompt),
        scorer=[verdict(), paper_verdict()] if given.paper_extraction else verdict(),
        headline_metric=HeadlineMetric(scorer="verdict", metric=headline),
        version=COMPARABILITY,
        display_name=name,
        viewer=_VIEW,
        metadata=_metadata(given) | provenance(loaded, questions),
    )


def _metadata(given: BaseModel | None) -> dict[str, Any]:
    return {
        "full_task_version": VERSION,
        "task_comparability_version": COMPARABILITY,
        "task_interface_version": INTERFACE,
        "package_version": __version__,
        "arguments": given.model_dump(mode="json") if given else {},
    }


_VIEW = ViewerConfig(
    task_samples_view=TaskSamplesView(
        name="Verdicts",
        columns=[
            TaskSamplesColumn(id="sampleId"),
            TaskSamplesColumn(id="epoch"),
            TaskSamplesColumn(id="target"),
            TaskSamplesColumn(id="answer"),
            TaskSamplesColumn.score("verdict"),
            TaskSamplesColumn(id="input"),
            TaskSamplesColumn(id="tokens", visible=False),
            TaskSamplesColumn(id="error", visible=False),
        ],
        multiline=False,
    )
)
