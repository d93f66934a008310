"""The tasks: DPrivBench's two categories. arXiv:2604.15851."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from inspect_ai import Task, task
from inspect_ai.log import HeadlineMetric
from inspect_ai.viewer import TaskSamplesColumn, TaskSamplesView, ViewerConfig
from pydantic import BaseModel, BeforeValidator, ConfigDict

from dprivbench_inspect import __version__
from dprivbench_inspect.dataset import (
    Loaded,
    keep,
    load_questions,
    noise_dataset,
    provenance,
    question_dataset,
)
from dprivbench_inspect.noise_scorer import noise_scale
from dprivbench_inspect.prompts import PromptForm
from dprivbench_inspect.questions import Question
from dprivbench_inspect.scorers import paper_verdict, verdict
from dprivbench_inspect.solvers import ask_noise, ask_verdict

# N-X: N moves when scores stop being comparable, X when arguments change.
COMPARABILITY, INTERFACE = 1, "A"


def _listed(value: object) -> object:
    """`-T topics=a` comes as a string, `a,b` as a list or, from Python, as one string."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return [value] if isinstance(value, int) else value


class Arguments(BaseModel):
    """What both tasks take, checked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: PromptForm
    source: str
    revision: str | None
    paper_extraction: bool


class Calibrate(BaseModel):
    """Arguments of `dprivbench_calibrate`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanisms: Annotated[tuple[str, ...] | None, BeforeValidator(_listed)]
    functions: Annotated[tuple[int, ...] | None, BeforeValidator(_listed)]
    prompt: PromptForm


class Category1(Arguments):
    """Arguments of `dprivbench_cat1`."""

    mechanisms: Annotated[tuple[str, ...] | None, BeforeValidator(_listed)]
    functions: Annotated[tuple[int, ...] | None, BeforeValidator(_listed)]
    variant: Literal["pairs", "graded"]


class Category2(Arguments):
    """Arguments of `dprivbench_cat2`."""

    topics: Annotated[tuple[str, ...] | None, BeforeValidator(_listed)]
    subjects: Annotated[tuple[str, ...] | None, BeforeValidator(_listed)]


@task
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
    given = Category1.model_validate(locals())
    loaded = load_questions(1, given.source, given.revision, given.variant)
    questions = keep(loaded.questions, "mechanisms", "mechanism", given.mechanisms)
    questions = keep(questions, "functions", "function_id", given.functions)
    return _verdict_task("DPrivBench Category 1", given, loaded, questions, headline="accuracy")


@task
def dprivbench_cat2(
    topics: str | list[str] | None = None,
    subjects: str | list[str] | None = None,
    prompt: str = "zero_shot",
    source: str = "bundled",
    revision: str | None = None,
    paper_extraction: bool = False,
) -> Task:
    """Algorithms from the literature, each true claim beside false siblings: does it hold?

    Args:
        topics: Keep these only, such as dp_sgd or svt. None keeps all 18.
        subjects: Keep these only: Accounting and Composition, DP-ML, DP-statistics, Data-Adaptive.
        prompt: "zero_shot", or "one_shot" with a worked example.
        source: As for `dprivbench_cat1`.
        revision: As for `dprivbench_cat1`.
        paper_extraction: As for `dprivbench_cat1`.
    """
    given = Category2.model_validate(locals())
    loaded = load_questions(2, given.source, given.revision)
    questions = keep(loaded.questions, "topics", "topic", given.topics)
    questions = keep(questions, "subjects", "subject", given.subjects)
    return _verdict_task("DPrivBench Category 2", given, loaded, questions, headline="F1")


@task
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
    given = Calibrate.model_validate(locals())
    from dprivbench_inspect.calibration import noise_questions  # sympy; slow to import

    questions = keep(list(noise_questions()), "mechanisms", "mechanism", given.mechanisms)
    questions = keep(questions, "functions", "function_id", given.functions)
    name = "DPrivBench: the smallest noise"
    return Task(
        dataset=noise_dataset(questions, name),
        solver=ask_noise(given.prompt),
        scorer=noise_scale(),
        headline_metric=HeadlineMetric(scorer="noise_scale", metric="equal"),
        version=COMPARABILITY,
        display_name=name,
        metadata=_metadata(given) | {"source": "bundled", "n_questions": len(questions)},
    )


def _verdict_task(
    name: str, given: Arguments, loaded: Loaded, questions: Sequence[Question], headline: str
) -> Task:
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


def _metadata(given: BaseModel) -> dict[str, Any]:
    return {
        "full_task_version": f"{COMPARABILITY}-{INTERFACE}",
        "task_comparability_version": COMPARABILITY,
        "task_interface_version": INTERFACE,
        "package_version": __version__,
        "arguments": given.model_dump(mode="json"),
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
