"""One call: messages and settings out; tokens, temperature and log-probabilities back."""

import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar

import anyio
from inspect_ai.event import ModelEvent
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelName,
    ModelOutput,
    get_model_info,
)

from contextleak_inspect.canaries import ABSENT
from contextleak_inspect.queries import Prompt, check_window
from contextleak_inspect.trials import Audit, Call, Trial, call_seed
from contextleak_inspect.votes import label_log_odds

logger = logging.getLogger(__name__)
SIMULATED = "contextleak/simulated"
LISTED_LOGPROBS = 20
FORCED_TOKENS = 256
_Reply = TypeVar("_Reply")


def generate_config(audit: Audit) -> GenerateConfig:
    """Generation settings of the task; the temperature is part of the audit, not of the command."""
    return GenerateConfig(temperature=audit.config.temperature)


async def at_once(calls: Iterable[Awaitable[_Reply]]) -> list[_Reply]:
    """The results of calls that run at the same time, in their order; the first error of several.

    Inspect's `collect()` without a span around each call: here a span would hold one event, and
    two more events a call make a log a third larger and a trial a third slower.
    """
    results: dict[int, _Reply] = {}

    async def run(place: int, call: Awaitable[_Reply]) -> None:
        results[place] = await call

    try:
        async with anyio.create_task_group() as group:
            for place, call in enumerate(calls):
                group.start_soon(run, place, call)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [results[place] for place in sorted(results)]


async def ask(model: Model, audit: Audit, trial: Trial, call: Call) -> ModelOutput:
    """The model's reply to one call.

    The seed is the call's own: where a provider takes seeds a retry repeats the reply, and
    Inspect's cache, whose key holds the seed, can replay an audit but never give one reply to two
    calls. For the log-probability of a text the rest of the canary is forced by a grammar.
    """
    begun = call.prompt.begun
    config = GenerateConfig(seed=call_seed(audit, trial, call.key))
    if audit.config.membership == "logprob":
        config.logprobs = True
        if audit.query.reads == "label":
            config.top_logprobs = LISTED_LOGPROBS
        else:
            begun = begun or audit.canary.head
            rest = audit.canary.text[len(audit.canary.head) :]
            config.extra_body = {"grammar": _only(rest)}
            config.max_tokens = FORCED_TOKENS
    return await ask_prompt(model, audit, call.prompt._replace(begun=begun), config)


async def ask_prompt(
    model: Model, audit: Audit, prompt: Prompt, config: GenerateConfig
) -> ModelOutput:
    """The model's reply to a prompt of this audit, whether it is part of a trial or not."""
    messages = chat(prompt, system_turn=audit.config.system_turn)
    if str(model) == SIMULATED:
        messages[-1 - bool(prompt.begun)].metadata = _cue(audit)
    return await model.generate(messages, config=config)


def chat(prompt: Prompt, *, system_turn: bool = True) -> list[ChatMessage]:
    """The prompt as turns of a chat; without a system turn its text comes first in the user's."""
    turns: list[ChatMessage] = (
        [ChatMessageSystem(content=prompt.system), ChatMessageUser(content=prompt.user)]
        if system_turn
        else [ChatMessageUser(content=f"{prompt.system}\n\n{prompt.user}")]
    )
    return [*turns, ChatMessageAssistant(content=prompt.begun)] if prompt.begun else turns


def _cue(audit: Audit) -> dict[str, Any]:
    """What the simulated responder must know to play a model; it says nothing about the coin."""
    canary, reads = audit.canary, audit.query.reads
    yes = {"label": canary.answer, "canary": canary.text, "tail": canary.tail}[reads]
    no = "There is no such text."
    if reads == "label" or canary.other == ABSENT:
        no = canary.other
    return {"query": audit.query.fill(canary), "canary": canary.text, "yes": yes, "no": no}


def _only(text: str) -> str:
    """A GBNF grammar whose only sentence is the text (llama.cpp's servers take it)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'root ::= "{escaped}"'


def stop_reason(output: ModelOutput) -> str:
    """Why the model stopped; "unknown" where a provider gave no reply at all."""
    return output.stop_reason if output.choices else "unknown"


def prompt_tokens(output: ModelOutput) -> int:
    """Tokens of the prompt as the provider counted them, prompt cache included; 0 if unknown."""
    usage = output.usage
    if usage is None:
        return 0
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return usage.input_tokens + cached


def logprob_score(audit: Audit, output: ModelOutput) -> float | None:
    """Grey-box membership score in nats; None where the reply decides for neither label.

    Label queries: log P(y_c) - log P(other). Text queries: mean log-probability per token of the
    canary's tail, forced after its head.

    Raises:
        ValueError: The provider returned no log-probabilities.
    """
    logprobs = output.choices[0].logprobs if output.choices else None
    if logprobs is None or not logprobs.content:
        raise ValueError(
            "membership 'logprob' needs a provider that returns log-probabilities, and this one "
            "returned none; use membership 'match'"
        )
    if audit.query.reads != "label":
        return sum(token.logprob for token in logprobs.content) / len(logprobs.content)
    listed = [
        {top.token: top.logprob for top in token.top_logprobs or []} for token in logprobs.content
    ]
    return label_log_odds(
        [tops for tops in listed if tops], audit.canary.answer, audit.canary.other
    )


def temperature_sent(
    audit: Audit, events: Sequence[ModelEvent]
) -> float | Literal["unknown"] | None:
    """What went out: a value that a provider drops must not be reported as if it held.

    Raises:
        ValueError: Another temperature was asked for than the audit says.
    """
    requested = audit.config.temperature
    for event in events:
        if event.config.temperature != requested:
            raise ValueError(
                f"temperature {event.config.temperature} is asked of the model, the audit says "
                f"{requested}: set it with -T temperature=, not with --temperature"
            )
    request = next((event.call.request for event in events if event.call is not None), None)
    if request is None:
        return "unknown"
    sent = _find_temperature(request)
    if sent is None and requested is not None:
        warn_once(f"temperature {requested} was not sent: this model takes none")
    return sent


def _find_temperature(request: Mapping[str, Any]) -> float | None:
    """Providers put it at the top, or into a nested settings object."""
    for name, value in request.items():
        if name == "temperature" and isinstance(value, int | float):
            return float(value)
        if isinstance(value, Mapping) and (found := _find_temperature(value)) is not None:
            return found
    return None


def check_windows(model: Model, asked: Sequence[Call]) -> None:
    """Refuse prompts that may not fit the window that Inspect knows for the model.

    Raises:
        ValueError: One may be cut, and the canary with it.
    """
    window = _context_length(str(model))
    for call in asked:
        # A token is at least one byte, so short prompts need no estimate.
        if window is not None and len("".join(call.prompt).encode()) > window:
            check_window(call.prompt, window)


@cache
def _context_length(model: str) -> int | None:
    info = get_model_info(model)
    return info.context_length if info is not None else None


def warn_of_embedder(model: Model, embedding: str) -> None:
    """Replies may hold private texts; say so where another provider than the model's reads them."""
    provider = embedding.partition("/")[0]
    if provider in {"openai", "google"} and ModelName(model).api != provider:
        warn_once(
            f"replies, which may hold private texts, are sent to {embedding} as well; "
            "embedding=onnx/minilm-l6-v2 reads them on this machine"
        )


@cache
def warn_once(message: str) -> None:
    """A warning in log and terminal, the first time only."""
    logger.warning(message)
