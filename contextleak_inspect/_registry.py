"""What Inspect should find by name."""

from contextleak_inspect.baselines import contextleak
from contextleak_inspect.local import gguf
from contextleak_inspect.solvers import ensemble

__all__ = ["contextleak", "ensemble", "gguf"]
