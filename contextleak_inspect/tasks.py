"""The tasks: audits of private in-context learning. arXiv:2512.16059."""

from typing import Any

from inspect_ai import Task, task
from inspect_ai.viewer import TaskSamplesColumn, TaskSamplesView, ViewerConfig

from contextleak_inspect import __version__
from contextleak_inspect.arguments import one_line_errors
from contextleak_inspect.calls import generate_config
from contextleak_inspect.config import audit_config
from contextleak_inspect.dataset import audit_dataset
from contextleak_inspect.scorers import membership
from contextleak_inspect.solvers import ensemble
from contextleak_inspect.stopping import StopAtBound
from contextleak_inspect.trials import Audit, prepare_audit
from contextleak_inspect.versions import COMPARABILITY, INTERFACE, VERSION


@task
@one_line_errors
def contextleak_classification(
    defense: str = "rnm",
    epsilon: float | str | list[float] | None = None,
    delta: float | str | None = None,
    trials: int | None = None,
    seed: int = 0,
    canary: str = "hex",
    canary_label: str | None = None,
    query: str = "if_then_explicit",
    placement: str = "random",
    vote_balance: str = "natural",
    membership: str = "match",
    source: str = "bundled",
    repo: str | None = None,
    revision: str | None = None,
    split: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    n_exemplars: int = 20,
    ensemble: int | None = None,
    temperature: float | None = 0.0,
    system_turn: bool = True,
    calls: str = "naive",
    stop_at: float | None = None,
    bound: str | None = None,
    threshold: str | None = None,
    target_fpr: float = 0.1,
    fixed_fpr: float | None = None,
    confidence: float = 0.95,
    neighbouring: str = "replace_one",
    noise_calibration: str = "analytic",
    balanced: bool = False,
    null_controls: int | None = None,
    calibration_share: float = 0.3,
    context_window: int | None = None,
    guard_sees_exemplars: bool = False,
    filter_match: str | None = None,
    filter_similarity: float = 0.8,
    filter_pattern: str | None = None,
) -> Task:
    """Plant a canary among private examples of a classifier and measure what its release shows.

    None stands for the defense's own default.

    Args:
        defense: none, zero_shot, faux_secrets, keywords, llm_judge (its judge is the model of the
            role `guard`), output_filter, rnm or label_rr. Only the last two claim an ε.
        epsilon: Claimed ε in nats, one or several: 1,2,4,8,inf. One set of answers serves all.
        delta: δ of claim and bounds [rnm: 1e-5; label_rr: 0].
        trials: Number of trials, both worlds together [100; repeats in frozen mode: 20].
        seed: Fixes canary, coins, contexts, calls and noise.
        canary: hex, unigram, false_fact, ngram or structured.
        canary_label: Its label; None takes the rarest.
        query: input_output, if_then_explicit, if_then_implicit, prompt_injection, completion, or a
            query file.
        placement: Slot of the canary in its shard: random, first or last.
        vote_balance: tied plants the canary in half of the other shards too, so that one vote
            decides the label; natural does not.
        membership: match reads replies; logprob uses the model's log-probabilities (grey-box).
        source: bundled, subjectivity, hub, or a path to a .csv or .jsonl file.
        repo: Data set on the Hub. For source=hub.
        revision: Its commit, tag or branch.
        split: Its split.
        text_column: Column of the texts, for hub and files.
        label_column: Column of the labels.
        n_exemplars: Private examples of one context.
        ensemble: Number of shards they are dealt into [rnm: 10; others: 1].
        temperature: Sent with every call; null leaves it to the provider.
        system_turn: false puts the examples at the head of the user turn, for models without a
            system turn (Gemma, for one).
        calls: naive (new answers for each trial), paired (both worlds share the unchanged shards)
            or frozen (a model that always answers alike).
        stop_at: End the run once the anytime-valid bound is above this ε.
        bound: Which bound is called "ε ≥": clopper_pearson, or e_process (valid at any time).
        threshold: fixed, fixed_rank, holdout, grid or dkw.
        target_fpr: FPR of fixed_rank and of the paper's empirical ε.
        fixed_fpr: FPR at which theory puts the threshold fixed, for rnm and esa; None cuts half-way
            between the two worlds of a model that never errs.
        confidence: Probability that each bound holds.
        neighbouring: What the noise is calibrated for: replace_one or add_remove. The attack
            replaces an example.
        noise_calibration: analytic, or classical to reproduce others.
        balanced: As many trials with the canary as without, instead of a coin for each.
        null_controls: Trials that ask one prompt twice, to see whether answers repeat [10, or all].
        calibration_share: Share of trials, the first, that choose the threshold of holdout.
        context_window: Tokens; prompts that may not fit are refused before the run.
        guard_sees_exemplars: Show the private examples to the judge of llm_judge.
        filter_match: exact, fuzzy or regex, for output_filter.
        filter_similarity: Share of a private text that must agree, for fuzzy.
        filter_pattern: Pattern that blocks a reply, for regex; it must be decided within 2 s.
    """
    return audit_task(prepare_audit(audit_config(locals() | {"task": "classification"})))


def audit_task(audit: Audit) -> Task:
    """The Inspect task of an audit that is made ready."""
    config = audit.config
    if (
        config.membership == "logprob"
        and config.threshold == "fixed"
        and audit.query.reads != "label"
    ):
        raise ValueError(
            "theory gives no threshold for the log-probability of a text; use threshold "
            "'fixed_rank', 'holdout' or 'dkw'"
        )
    return Task(
        dataset=audit_dataset(audit),
        solver=ensemble(audit),
        scorer=membership(),
        config=generate_config(audit),
        early_stopping=None if config.stop_at is None else StopAtBound(config),
        version=COMPARABILITY,
        display_name=f"ContextLeak {config.task}, {config.defense}",
        viewer=_VIEW,
        metadata=_metadata(audit),
    )


def _metadata(audit: Audit) -> dict[str, Any]:
    return {
        "full_task_version": VERSION,
        "task_comparability_version": COMPARABILITY,
        "task_interface_version": INTERFACE,
        "package_version": __version__,
        "audit": audit.id,
        "config": audit.config.record(),
        "canary": {"text": audit.canary.text, "label": audit.canary.answer},
        "data": {"name": audit.data.name, "sha256": audit.data.sha256},
    }


_VIEW = ViewerConfig(
    task_samples_view=TaskSamplesView(
        name="Trials",
        columns=[
            TaskSamplesColumn(id="sampleId"),
            TaskSamplesColumn(id="target"),
            TaskSamplesColumn(id="answer"),
            TaskSamplesColumn(id="tokens", visible=False),
            TaskSamplesColumn(id="error", visible=False),
        ],
        multiline=False,
    )
)
