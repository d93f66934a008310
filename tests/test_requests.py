"""What the tasks send is what providers accept: every task, no turn or setting that they refuse."""

import functools
import pathlib
import runpy
from collections.abc import Iterator
from typing import Any, NamedTuple

import anthropic.types.message_create_params as anthropic_messages
import openai.types.chat.completion_create_params as openai_chat
import openai.types.responses.response_create_params as openai_responses
import pytest
from inspect_ai import Task, eval
from inspect_ai.log import EvalLog
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)

from contextleak_inspect.local import serve
from contextleak_inspect.weights import installed_weights
from tests.conftest import require_weights
from tests.wire import Wire, wire

FILES = sorted((pathlib.Path(__file__).parents[1] / "tasks").glob("*.py"))
# Nothing but what keeps a run short and offline.
AUDIT = {"trials": 2, "null_controls": 0, "ensemble": 4}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "contextleak_classification": AUDIT,
    "contextleak_generation": AUDIT
    | {"embedding": "hashing", "reference_pairs": 1, "candidates": 2},
    "contextleak_utility": {"ensemble": 4},
}
SAMPLING = {"temperature", "top_p", "top_k", "logprobs", "top_logprobs"}


@functools.cache
def make(file: pathlib.Path, **arguments: Any) -> Task:
    task: Task = runpy.run_path(str(file))[file.stem](**ARGUMENTS.get(file.stem, {}) | arguments)
    return task


class Asked(NamedTuple):
    messages: list[ChatMessage]
    config: GenerateConfig
    tools: list[Any]


