"""What every test may rely on: no network, and the reference material only where it is present.

Evaluations are run with `display="log"`: "none" lays out a table of results that nobody sees, which
takes longer than a short run. Those of many calls say `log_realtime=False`: events are not copied
for live viewing, a third of the time.
"""

import os
import pathlib

import pytest
import tiktoken

from contextleak_inspect.weights import installed_weights

SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"


class _WordEncoding:
    """Stands in for the encoding that `mockllm` would download to count tokens."""

    def encode(self, text: str, **_: object) -> list[str]:
        return text.split()


tiktoken.get_encoding = lambda name: _WordEncoding()  # type: ignore[assignment,return-value]


@pytest.fixture
def shared() -> pathlib.Path:
    """The reference material beside the project; a test that needs it skips without it."""
    if not SHARED.is_dir():
        pytest.skip("the reference material is not beside the project")
    return SHARED


def require_weights(*names: str) -> None:
    """Skip a test whose small real model is not installed; in CI, where it must be, fail."""
    try:
        for name in names:
            installed_weights(name)
    except FileNotFoundError as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))
