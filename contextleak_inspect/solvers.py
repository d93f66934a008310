"""ensemble(): each shard's answer as a vote, logged before any noise."""

from collections.abc import Sequence
from typing import Literal

from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import (
    GenerateConfig,
    Model,
    ModelName,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import StoreModel

from contextleak_inspect.calls import (
    ask,
    at_once,
    chat,
    check_windows,
    logprob_score,
    prompt_tokens,
    stop_reason,
    temperature_sent,
    warn_once,
)
from contextleak_inspect.config import TEXT_DEFENSES, UNPARSED, World
from contextleak_inspect.defenses import guard_prompt, guard_verdict, is_filtered
from contextleak_inspect.private_data import Exemplar, deal
from contextleak_inspect.public_texts import Texts, public_texts, with_texts
from contextleak_inspect.trials import (
    Audit,
    Call,
    Trial,
    call_seed,
    canary_shard,
    context,
    plan_calls,
)
from contextleak_inspect.votes import FORCED, PROMPT_CUT, TrialVotes, Vote, check_labels, read_vote


class Answers(StoreModel):
    """What one trial leaves in the log: enough to score it again, at any ε, without a model.

    `config` is the AuditConfig as JSON; `temperature_sent` is None where the provider left it out
    of the request (reasoning models refuse it) and "unknown" where the request was not logged.
    """

    trial: TrialVotes | None = None
    config: str = "{}"
    temperature_requested: float | None = None
    temperature_sent: float | Literal["unknown"] | None = "unknown"


# Inspect's names of two fields in the store: a StoreModel takes 0.3 ms to read.
LOGGED_CONFIG = f"{Answers.__name__}:config"
LOGGED_TRIAL = f"{Answers.__name__}:trial"


@solver
def ensemble(audit: Audit) -> Solver:
    """Ask every shard of a trial and log the votes; nothing is released and no noise is drawn.

    Each call has a seed of its own, derived from audit, trial and call: where the provider takes
    seeds a retry repeats them, and Inspect's cache, which has the seed in its key, can replay
    this audit but never give one answer to two calls.

    Args:
        audit: The audit, made ready; the dataset must come from the same one.
    """
    if audit.config.task == "classification":
        check_labels(audit.labels)
    settings = audit.config.text()
    ask_public = public_texts(audit) if audit.config.defense in TEXT_DEFENSES else None

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.epoch != 1:
            raise ValueError("more than one epoch repeats coins: use -T trials=, not --epochs")
        if not str(state.sample_id).startswith(f"{audit.id}-"):
            raise ValueError(
                f"sample {state.sample_id} is not of audit {audit.id}: data, query or settings "
                "have changed since the log was begun; run anew"
            )
        try:
            return await answered(state)
        finally:
            # A trial that is lost must still say of which audit it was. Not set before the calls,
            # since Inspect compares all that a store holds at both ends of each of them.
            state.store.set(LOGGED_CONFIG, settings)

    async def answered(state: TaskState) -> TaskState:
        trial = audit.trials[state.metadata["trial"]]
        model, asked = get_model(), plan_calls(audit, trial)
        if audit.config.defense == "llm_judge" and "guard" not in model_roles():
            raise ValueError("llm_judge needs its judge: give --model-role guard=<model>")
        check_windows(model, asked)
        public, made = await ask_public(model) if ask_public else (None, False)
        before = len(transcript().events)
        outputs = await at_once(ask(model, audit, trial, call) for call in asked)
        blocked = await _blocked(model, audit, trial, asked, outputs)
        votes = [
            _read(audit, call, output, block)
            for call, output, block in zip(asked, outputs, blocked, strict=True)
        ]
        events = [
            event
            for event in transcript().events[before:]
            if isinstance(event, ModelEvent) and event.role != "guard"
        ]
        record = _record(audit, trial, asked, outputs, votes).model_copy(
            update={"cached": sum(event.cache == "read" for event in events)}
        )
        if public is not None:
            texts = Texts(store=state.store)
            record = await with_texts(texts, audit, record, asked, outputs, public, made=made)
        Answers(
            store=state.store,
            trial=record,
            config=settings,
            temperature_requested=audit.config.temperature,
            temperature_sent=temperature_sent(audit, events),
        )
        state.output = ModelOutput.from_content(str(model), _summary(record))
        state.completed = True
        return state

    return solve


async def _blocked(
    model: Model,
    audit: Audit,
    trial: Trial,
    asked: Sequence[Call],
    outputs: Sequence[ModelOutput],
) -> list[bool]:
    config = audit.config
    if config.defense == "output_filter":
        return [
            is_filtered(output.completion, _exemplars(audit, trial, call), config)
            for call, output in zip(asked, outputs, strict=True)
        ]
    if config.defense != "llm_judge":
        return [False] * len(asked)
    guard = get_model(role="guard", required=True)
    shown = config.guard_sees_exemplars
    if shown and ModelName(guard).api != ModelName(model).api:
        warn_once(f"private exemplars are sent to {guard} as well, as guard_sees_exemplars asks")

    async def judge(call: Call, output: ModelOutput) -> bool:
        exemplars = _exemplars(audit, trial, call) if shown else ()
        prompt = guard_prompt(call.prompt.user, output.completion, exemplars)
        reply = await guard.generate(
            chat(prompt),
            config=GenerateConfig(seed=call_seed(audit, trial, f"guard {call.key}")),
        )
        return guard_verdict(reply.completion) is not False  # an unclear verdict blocks

    return await at_once(judge(call, output) for call, output in zip(asked, outputs, strict=True))


def _exemplars(audit: Audit, trial: Trial, call: Call) -> tuple[Exemplar, ...]:
    world = call.worlds[0] if call.worlds else trial.worlds[0]
    return deal(context(audit, trial, world), audit.config.ensemble)[call.shard]


def _read(audit: Audit, call: Call, output: ModelOutput, blocked: bool) -> Vote:
    if audit.config.membership == "logprob" and audit.query.reads != "label":
        return Vote(UNPARSED, FORCED)
    vote = read_vote(
        output.completion,
        stop_reason(output),
        labels=audit.labels,
        canary=audit.canary,
        query=audit.query,
        blocked=blocked,
    )
    words = len(call.prompt.system.split()) + len(call.prompt.user.split())
    if 0 < prompt_tokens(output) < words:  # no tokenizer has fewer tokens than words
        return vote._replace(mark=PROMPT_CUT)
    return vote


def _record(
    audit: Audit,
    trial: Trial,
    asked: Sequence[Call],
    outputs: Sequence[ModelOutput],
    votes: Sequence[Vote],
) -> TrialVotes:
    labels = audit.labels
    by_world = {
        world: sorted((call.shard, i) for i, call in enumerate(asked) if world in call.worlds)
        for world in trial.worlds
    }
    null = None
    if trial.null_control:
        first = next(i for i, call in enumerate(asked) if call.shard == asked[-1].shard)
        null = (votes[first].vote, votes[-1].vote)
    scores: dict[World, float] = {}
    if audit.config.membership == "logprob":
        for world, shards in by_world.items():
            score = logprob_score(audit, outputs[shards[0][1]])
            if score is not None:
                scores[world] = score
    return TrialVotes(
        audit=audit.id,
        seed=audit.config.seed,
        trial=trial.number,
        part=trial.part,
        labels=labels,
        answer=labels.index(audit.canary.answer),
        other=labels.index(audit.canary.other),
        votes={w: tuple(votes[i].vote for _, i in shards) for w, shards in by_world.items()},
        marks={w: "".join(votes[i].mark for _, i in shards) for w, shards in by_world.items()},
        canary_shard=canary_shard(audit, trial),
        planted_shards=tuple(slot // audit.config.shots for slot in trial.planted),
        null_control=null,
        logprob_scores=scores,
        prompt_tokens={
            w: sum(prompt_tokens(outputs[i]) for _, i in shards) for w, shards in by_world.items()
        },
        calls=len(asked),
        guard_calls=len(asked) if audit.config.defense == "llm_judge" else 0,
    )


def _summary(record: TrialVotes) -> str:
    """The votes in words, for the log viewer."""
    lines = []
    for world, votes in record.votes.items():
        counts = [f"{label} {votes.count(i)}" for i, label in enumerate(record.labels)]
        lines.append(f"canary {world}: {', '.join(counts)}, no label {votes.count(UNPARSED)}")
    return "\n".join(lines)
