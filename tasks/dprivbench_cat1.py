"""DPrivBench, Category 1: is the noise of a textbook mechanism enough? arXiv:2604.15851.

inspect eval tasks/dprivbench_cat1.py -T mechanisms=laplace_rnm --model openai/gpt-5
"""

from inspect_ai import Task, task

from dprivbench_inspect import tasks


@task
def dprivbench_cat1(
    mechanisms: str | list[str] | None = None,
    functions: int | str | list[int] | None = None,
    variant: str = "pairs",
    prompt: str = "zero_shot",
    source: str = "bundled",
    revision: str | None = None,
    paper_extraction: bool = False,
) -> Task:
    """See `dprivbench_inspect.tasks.dprivbench_cat1`."""
    return tasks.dprivbench_cat1(**locals())
