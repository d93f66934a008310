"""What Inspect should find by name."""

from dprivbench_inspect.baselines import OfflineModel
from dprivbench_inspect.scorers import paper_verdict, verdict
from dprivbench_inspect.solvers import ask_verdict
from dprivbench_inspect.tasks import dprivbench_cat1, dprivbench_cat2

__all__ = [
    "OfflineModel",
    "ask_verdict",
    "dprivbench_cat1",
    "dprivbench_cat2",
    "paper_verdict",
    "verdict",
]
