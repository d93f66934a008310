"""Programs that recompute the labels of Category 2, one file a topic."""

import importlib
import pkgutil
from collections.abc import Callable

from dprivbench_inspect.divergences import Certificate
from dprivbench_inspect.questions import TOPICS


def all_certificates() -> dict[str, Callable[[], Certificate]]:
    """Question id of Category 2 -> program that recomputes its label; topics in their usual order.

    Topic modules are imported here and not before: they bring scipy with them.
    """
    present = {module.name for module in pkgutil.iter_modules(__path__)}
    programs: dict[str, Callable[[], Certificate]] = {}
    for topic in TOPICS:
        if topic in present:
            programs |= importlib.import_module(f"{__name__}.{topic}").CERTIFICATES
    return programs
