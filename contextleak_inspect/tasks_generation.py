"""The audit of texts: what embedding or keyword aggregation of a private context leaks."""

from inspect_ai import Task, task

from contextleak_inspect.arguments import one_line_errors
from contextleak_inspect.config import EMBEDDING, audit_config
from contextleak_inspect.embeddings import get_embedder
from contextleak_inspect.tasks import audit_task
from contextleak_inspect.trials import prepare_audit


@task
@one_line_errors
def contextleak_generation(
    defense: str = "esa",
    epsilon: float | str | list[float] | None = None,
    delta: float | str | None = None,
    trials: int | None = None,
    seed: int = 0,
    canary: str = "hex",
    query: str = "if_then_explicit",
    placement: str = "random",
    membership: str = "match",
    embedding: str = EMBEDDING,
    candidates: int = 10,
    reference_pairs: int = 8,
    keyword_mechanism: str = "joint",
    n_keywords: int = 10,
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
    """Plant a canary among private texts and measure what the released texts show.

    None stands for the defense's own default. Arguments that are not listed are those of
    `contextleak_classification`.

    Args:
        defense: none, zero_shot, faux_secrets, keywords, llm_judge (its judge is the model of the
            role `guard`), output_filter, esa or ksa. Only the last two claim an ε.
        epsilon: Claimed ε in nats, one or several: 1,2,4,8,inf. One set of answers serves all.
        delta: δ of claim and bounds [1e-5].
        trials: Number of trials, both worlds together [100; repeats in frozen mode: 20].
        seed: Fixes canary, coins, contexts, calls and noise.
        canary: hex, unigram, false_fact, ngram or structured; its answer is the canary itself.
        query: input_output, if_then_explicit, if_then_implicit, prompt_injection, completion, or a
            query file such as `contextleak search` writes.
        placement: Slot of the canary in its shard: random, first or last.
        membership: match reads replies; logprob uses the model's log-probabilities (grey-box).
        embedding: Embedding model of esa, which reads every reply: openai/… or google/… (a
            provider, with its key in the environment), onnx/minilm-l6-v2 or onnx:<folder> (on this
            machine), or hashing (tests only).
        candidates: Zero-shot replies, asked once a run: esa releases one of them, and their words
            are public for ksa.
        reference_pairs: Calibration calls that show esa's detector where to look, two a pair.
        keyword_mechanism: How ksa releases words: joint (exponential mechanism over lists of
            public words) or ptr (propose-test-release, any words or none).
        n_keywords: How many words, at most.
        source: bundled (dialogues and summaries), samsum, hub, or a path to a .csv or .jsonl file.
        repo: Data set on the Hub. For source=hub.
        revision: Its commit, tag or branch.
        split: Its split.
        text_column: Column of the texts, for hub and files.
        label_column: Column of their target texts.
        n_exemplars: Private examples of one context.
        ensemble: Number of shards they are dealt into [esa, ksa: 10; others: 1].
        temperature: Sent with every call but the zero-shot ones, which get 1 where it is 0; null
            leaves it to the provider.
        system_turn: As for `contextleak_classification`.
        calls: naive, paired or frozen (esa).
        stop_at: End the run once the anytime-valid bound is above this ε.
        bound: Which bound is called "ε ≥": clopper_pearson, or e_process (valid at any time).
        threshold: fixed, fixed_rank, holdout, grid or dkw.
        target_fpr: FPR of fixed_rank and of the paper's empirical ε.
        fixed_fpr: FPR at which theory puts the threshold fixed, for esa; None cuts half-way.
        confidence: Probability that each bound holds.
        neighbouring: What the noise is calibrated for: replace_one or add_remove.
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
    config = audit_config(locals() | {"task": "generation"})
    if config.defense == "esa":
        get_embedder(config.embedding)  # what it lacks is said before any call
    return audit_task(prepare_audit(config))
