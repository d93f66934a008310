"""What Inspect should find by name."""

from dprivbench_inspect.baselines import OfflineModel
from dprivbench_inspect.noise_scorer import noise_scale
from dprivbench_inspect.scorers import paper_verdict, verdict
from dprivbench_inspect.solvers import ask_noise, ask_verdict
from dprivbench_inspect.tasks import dprivbench_calibrate, dprivbench_cat1, dprivbench_cat2

__all__ = [
    "OfflineModel",
    "ask_noise",
    "ask_verdict",
    "dprivbench_calibrate",
    "dprivbench_cat1",
    "dprivbench_cat2",
    "noise_scale",
    "paper_verdict",
    "verdict",
]
