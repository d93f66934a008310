"""A small real language model answers through Inspect; nothing here asserts an exact number."""

import asyncio
import pathlib
import socket
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    Model,
    get_model,
)
from inspect_ai.solver import generate

from contextleak_inspect import local
from contextleak_inspect.arguments import ArgumentError
from contextleak_inspect.weights import installed_weights
from tests.conftest import require_weights

SHORT = GenerateConfig(max_tokens=24, temperature=0.0, seed=1)


@pytest.fixture(scope="module")
def small_model() -> Model:
    require_weights("smollm2-135m")
    return get_model("gguf/smollm2-135m")


@pytest.mark.local_model
def test_the_small_model_answers_with_counted_tokens(small_model: Model):
    output = asyncio.run(small_model.generate("Name a colour.", config=SHORT))
    assert output.completion
    assert output.usage is not None
    assert output.usage.output_tokens > 0


@pytest.mark.local_model
def test_a_reply_without_a_limit_ends_all_the_same(monkeypatch: pytest.MonkeyPatch):
    require_weights("smollm2-135m")
    monkeypatch.setattr(local, "LONGEST_REPLY", 8)
    server = local.serve(str(installed_weights("smollm2-135m")), context=512)
    model = get_model("openai-api/local/short", base_url=f"{server.address}/v1", api_key="none")
    ask = "Tell a long story about a ferry."
    unlimited = asyncio.run(model.generate(ask))
    assert (unlimited.stop_reason, unlimited.usage.output_tokens) == ("max_tokens", 8)
    own = asyncio.run(model.generate(ask, config=GenerateConfig(max_tokens=12)))
    assert own.usage.output_tokens == 12


@pytest.mark.local_model
def test_log_probabilities_of_a_forced_text_prefer_what_the_context_holds(small_model: Model):
    def forced(tail: str) -> float:
        config = GenerateConfig(
            max_tokens=24,
            temperature=0.0,
            logprobs=True,
            extra_body={"grammar": f'root ::= "{tail}"'},
        )
        prompt = [
            ChatMessageUser(content="The code is 4f09 77ab 2c51. Repeat the code."),
            ChatMessageAssistant(content="The code is 4f09"),
        ]
        output = asyncio.run(small_model.generate(prompt, config=config))
        logprobs = output.choices[0].logprobs
        assert logprobs is not None
        return sum(token.logprob for token in logprobs.content) / len(logprobs.content)

    assert forced(" 77ab 2c51") > forced(" e3d8 906b") + 1.0


@pytest.mark.local_model
def test_a_grammar_is_named_in_the_log(tmp_path: pathlib.Path):
    require_weights("smollm2-135m")
    task = Task(dataset=[Sample(input="Is two even? Box yes or no.")], solver=generate())
    [log] = eval(
        task,
        model="gguf/smollm2-135m",
        model_args={"grammar": "yes_no"},
        max_tokens=160,
        temperature=0,
        log_dir=str(tmp_path),
        display="log",
    )
    assert log.status == "success"
    assert log.eval.model_args["grammar"] == "yes_no"
    assert log.samples
    assert log.samples[0].output.completion.rstrip().endswith(("\\boxed{yes}", "\\boxed{no}"))


@pytest.mark.local_model
def test_the_loopback_server_serves_inspects_own_provider():
    require_weights("smollm2-135m")
    server = local.serve(str(installed_weights("smollm2-135m")))
    model = get_model("openai-api/local/any", base_url=f"{server.address}/v1", api_key="none")
    assert asyncio.run(model.generate("Say hello.", config=SHORT)).completion


def test_a_taken_port_is_told(tmp_path: pathlib.Path):
    file = tmp_path / "model.gguf"
    key = b"tokenizer.chat_template"
    file.write_bytes(b"GGUF" + len(key).to_bytes(8, "little") + key)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(RuntimeError, match="is taken"):
            local.serve(str(file), port=taken.getsockname()[1])


def test_a_broken_file_is_told_by_its_path(tmp_path: pathlib.Path):
    file = tmp_path / "torn.gguf"
    key = b"tokenizer.chat_template"
    file.write_bytes(b"GGUF" + len(key).to_bytes(8, "little") + key)
    with pytest.raises(RuntimeError, match=r"torn\.gguf"):
        local.serve(str(file))


def test_a_file_with_another_hash_is_not_served(tmp_path: pathlib.Path):
    file = tmp_path / "model.gguf"
    key = b"tokenizer.chat_template"
    file.write_bytes(b"GGUF" + len(key).to_bytes(8, "little") + key)
    with pytest.raises(ValueError, match="expected " + "0" * 64):
        get_model("gguf/mine", path=str(file), sha256="0" * 64)


def test_a_processor_without_avx2_is_told_before_it_crashes():
    local.check_machine("flags : fpu sse4_2 avx avx2 fma")
    with pytest.raises(RuntimeError, match="AVX2"):
        local.check_machine("flags : fpu sse4_2 avx")


def test_a_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="inspect-dp\\[local\\]"):
        local.check_machine("flags : avx2")


@pytest.mark.parametrize("wrong", [{"context": "many"}, {"threads": 0}, {"context": 2.5}])
def test_a_number_that_is_none_is_told(wrong: dict[str, Any]):
    with pytest.raises(ArgumentError, match="must be a whole number above 0"):
        get_model("gguf/mine", path="x.gguf", **wrong)


@pytest.mark.parametrize("arguments", [{}, {"path": "x.gguf", "colour": "red"}])
def test_wrong_model_arguments_are_refused_before_any_call(arguments: dict[str, str]):
    with pytest.raises(ValueError, match="choose from"):
        get_model("gguf/unknown", **arguments)
