"""Worked examples that ask for the smallest noise, one a mechanism, each with a short proof.

None of these functions is in the bank.
"""

from dprivbench_inspect.calibration import noise_question_text
from dprivbench_inspect.exemplars import Exemplar
from dprivbench_inspect.mechanisms import MECHANISMS

# Mechanism → f, proof, t.
_PROOFS: dict[str, tuple[str, str, str]] = {
    "laplace": (
        r"\sum_{i=1}^n 4^{x_i}",
        "Replacing one entry changes one term $4^{x_i}$, which lies in $[1, 4]$, so $f$ moves by "
        r"at most $3$; an entry that goes from $0$ to $1$ moves it by $3$, so $\Delta = 3$. Two "
        "Laplace distributions of scale $t$ whose centres are $3$ apart have densities whose "
        r"ratio reaches $e^{3/t}$ and never exceeds it. This is at most $e^{\varepsilon}$ exactly "
        r"when $t \ge 3/\varepsilon$.",
        r"\frac{3}{\varepsilon}",
    ),
    "gaussian_gdp": (
        r"\sum_{i=1}^n \min(x_i, 1/3)",
        r"One entry changes one term in $[0, 1/3]$, and from $0$ to $1$ it changes it by $1/3$, so "
        r"$\Delta = 1/3$. Two normal distributions of standard deviation $t$ whose means are "
        r"$\Delta$ apart are exactly as hard to tell apart as $N(0,1)$ and $N(\Delta/t, 1)$. So "
        r"the claim needs $\Delta/t \le \mu$, that is $t \ge 1/(3\mu)$.",
        r"\frac{1}{3\mu}",
    ),
    "gaussian_zcdp": (
        r"5\sum_{i=1}^n x_i",
        r"One entry that goes from $0$ to $1$ moves $f$ by $5$, and none moves it by more, so "
        r"$\Delta = 5$. Two normal distributions of standard deviation $t$ whose means are "
        r"$\Delta$ apart have Rényi divergence $\alpha\Delta^2/(2t^2)$ of order $\alpha$. It is at "
        r"most $\alpha\rho$ for every $\alpha > 1$ exactly when $t^2 \ge 25/(2\rho)$.",
        r"\frac{5}{\sqrt{2\rho}}",
    ),
    "expo_mech": (
        r"\sum_{i=1}^n (1-x_i)^3",
        r"One row changes one term in $[0, 1]$ of each score, so every score moves by at most "
        r"$\Delta = 1$. With Gumbel noise of scale $t$ candidate $j$ wins with probability "
        r"$e^{q_j/t} / \sum_k e^{q_k/t}$. Numerator and denominator each change by a factor of at "
        r"most $e^{\Delta/t}$, so $t \ge 2/\varepsilon$ is enough. Less is not: let one row be $0$ "
        "for candidate 1 and $1$ for the others, then the other way round, with all else equal. "
        r"Candidate 1 first leads all others by $1$, then trails them by $1$, and the ratio of its "
        r"probabilities is $\frac{e^{1/t} + (d-1)e^{2/t}}{e^{1/t} + d - 1}$, which tends to "
        r"$e^{2/t}$ as $d$ grows.",
        r"\frac{2}{\varepsilon}",
    ),
    "laplace_rnm": (
        r"\frac{1}{n+1}\sum_{i=1}^n x_i",
        r"One row moves every score by at most $\Delta = 1/(n+1)$. Fix the noise of all "
        "candidates but $j$. Then $j$ wins when $Z_j$ is above a threshold, which rises by at most "
        r"$2\Delta$ between neighbours. The upper tail of Laplace noise of scale $t$ shrinks by a "
        r"factor of at most $e^{2\Delta/t}$ over that distance, so $t \ge 2\Delta/\varepsilon$ is "
        r"enough. Less is not: let candidate 1 lead all others by $\Delta$ and then trail them by "
        r"$\Delta$. With many candidates the largest rival noise lies far up, where the tail "
        r"shrinks by exactly $e^{2\Delta/t}$, and the ratio tends to that as $d$ grows.",
        r"\frac{2}{(n+1)\varepsilon}",
    ),
    "permute_flip": (
        r"\sum_{i=1}^n \frac{x_i}{2-x_i}",
        "The term $x/(2-x)$ grows from $0$ to $1$, so one row moves every score by at most "
        r"$\Delta = 1$. Fix the noise of all candidates but $j$. Then $j$ wins when $Z_j$ is above "
        r"a threshold, which rises by at most $2\Delta$ between neighbours. Exponential noise of "
        r"mean $t$ has no memory, so the chance shrinks by a factor of at most $e^{2\Delta/t}$, "
        r"and $t \ge 2/\varepsilon$ is enough. Less is not: let candidate 1 lead all others by $1$ "
        r"and then trail them by $1$. The ratio of its probabilities is $e^{2/t}(1 - (1 - "
        r"e^{-1/t})^d)$, which tends to $e^{2/t}$ as $d$ grows.",
        r"\frac{2}{\varepsilon}",
    ),
}
NOISE_EXEMPLARS: dict[str, Exemplar] = {
    name: Exemplar(noise_question_text(MECHANISMS[name], f), f"{proof}\n\n\\boxed{{{t}}}")
    for name, (f, proof, t) in _PROOFS.items()
}
