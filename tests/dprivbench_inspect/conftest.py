"""A mock model whose outputs carry their usage, so that nothing is downloaded to count tokens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    StopReason,
    get_model,
)

from tests.dprivbench_inspect.release_folder import write_release


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A folder in the layout of the release's Git repository."""
    return write_release(tmp_path / "release")


class Asked(NamedTuple):
    """What reached the model in one call."""

    messages: list[ChatMessage]
    config: GenerateConfig
    tools: list[Any]


class Mock(NamedTuple):
    """A model for `eval`, and the calls that it got."""

    model: Model
    asked: list[Asked]


@pytest.fixture
def mock() -> Callable[..., Mock]:
    """Builds a mock model from a function of (prompt, seed) or one text for every prompt."""

    def build(
        reply: str | Callable[[str, int | None], str] = "\\boxed{yes}",
        stop_reason: StopReason = "stop",
        config: GenerateConfig | None = None,
    ) -> Mock:
        asked: list[Asked] = []

        def outputs(
            input: list[ChatMessage], tools: list[Any], tool_choice: Any, config: GenerateConfig
        ) -> ModelOutput:
            asked.append(Asked(list(input), config, list(tools)))
            text = reply if isinstance(reply, str) else reply(input[-1].text, config.seed)
            output = ModelOutput.from_content("mockllm/model", text, stop_reason=stop_reason)
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
            return output

        model = get_model(
            "mockllm/model",
            config=config or GenerateConfig(),
            memoize=False,
            custom_outputs=outputs,
        )
        return Mock(model, asked)

    return build
