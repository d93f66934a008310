"""DPrivBench: does a grader find why wrong replies are wrong? Against causes found by hand.

inspect eval tasks/dprivbench_grader_check.py --model openai/gpt-5
"""

from inspect_ai import Task, task

from dprivbench_inspect import tasks


@task
def dprivbench_grader_check() -> Task:
    """See `dprivbench_inspect.tasks.dprivbench_grader_check`."""
    return tasks.dprivbench_grader_check()
