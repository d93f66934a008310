"""ContextLeak: what does a private in-context classifier leak? arXiv:2512.16059.

inspect eval tasks/contextleak_classification.py -T epsilon=1,2,4,8,inf --model openai/gpt-4.1
"""

from functools import wraps
from typing import Any

from inspect_ai import Task, task

from contextleak_inspect import tasks


@task
@wraps(tasks.contextleak_classification)
def contextleak_classification(**arguments: Any) -> Task:
    """See `contextleak_inspect.tasks.contextleak_classification`."""
    return tasks.contextleak_classification(**arguments)
