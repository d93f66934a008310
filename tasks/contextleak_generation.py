"""ContextLeak: what do released texts leak of a private context? arXiv:2512.16059.

inspect eval tasks/contextleak_generation.py -T epsilon=1,2,4,8,inf --model openai/gpt-4.1
"""

from functools import wraps
from typing import Any

from inspect_ai import Task, task

from contextleak_inspect import tasks_generation


@task
@wraps(tasks_generation.contextleak_generation)
def contextleak_generation(**arguments: Any) -> Task:
    """See `contextleak_inspect.tasks_generation.contextleak_generation`."""
    return tasks_generation.contextleak_generation(**arguments)
