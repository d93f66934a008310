"""What an audit of texts asks beside its trials, once a run: zero-shot and calibration replies."""

import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import anyio
import numpy as np
from inspect_ai.model import GenerateConfig, Model, ModelOutput
from inspect_ai.util import StoreModel
from numpy.typing import ArrayLike
from pydantic import Field

from contextleak_inspect.calls import ask_prompt, at_once, warn_of_embedder
from contextleak_inspect.canaries import plant
from contextleak_inspect.config import World, stream, stream_seed
from contextleak_inspect.embeddings import get_embedder
from contextleak_inspect.queries import Prompt
from contextleak_inspect.trials import Audit, Call, shard_prompt
from contextleak_inspect.votes import TrialVotes

if TYPE_CHECKING:
    from contextleak_inspect.text_measures import Reference

# Zero-shot texts are public; at temperature 0 they would all be one text.
CANDIDATE_TEMPERATURE = 1.0


class PublicTexts(NamedTuple):
    """Zero-shot replies to the query, and for embeddings the reference made of them.

    `asked` counts the model calls behind it, `embedded` and `truncated` the texts.
    """

    candidates: tuple[str, ...]
    reference: "Reference | None"
    asked: int
    embedded: int = 0
    truncated: int = 0


class Texts(StoreModel):
    """Texts and vectors in full, for readers of the log; scoring needs none of them.

    `vectors` holds each call's embedding, `reference` the direction, the typical reply without
    the canary and the candidates, as base64 of little-endian 32-bit floats. Candidates and
    reference stand in the first trial only, which asked for them.
    """

    embedding: str = ""
    vectors: dict[str, str] = Field(default_factory=dict)
    candidates: list[str] = Field(default_factory=list)
    reference: list[str] = Field(default_factory=list)


def packed(vector: ArrayLike) -> str:
    """A vector as base64 of 32-bit floats."""
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


def unpacked(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The vector behind `packed`.

    >>> unpacked(packed([0.5, -1.0])).tolist()
    [0.5, -1.0]
    """
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def public_texts(audit: Audit) -> Callable[[Model], Awaitable[tuple[PublicTexts, bool]]]:
    """A function that asks for the audit's public texts, once per model.

    It returns them and whether this call was the one that asked. Trials that come meanwhile wait;
    if asking fails the next trial asks again. One reference for all trials is sound: it depends on
    no trial, and any fixed detector may be used.
    """
    known: dict[str, PublicTexts] = {}
    lock = anyio.Lock()

    async def texts(model: Model) -> tuple[PublicTexts, bool]:
        async with lock:
            if (found := known.get(str(model))) is not None:
                return found, False
            known[str(model)] = await _ask(audit, model)
            return known[str(model)], True

    return texts


async def _ask(audit: Audit, model: Model) -> PublicTexts:
    from contextleak_inspect.text_measures import make_reference  # scipy is slow to load

    config = audit.config
    if config.defense == "esa":
        warn_of_embedder(model, config.embedding)
    pairs = config.reference_pairs if config.defense == "esa" else 0
    zero_shot = shard_prompt(audit, ())
    warm = CANDIDATE_TEMPERATURE if config.temperature == 0 else None
    calls = [
        *((zero_shot, f"candidate {i}", warm) for i in range(config.candidates)),
        *((_context(audit, i, "in"), f"reference {i} in", None) for i in range(pairs)),
        *((_context(audit, i, "out"), f"reference {i} out", None) for i in range(pairs)),
    ]

    async def reply(prompt: Prompt, name: str, temperature: float | None) -> str:
        seed = stream_seed(config.seed, audit.id, name) % 2**31
        settings = GenerateConfig(seed=seed, temperature=temperature)
        return (await ask_prompt(model, audit, prompt, settings)).completion

    replies = await at_once(reply(*call) for call in calls)
    candidates = tuple(replies[: config.candidates])
    if config.defense != "esa":
        return PublicTexts(candidates, None, len(calls))
    vectors, truncated = await get_embedder(config.embedding)(replies)
    first, rest = config.candidates, config.candidates + pairs
    reference = make_reference(vectors[first:rest], vectors[rest:], vectors[:first])
    return PublicTexts(candidates, reference, len(calls), len(replies), int(truncated.sum()))


def _context(audit: Audit, number: int, world: World) -> Prompt:
    """A shard of the auditor's own draw, with the canary in it or not."""
    config = audit.config
    rng = stream(config.seed, "reference", number)
    drawn = rng.choice(len(audit.data.pool), size=config.shots, replace=False)
    exemplars = [audit.data.pool[i] for i in drawn]
    if world == "in":
        place = {"random": int(rng.integers(config.shots)), "first": 0, "last": config.shots - 1}
        exemplars = list(plant(exemplars, [place[config.placement]], audit.canary))
    return shard_prompt(audit, exemplars)


async def with_texts(
    texts: Texts,
    audit: Audit,
    record: TrialVotes,
    asked: Sequence[Call],
    outputs: Sequence[ModelOutput],
    public: PublicTexts,
    *,
    made: bool,
) -> TrialVotes:
    """The record with its replies as numbers; texts and vectors in full go into the store.

    Args:
        texts: The trial's part of the store.
        audit: The audit.
        record: The trial without its texts.
        asked: Its calls.
        outputs: Their replies.
        public: The audit's public texts.
        made: Whether this trial asked for them, so that they are logged and counted here.
    """
    from contextleak_inspect.text_measures import embedding_record, keyword_record

    if made:
        texts.candidates = list(public.candidates)
        record = record.model_copy(update={"calls": record.calls + public.asked})
    shards = {
        world: sorted((call.shard, i) for i, call in enumerate(asked) if world in call.worlds)
        for world in record.votes
    }
    replies = [output.completion for output in outputs]
    if public.reference is None:
        keywords = keyword_record(
            {world: [replies[i] for _, i in found] for world, found in shards.items()},
            [audit.query.fill(audit.canary), *public.candidates],
            audit.canary.text,
        )
        return record.model_copy(update={"keywords": keywords})
    vectors, truncated = await get_embedder(audit.config.embedding)(replies)
    texts.embedding = audit.config.embedding
    texts.vectors = {call.key: packed(v) for call, v in zip(asked, vectors, strict=True)}
    if made:
        known = public.reference
        looked_at = (known.direction, known.absent, *known.candidates)
        texts.reference = [packed(vector) for vector in looked_at]
    embedded = embedding_record(
        audit.config.embedding,
        {world: vectors[[i for _, i in found]] for world, found in shards.items()},
        public.reference,
        texts=len(replies) + made * public.embedded,
        truncated=int(truncated.sum()) + made * public.truncated,
    )
    return record.model_copy(update={"embedded": embedded})
