"""A simulated model with chosen hit and false-vote rates: theory can be checked offline."""

import hashlib
import json
import math
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ModelUsage,
    TopLogprob,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from contextleak_inspect.arguments import ArgumentError
from contextleak_inspect.queries import estimate_tokens

SMALLEST = 1e-9


@modelapi(name="contextleak")
def contextleak() -> type[ModelAPI]:
    """Inspect provider `contextleak/simulated`: no model, but a responder with known error rates.

    inspect eval tasks/contextleak_classification.py --model contextleak/simulated \
        -M hit=0.95 -M false_vote=0.05
    """
    return Simulated


class Simulated(ModelAPI):
    """Says "canary" at a rate of `hit` where the prompt holds it and of `false_vote` elsewhere.

    To a question of `contextleak_utility` it gives the right answer at a rate of `hit`, whatever
    the examples are. With probability `unparsed` it gives no label instead. Each reply is a
    function of prompt and seed (at temperature 0 of the prompt alone), so a run that is killed and
    retried gives the same answers.

    Raises:
        ValueError: Another model name, an unknown argument, or a rate outside [0, 1].
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),
        hit: float = 1.0,
        false_vote: float = 0.0,
        unparsed: float = 0.0,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name != "simulated":
            raise ArgumentError(f"contextleak/{model_name} is no model; use contextleak/simulated")
        if model_args:
            raise ArgumentError(
                f"model arguments {sorted(model_args)} are unknown; "
                "choose from ['hit', 'false_vote', 'unparsed']"
            )
        self.hit, self.false_vote, self.unparsed = (
            _rate(name, value)
            for name, value in (("hit", hit), ("false_vote", false_vote), ("unparsed", unparsed))
        )

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> tuple[ModelOutput, ModelCall]:
        """One reply; the canary is looked for before the query, which names it too."""
        cue = next((m.metadata for m in input if m.role == "user" and m.metadata), None)
        if cue is None:
            raise ValueError(
                "contextleak/simulated answers the queries of an audit and the questions of "
                "contextleak_utility, nothing else; give another model here (as guard, for one)"
            )
        asked = "\n".join(m.text for m in input if m.role != "assistant")
        shown = asked.removesuffix(cue["query"])
        rate = self.hit if cue["canary"] in shown else self.false_vote
        draw, draw_unparsed = _uniforms(
            [m.text for m in input], config.seed if config.temperature != 0 else None
        )
        reply = cue["yes"] if draw < rate else cue["no"]
        if draw_unparsed < self.unparsed:
            reply = "Hard to say."
        output = ModelOutput.from_content(f"contextleak/{self.model_name}", reply)
        if config.logprobs:
            output.choices[0].logprobs = _logprobs(reply, cue, rate)
        tokens = sum(estimate_tokens(m.text) for m in input)
        spoken = estimate_tokens(reply)
        output.usage = ModelUsage(
            input_tokens=tokens, output_tokens=spoken, total_tokens=tokens + spoken
        )
        request = {"temperature": config.temperature, "seed": config.seed}
        return output, ModelCall.create(request, {"reply": reply})

    def max_connections(self) -> int:
        """As many as Inspect likes: nothing waits."""
        return 1000


def _rate(name: str, value: object) -> float:
    try:
        rate = float(str(value))
    except ValueError as error:
        raise ArgumentError(f"{name} must be a probability, got {value!r}") from error
    if not 0 <= rate <= 1:
        raise ArgumentError(f"{name} must lie in [0, 1], got {rate}")
    return rate


def _uniforms(texts: list[str], seed: int | None) -> tuple[float, float]:
    """Two numbers in [0, 1) that depend on the texts and the seed alone."""
    digest = hashlib.sha256(json.dumps([texts, seed]).encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64, int.from_bytes(digest[8:16]) / 2**64


def _logprobs(reply: str, cue: dict[str, Any], rate: float) -> Logprobs:
    """One token that carries the whole reply, with the exact probabilities of yes and no."""
    listed = {
        cue["yes"]: math.log(max(rate, SMALLEST)),
        cue["no"]: math.log(max(1 - rate, SMALLEST)),
    }
    tops = [TopLogprob(token=token, logprob=logprob) for token, logprob in listed.items()]
    own = listed.get(reply, math.log(SMALLEST))
    return Logprobs(content=[Logprob(token=reply, logprob=own, top_logprobs=tops)])