class Recorder:
    """A model that keeps every request and says the same to each."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    @property
    def model(self) -> Model:
        return get_model("mockllm/model", custom_outputs=self, memoize=False)

    def __call__(
        self, input: list[ChatMessage], tools: list[Any], choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        self.asked.append(Asked(list(input), config, list(tools)))
        output = ModelOutput.from_content("mockllm/model", "\\boxed{yes}")
        output.usage = ModelUsage(input_tokens=9999, output_tokens=1, total_tokens=10000)
        return output


def run(task: Task | list[Task], tmp_path: pathlib.Path, model: Model, **options: Any) -> EvalLog:
    logs = eval(
        task,
        model=model,
        model_roles=dict.fromkeys(("grader", "guard"), Recorder().model),
        log_dir=str(tmp_path),
        display="log",
        **({"limit": 2} | options),
    )
    for log in logs:
        assert log.status == "success", log.error
    return logs[0]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_call_of_a_task_sends_what_was_asked_for_and_nothing_else(
    file: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    recorder = Recorder()
    own = {} if file.stem.startswith("contextleak") else {"temperature": 0.5}
    task = make(file)
    run(task, tmp_path, recorder.model, max_tokens=321, **own)
    assert recorder.asked
    for asked in recorder.asked:
        # Turns that every provider takes: an optional system turn, then a user's, with text.
        roles = [message.role for message in asked.messages]
        assert roles in (["user"], ["system", "user"])
        assert all(message.text.strip() for message in asked.messages)
        assert asked.tools == []
        assert asked.config.max_tokens == 321
        assert asked.config.logprobs is None
        assert asked.config.top_p is None
        assert asked.config.extra_body is None
        if own:
            assert asked.config.temperature == 0.5
        else:
            assert asked.config.temperature in {0.0, 1.0}  # 1: zero-shot texts that must differ


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_settings_that_nobody_asked_for_stay_with_the_provider(
    file: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    recorder = Recorder()
    ours = {"temperature": None, "system_turn": False} if "contextleak" in file.stem else {}
    run(make(file, **ours), tmp_path, recorder.model)
    for asked in recorder.asked:
        sent = asked.config.model_dump(exclude_none=True)
        assert set(sent) <= {"seed", "max_connections", "max_retries", "timeout"}
        if ours:
            assert [message.role for message in asked.messages] == ["user"]
    seeds = [asked.config.seed for asked in recorder.asked]
    if ours:
        assert len(set(seeds)) == len(seeds)


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> Iterator[tuple[Wire, Model]]:
    """A provider of Inspect whose requests end on loopback."""
    name, suffix, options = request.param
    with wire("\\boxed{yes}") as served:
        address = served.address + suffix
        yield served, get_model(name, base_url=address, api_key="x", memoize=False, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "provider",
    [
        ("openai/gpt-5", "/v1", {}),
        ("openai/gpt-4o", "/v1", {}),
        ("openai-api/local/any", "/v1", {}),
        ("anthropic/claude-opus-4-5", "", {"streaming": False}),
        ("google/gemini-2.5-pro", "", {}),
    ],
    indirect=True,
    ids=lambda parameter: parameter[0],
)
def test_each_provider_gets_fields_that_its_interface_knows(
    provider: tuple[Wire, Model], tmp_path: pathlib.Path
) -> None:
    served, model = provider
    run([make(file) for file in FILES], tmp_path, model, limit=1, max_tokens=777)
    for path, body in served.requests:
        if body.get("input") == "Please say 'hello, world'":  # Inspect looks what the key can do
            continue
        if path.endswith("/responses"):
            assert set(body) <= set(openai_responses.ResponseCreateParamsBase.__annotations__)
            assert not SAMPLING & set(body)
            assert body["max_output_tokens"] == 777
            turns = [turn["role"] for turn in body["input"]]
            assert turns in (["user"], ["developer", "user"])
        elif path.endswith("/chat/completions"):
            assert set(body) <= set(openai_chat.CompletionCreateParamsBase.__annotations__)
            assert not (SAMPLING - {"temperature"}) & set(body)
            assert 777 in {body.get("max_tokens"), body.get("max_completion_tokens")}
            assert [m["role"] for m in body["messages"]] in (["user"], ["system", "user"])
        elif path.endswith("/messages"):
            known = set(anthropic_messages.MessageCreateParamsBase.__annotations__) | {"stream"}
            assert set(body) <= known
            assert not SAMPLING & set(body)
            assert body["max_tokens"] == 777
            assert [m["role"] for m in body["messages"]] == ["user"]
        else:
            assert path.endswith(":generateContent")
            assert [turn["role"] for turn in body["contents"]] == ["user"]
            assert body["generationConfig"]["maxOutputTokens"] == 777


@pytest.mark.parametrize("provider", [("openai/gpt-5", "/v1", {})], indirect=True)
def test_the_log_says_that_a_reasoning_model_got_no_temperature(
    provider: tuple[Wire, Model], tmp_path: pathlib.Path
) -> None:
    file = next(file for file in FILES if file.stem == "contextleak_classification")
    log = run(make(file), tmp_path, provider[1])
    assert log.samples
    assert log.samples[0].store["Answers:temperature_requested"] == 0.0
    assert log.samples[0].store["Answers:temperature_sent"] is None


@pytest.mark.parametrize("provider", [("google/gemma-3-27b-it", "", {})], indirect=True)
def test_a_model_without_a_system_turn_gets_none(
    provider: tuple[Wire, Model], tmp_path: pathlib.Path
) -> None:
    served, model = provider
    files = [file for file in FILES if "contextleak" in file.stem]
    run([make(file, system_turn=False) for file in files], tmp_path, model, limit=1)
    assert served.requests
    assert not [body for _, body in served.requests if "systemInstruction" in body]


@pytest.mark.parametrize("provider", [("openai-api/local/any", "/v1", {})], indirect=True)
def test_a_provider_without_log_probabilities_is_told_apart(
    provider: tuple[Wire, Model], tmp_path: pathlib.Path
) -> None:
    file = next(file for file in FILES if file.stem == "contextleak_classification")
    task = make(file, defense="none", ensemble=1, query="completion", membership="logprob")
    [log] = eval(task, model=provider[1], log_dir=str(tmp_path), display="log", limit=1)
    assert log.status == "error"
    assert log.error
    assert "this one returned none; use membership 'match'" in log.error.message.replace("\\", "")
    [(_, body)] = provider[0].requests
    assert body["logprobs"] is True
    assert body["max_tokens"] == 256


@pytest.mark.local_model
@pytest.mark.slow
def test_a_real_server_with_openais_interface_takes_every_task(tmp_path: pathlib.Path) -> None:
    require_weights("smollm2-135m")
    address = f"{serve(str(installed_weights('smollm2-135m'))).address}/v1"
    model = get_model("openai-api/local/small", base_url=address, api_key="none", memoize=False)
    few = {"n_exemplars": 4, "ensemble": 2}
    tasks = [make(file, **few) for file in FILES if file.stem == "contextleak_classification"]
    tasks += [make(file) for file in FILES if file.stem == "dprivbench_cat1"]
    assert len(tasks) == 2
    run(tasks, tmp_path, model, limit=1, max_tokens=4, max_connections=1)
