"""What Inspect should find by name."""

from contextleak_inspect.baselines import contextleak
from contextleak_inspect.local import gguf
from contextleak_inspect.scorers import audit, audited_answers, membership
from contextleak_inspect.solvers import ensemble
from contextleak_inspect.tasks import contextleak_classification
from contextleak_inspect.tasks_generation import contextleak_generation
from contextleak_inspect.tasks_utility import contextleak_utility
from contextleak_inspect.utility_scorers import utility, utility_limits
from contextleak_inspect.utility_solvers import utility_answers

__all__ = [
    "audit",
    "audited_answers",
    "contextleak",
    "contextleak_classification",
    "contextleak_generation",
    "contextleak_utility",
    "ensemble",
    "gguf",
    "membership",
    "utility",
    "utility_answers",
    "utility_limits",
]
