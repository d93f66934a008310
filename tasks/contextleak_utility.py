"""ContextLeak: what do the defenses cost in accuracy or ROUGE-1? arXiv:2512.16059.

inspect eval tasks/contextleak_utility.py -T kind=generation --model openai/gpt-4.1
"""

from functools import wraps
from typing import Any

from inspect_ai import Task, task

from contextleak_inspect import tasks_utility


@task
@wraps(tasks_utility.contextleak_utility)
def contextleak_utility(**arguments: Any) -> Task:
    """See `contextleak_inspect.tasks_utility.contextleak_utility`."""
    return tasks_utility.contextleak_utility(**arguments)
