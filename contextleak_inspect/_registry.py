"""What Inspect should find by name."""

from contextleak_inspect.baselines import contextleak
from contextleak_inspect.local import gguf
from contextleak_inspect.scorers import audit, audited_answers, membership
from contextleak_inspect.solvers import ensemble
from contextleak_inspect.tasks import contextleak_classification
from contextleak_inspect.tasks_generation import contextleak_generation

__all__ = [
    "audit",
    "audited_answers",
    "contextleak",
    "contextleak_classification",
    "contextleak_generation",
    "ensemble",
    "gguf",
    "membership",
]
