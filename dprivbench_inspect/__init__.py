"""DPrivBench for Inspect: does a described mechanism keep the privacy guarantee it claims?

Source: arXiv:2604.15851.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dprivbench_inspect.tasks import (
        dprivbench_calibrate,
        dprivbench_cat1,
        dprivbench_cat2,
        dprivbench_grader_check,
        dprivbench_hard,
    )

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "dprivbench_calibrate",
    "dprivbench_cat1",
    "dprivbench_cat2",
    "dprivbench_grader_check",
    "dprivbench_hard",
]


def __getattr__(name: str) -> object:
    """The tasks, imported when asked for, so that the core works without Inspect."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dprivbench_inspect import tasks

    return getattr(tasks, name)
