"""DPrivBench, Category 2: does an algorithm from the literature keep its claim? arXiv:2604.15851.

inspect eval tasks/dprivbench_cat2.py -T source=hub --model openai/gpt-5
"""

from inspect_ai import Task, task

from dprivbench_inspect import tasks


@task
def dprivbench_cat2(
    topics: str | list[str] | None = None,
    subjects: str | list[str] | None = None,
    variant: str = "pairs",
    prompt: str = "zero_shot",
    source: str = "bundled",
    revision: str | None = None,
    allow_unreviewed: bool = False,
    paper_extraction: bool = False,
) -> Task:
    """See `dprivbench_inspect.tasks.dprivbench_cat2`."""
    return tasks.dprivbench_cat2(**locals())
