"""What Inspect should find by name."""

from contextleak_inspect.local import gguf

__all__ = ["gguf"]
