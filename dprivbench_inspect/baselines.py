"""Models that need no network: always yes, always no, and the symbolic solver."""

from collections.abc import Callable
from functools import cache
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from dprivbench_inspect.prompts import question_in
from dprivbench_inspect.refusals import ArgumentError


def _always(verdict: str) -> Callable[[str], str]:
    return lambda prompt: f"My answer is the same for every question: \\boxed{{{verdict}}}"


@cache
def _symbolic(prompt: str) -> str:
    from dprivbench_inspect.symbolic import solve  # sympy; only this model needs it

    return solve(question_in(prompt)).text


ANSWERS: dict[str, Callable[[str], str]] = {
    "always-yes": _always("yes"),
    "always-no": _always("no"),
    "symbolic": _symbolic,
}


@modelapi(name="dprivbench")
class OfflineModel(ModelAPI):
    """`dprivbench/always-yes`, `dprivbench/always-no` and `dprivbench/symbolic`.

    They answer from the last user message alone. Tokens are counted as words, so that nothing is
    downloaded to count them.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        if model_name not in ANSWERS:
            raise ArgumentError(f"no offline model {model_name!r}; choose from {sorted(ANSWERS)}")
        if model_args:
            raise ArgumentError(f"dprivbench/{model_name} takes no arguments, got {model_args}")

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The answer to the last message."""
        prompt = input[-1].text
        answer = ANSWERS[self.model_name](prompt)
        output = ModelOutput.from_content(f"dprivbench/{self.model_name}", answer)
        n_in, n_out = len(prompt.split()), len(answer.split())
        output.usage = ModelUsage(input_tokens=n_in, output_tokens=n_out, total_tokens=n_in + n_out)
        return output

    def max_connections(self) -> int:
        """No limit that anyone would notice: nothing is waited for."""
        return 100
