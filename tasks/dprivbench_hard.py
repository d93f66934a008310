"""DPrivBench: hard questions with theorems, a related claim or a search. arXiv:2604.15851.

inspect eval tasks/dprivbench_hard.py -T help=retrieval --model openai/gpt-5
"""

from inspect_ai import Task, task

from dprivbench_inspect import tasks


@task
def dprivbench_hard(
    help: str = "theorems",
    source: str = "bundled",
    revision: str | None = None,
    theorems: str | None = None,
    k: int = 5,
    distractors: int = 0,
    embedder: str | None = None,
    paper_extraction: bool = False,
) -> Task:
    """See `dprivbench_inspect.tasks.dprivbench_hard`."""
    return tasks.dprivbench_hard(**locals())
