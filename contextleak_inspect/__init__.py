"""ContextLeak for Inspect: what a private in-context-learning system leaks, as bounds on ε.

Source: arXiv:2512.16059.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextleak_inspect.tasks import contextleak_classification
    from contextleak_inspect.tasks_generation import contextleak_generation
    from contextleak_inspect.tasks_utility import contextleak_utility

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "contextleak_classification",
    "contextleak_generation",
    "contextleak_utility",
]


def __getattr__(name: str) -> object:
    """The tasks, imported when asked for, so that the core works without Inspect."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from contextleak_inspect import tasks, tasks_generation, tasks_utility

    return next(
        getattr(module, name)
        for module in (tasks, tasks_generation, tasks_utility)
        if hasattr(module, name)
    )
