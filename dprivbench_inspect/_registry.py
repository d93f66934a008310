"""What Inspect should find by name."""

from dprivbench_inspect.attribution_scorer import attribution, labelled_cause
from dprivbench_inspect.baselines import OfflineModel
from dprivbench_inspect.citation_scorer import citations
from dprivbench_inspect.noise_scorer import noise_scale
from dprivbench_inspect.scorers import paper_verdict, verdict
from dprivbench_inspect.solvers import ask_noise, ask_verdict, ask_with_help
from dprivbench_inspect.tasks import (
    dprivbench_calibrate,
    dprivbench_cat1,
    dprivbench_cat2,
    dprivbench_grader_check,
    dprivbench_hard,
)

__all__ = [
    "OfflineModel",
    "ask_noise",
    "ask_verdict",
    "ask_with_help",
    "attribution",
    "citations",
    "dprivbench_calibrate",
    "dprivbench_cat1",
    "dprivbench_cat2",
    "dprivbench_grader_check",
    "dprivbench_hard",
    "labelled_cause",
    "noise_scale",
    "paper_verdict",
    "verdict",
]
