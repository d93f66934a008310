"""DPrivBench: the smallest noise that makes a claim true, as a formula.

inspect eval tasks/dprivbench_calibrate.py -T mechanisms=permute_flip --model openai/gpt-5
"""

from inspect_ai import Task, task

from dprivbench_inspect import tasks


@task
def dprivbench_calibrate(
    mechanisms: str | list[str] | None = None,
    functions: int | str | list[int] | None = None,
    prompt: str = "zero_shot",
) -> Task:
    """See `dprivbench_inspect.tasks.dprivbench_calibrate`."""
    return tasks.dprivbench_calibrate(**locals())
