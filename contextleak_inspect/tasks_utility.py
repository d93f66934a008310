"""What each defense costs in quality: the utility that belongs beside every audit."""

from inspect_ai import Task, task
from inspect_ai.model import GenerateConfig

from contextleak_inspect import __version__
from contextleak_inspect.arguments import one_line_errors
from contextleak_inspect.config import EMBEDDING, audit_config
from contextleak_inspect.embeddings import get_embedder
from contextleak_inspect.utility_questions import utility_questions
from contextleak_inspect.utility_scorers import utility
from contextleak_inspect.utility_solvers import utility_answers, utility_dataset
from contextleak_inspect.versions import COMPARABILITY, VERSION

# Whose settings the run has, by kind of task; all others are scored beside it.
_DEFENSE = {"classification": "rnm", "generation": "esa"}


@task
@one_line_errors
def contextleak_utility(
    kind: str = "classification",
    part: str = "test",
    epsilon: float | str | list[float] | None = None,
    delta: float | str | None = None,
    seed: int = 0,
    ensemble: int | None = None,
    n_exemplars: int = 20,
    embedding: str | None = None,
    candidates: int | None = None,
    source: str = "bundled",
    repo: str | None = None,
    revision: str | None = None,
    split: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    temperature: float | None = 0.0,
    system_turn: bool = True,
    neighbouring: str = "replace_one",
    noise_calibration: str = "analytic",
) -> Task:
    """Ask the task itself and score it under every defense and ε, from one set of answers.

    Classification: accuracy for zero-shot, few-shot, faux_secrets, keywords, output_filter, rnm and
    label_rr, and for llm_judge where the role `guard` is given. Generation: ROUGE-1, with esa and
    ksa for the last two. Choose settings on validation, report test.

    Args:
        kind: classification or generation.
        part: validation or test.
        epsilon: Claimed ε in nats, one or several: 1,2,4,8,inf.
        delta: δ of the claims [1e-5].
        seed: Fixes contexts, calls and noise.
        ensemble: Number of shards [10].
        n_exemplars: Private examples of one context.
        embedding: Embedding model of esa [openai/text-embedding-3-small]; generation only.
        candidates: Zero-shot replies that esa chooses from [10]; generation only.
        source: bundled, subjectivity, samsum, hub, or a path to a .csv or .jsonl file; 20 % of a
            file are validation, 30 % test and the rest the private pool.
        repo: Data set on the Hub. For source=hub.
        revision: Its commit, tag or branch.
        split: Its split for the private pool [train].
        text_column: Column of the texts, for hub and files.
        label_column: Column of labels or target texts.
        temperature: Sent with every call but the candidates, which get 1 where it is 0.
        system_turn: As for the audits.
        neighbouring: What the noise is calibrated for.
        noise_calibration: analytic, or classical to reproduce others.
    """
    settings = locals()
    part = settings.pop("part")
    kind = settings.pop("kind")
    if kind == "generation":
        settings["embedding"] = embedding or EMBEDDING
    if str(kind) not in _DEFENSE:
        raise ValueError(f"kind {kind!r} is none of {sorted(_DEFENSE)}")
    config = audit_config(settings | {"task": kind, "defense": _DEFENSE[kind]})
    if kind == "generation":
        get_embedder(config.embedding)  # what it lacks is said before any call
    questions = utility_questions(config, part)
    return Task(
        dataset=utility_dataset(questions),
        solver=utility_answers(questions),
        scorer=utility(),
        config=GenerateConfig(temperature=config.temperature),
        version=COMPARABILITY,
        display_name=f"ContextLeak utility, {kind}",
        metadata={
            "full_task_version": VERSION,
            "package_version": __version__,
            "utility": config.record(),
            "part": part,
            "data": {"name": questions.name, "sha256": questions.sha256},
        },
    )
