"""Tightness: mean bound over the true ε, for each method at 50, 500 and 5,000 trials a world.

python -m tests.benchmarks.tightness [audits]

A Gaussian release (the truth is the claimed ε) and noisy votes of ten shards that err at 1 %
(the truth is a mixture's). Values above 1 for what is not a bound are its fault showing.
"""

import sys

import numpy as np

from tests.contextleak_inspect.audit_methods import METHODS, NEED_COINS
from tests.contextleak_inspect.worlds import World, draw_audit, gaussian_world, vote_world

SIZES = (50, 500, 5000)
# Coverage alone needs these: thresholds far in the tail, and trials made to fail.
NOT_SHOWN = (
    "betting, worst threshold",
    "e_process, worst threshold",
    "clopper_pearson, failed trials",
)


def mean_over_truth(world: World, method: str, n: int, audits: int) -> float:
    """Mean value of the method over the truth; worlds of random size where coins are needed."""
    rng, values = np.random.default_rng(n), []
    for _ in range(audits):
        inside = int(rng.binomial(2 * n, 0.5)) if method in NEED_COINS else n
        values.append(METHODS[method](world, draw_audit(world, rng, inside, 2 * n - inside)).value)
    return float(np.mean(values)) / world.truth


def main(audits: int) -> None:
    """Print one Markdown table a world."""
    for world in (
        gaussian_world(1.0),
        gaussian_world(4.0),
        gaussian_world(10.0),
        vote_world(4.0, 0.01),
        vote_world(10.0, 0.01),
    ):
        print(f"\n{world.name}, true ε {world.truth:.3f}, mean of {audits} audits over the truth\n")
        print("| method | " + " | ".join(f"{n:,}" for n in SIZES) + " |")
        print("|---|" + "---|" * len(SIZES))
        for method in METHODS:
            if method in NOT_SHOWN:
                continue
            shares = (mean_over_truth(world, method, n, audits) for n in SIZES)
            print(f"| {method} | " + " | ".join(f"{share:.2f}" for share in shares) + " |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
