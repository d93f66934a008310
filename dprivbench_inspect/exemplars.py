"""Worked examples for one-shot prompts, a true and a false claim each, with a short proof.

None of these functions is in the bank and none of these questions is asked.
"""

from typing import NamedTuple

from dprivbench_inspect.mechanisms import MECHANISMS, fill_text


class Exemplar(NamedTuple):
    """A worked question: its text, and a short proof that ends in the boxed verdict."""

    question: str
    answer: str


# Mechanism → (f, printed noise, proof) of a claim that holds, then of one that does not.
_PROOFS: dict[str, tuple[tuple[str, str, str], tuple[str, str, str]]] = {
    "laplace": (
        (
            r"\sum_{i=1}^n 4^{x_i}",
            r"\frac{3}{\varepsilon}",
            "Replacing one entry changes one term $4^{x_i}$, which lies in $[1, 4]$, so $f$ "
            r"moves by at most $3$, and $\Delta = 3$. Adding Laplace noise of scale "
            r"$\Delta/\varepsilon = 3/\varepsilon$ changes the density at any output by a "
            r"factor of at most $\exp(\Delta \varepsilon / 3) = e^{\varepsilon}$. This is the "
            "printed scale, so the claim holds.",
        ),
        (
            r"\frac{1}{n}\sum_{i=1}^n x_i^2",
            r"\frac{1}{2n\varepsilon}",
            r"Replacing one entry changes one $x_i^2 \in [0, 1]$, so $f$ moves by at most "
            "$1/n$, and it moves by exactly $1/n$ when an entry goes from $0$ to $1$. The "
            r"noise has scale $b = 1/(2n\varepsilon)$. Take such neighbours with $f(x) = "
            r"f(x') + 1/n$ and the event $M \ge f(x)$. It has probability $\frac12$ on $x$ "
            r"and $\frac12 e^{-1/(nb)} = \frac12 e^{-2\varepsilon}$ on $x'$. The ratio is "
            r"$e^{2\varepsilon} > e^{\varepsilon}$, so the claim fails.",
        ),
    ),
    "gaussian_gdp": (
        (
            r"\sum_{i=1}^n \min(x_i, 1/3)",
            r"\frac{1}{9\mu^2}",
            r"One entry changes one term in $[0, 1/3]$, so $\Delta = 1/3$. Normal noise with "
            r"standard deviation $\sigma$ on a number of sensitivity $\Delta$ gives "
            r"$(\Delta/\sigma)$-GDP. Here $\sigma = 1/(3\mu)$, so $\Delta/\sigma = \mu$. The "
            "claim holds.",
        ),
        (
            r"\sum_{i=1}^n \frac{x_i}{1+x_i}",
            r"\frac{1}{8\mu^2}",
            r"The term $x/(1+x)$ grows from $0$ at $x = 0$ to $1/2$ at $x = 1$, so $\Delta = "
            "1/2$, and an entry that goes from $0$ to $1$ attains it. For such neighbours "
            "the two outputs are normal with means $1/2$ apart and standard deviation "
            r"$\sigma = 1/(\sqrt8\,\mu)$, and telling them apart is exactly as hard as "
            r"telling $N(0,1)$ from $N(m,1)$ with $m = 1/(2\sigma) = \sqrt2\,\mu$. This is "
            r"easier than $\mu$-GDP allows, since $\sqrt2\,\mu > \mu$. The claim fails.",
        ),
    ),
    "gaussian_zcdp": (
        (
            r"\max_{1 \le i \le n} x_i - \min_{1 \le i \le n} x_i",
            r"\frac{1}{2\rho}",
            "$f$ takes values in $[0, 1]$, so replacing one entry moves it by at most $1$, "
            r"and $\Delta \le 1$. Two normal distributions of variance $\sigma^2$ whose means "
            r"are $\Delta$ apart have Rényi divergence $\alpha\Delta^2/(2\sigma^2)$ of order "
            r"$\alpha$. With $\sigma^2 = 1/(2\rho)$ this is at most $\alpha\rho$ for every "
            r"$\alpha > 1$, which is $\rho$-zCDP. The claim holds.",
        ),
        (
            r"5\sum_{i=1}^n x_i",
            r"\frac{25}{4\rho}",
            r"One entry that goes from $0$ to $1$ moves $f$ by $5$, so $\Delta = 5$. For such "
            r"neighbours the outputs are normal with means $5$ apart and variance $\sigma^2 = "
            r"25/(4\rho)$, so the Rényi divergence of order $\alpha$ is $\alpha \cdot "
            r"25/(2\sigma^2) = 2\alpha\rho$. This is above the allowed $\alpha\rho$. The "
            "claim fails.",
        ),
    ),
    "expo_mech": (
        (
            r"\sum_{i=1}^n (1-x_i)^3",
            r"\frac{2}{\varepsilon}",
            "One row changes one term in $[0, 1]$ of each score, so every score moves by at "
            r"most $\Delta = 1$. With Gumbel noise of scale $b = 2/\varepsilon$ candidate $j$ "
            r"wins with probability $e^{q_j/b} / \sum_k e^{q_k/b}$. Between neighbours the "
            r"numerator changes by a factor of at most $e^{\Delta/b} = e^{\varepsilon/2}$, "
            r"and so does the denominator. Together that is at most $e^{\varepsilon}$. The "
            "claim holds.",
        ),
        (
            r"\sum_{i=1}^n 3^{x_i}",
            r"\frac{2}{\varepsilon}",
            r"A term $3^{x_i}$ lies in $[1, 3]$, so $\Delta = 2$. Let all rows but the first "
            "be $0$. In $D$ the first row is $1$ for candidate 1 and $0$ for the others, in "
            "$D'$ it is the other way round. So candidate 1 leads all others by $2$ in $D$ "
            r"and trails them by $2$ in $D'$. With Gumbel noise of scale $2/\varepsilon$ it "
            r"wins with probability $e^{\varepsilon}/(e^{\varepsilon} + d - 1)$ on $D$ and "
            r"$1/(1 + (d-1)e^{\varepsilon})$ on $D'$. The ratio is $e^{\varepsilon}\,\frac{1 "
            r"+ (d-1)e^{\varepsilon}}{e^{\varepsilon} + d - 1}$, and the fraction is above "
            r"$1$ since $(d-2)(e^{\varepsilon} - 1) > 0$ for $d \ge 3$. So the ratio is above "
            r"$e^{\varepsilon}$, and the claim fails.",
        ),
    ),
    "laplace_rnm": (
        (
            r"\frac{1}{n+1}\sum_{i=1}^n x_i",
            r"\frac{2}{(n+1)\varepsilon}",
            r"One row moves every score by at most $\Delta = 1/(n+1)$. Fix the noise of all "
            "candidates but $j$. Then $j$ wins on $D$ exactly when $Z_j$ is above some "
            r"threshold $t$, and on a neighbour $D'$ whenever $Z_j > t + 2\Delta$, because "
            r"$q_j$ falls by at most $\Delta$ and each rival rises by at most $\Delta$. For "
            r"Laplace noise of scale $b$ we have $P(Z_j > t + 2\Delta) \ge e^{-2\Delta/b} "
            r"P(Z_j > t)$, and $2\Delta/b = \varepsilon$ here. Averaging over the fixed "
            r"noise, $P(j \text{ wins on } D) \le e^{\varepsilon} P(j \text{ wins on } D')$ "
            "for each $j$. The claim holds.",
        ),
        (
            r"\sum_{i=1}^n x_i^5",
            r"\frac{1}{\varepsilon}",
            r"A term $x_i^5$ lies in $[0, 1]$, so $\Delta = 1$. Let $d = 3$. In both data "
            "sets $g$ of the rows are $0$ for candidate 1 and $1$ for its rivals. One more "
            "row is $1$ for candidate 1 and $0$ for its rivals in $D$, and the other way "
            "round in $D'$. The rest is $0$. So candidate 1 trails both rivals by $g - 1$ on "
            "$D$ and by $g + 1$ on $D'$. Let $L$ be the larger noise of the rivals. "
            "Candidate 1 wins on $D$ when $Z_1 > L + g - 1$ and on $D'$ when $Z_1 > L + g + "
            r"1$. Noise of scale $1/\varepsilon$ has $P(Z_1 > t) = \frac12 e^{-\varepsilon "
            r"t}$ for $t \ge 0$, so where $L \ge 1 - g$ the first is $e^{2\varepsilon}$ times "
            r"as likely as the second. Where $L < 1 - g$, which has probability $(\frac12 "
            r"e^{-\varepsilon(g-1)})^2 = \frac14 e^{-2\varepsilon(g-1)}$, the second is at "
            r"most certain. As $P(\text{1 wins on } D') \ge P(L \le 0)\,\frac12 "
            r"e^{-\varepsilon(g+1)} = \frac18 e^{-\varepsilon(g+1)}$, that part of it has a "
            r"share of at most $2 e^{-\varepsilon(g-3)}$, which vanishes as $g$ grows with "
            r"$n$. So the ratio of the two probabilities tends to at least $e^{2\varepsilon}$ "
            r"and is above $e^{\varepsilon}$ for large $n$. The claim fails.",
        ),
    ),
    "permute_flip": (
        (
            r"\sum_{i=1}^n \frac{x_i}{2-x_i}",
            r"\frac{\varepsilon}{2}",
            "The term $x/(2-x)$ grows from $0$ to $1$, so one row moves every score by at "
            r"most $\Delta = 1$. Fix the noise of all candidates but $j$. Then $j$ wins on "
            "$D$ exactly when $Z_j$ is above some threshold $t$, and on a neighbour $D'$ "
            "whenever $Z_j > t + 2$, because $q_j$ falls by at most $1$ and each rival rises "
            r"by at most $1$. Exponential noise of rate $\lambda$ has $P(Z_j > t + 2) \ge "
            r"e^{-2\lambda} P(Z_j > t)$ for every $t$, and $2\lambda = \varepsilon$. "
            r"Averaging over the fixed noise gives a factor of at most $e^{\varepsilon}$ for "
            "each $j$. The claim holds.",
        ),
        (
            r"\sum_{i=1}^n 2^{x_i}",
            r"\varepsilon",
            r"A term $2^{x_i}$ lies in $[1, 2]$, so $\Delta = 1$. In $D$ the first row is $1$ "
            "for candidate 1 and $0$ for the others, the second row is the other way round, "
            "and the rest is $0$: all scores are equal, so candidate 1 wins with probability "
            "$1/d$. In $D'$ the first row is the other way round too, so candidate 1 trails "
            r"all others by $2$. It wins when $Z_1$ exceeds the largest noise $L \ge 0$ of "
            "the others by more than $2$. Exponential noise has no memory: at rate "
            r"$\varepsilon$ this is $e^{-2\varepsilon}$ times as likely as exceeding $L$ "
            r"itself, so it has probability $e^{-2\varepsilon}/d$. The ratio is "
            r"$e^{2\varepsilon} > e^{\varepsilon}$. The claim fails.",
        ),
    ),
}
EXEMPLARS: dict[str, tuple[Exemplar, Exemplar]] = {
    name: (
        Exemplar(fill_text(MECHANISMS[name], *true[:2]), true[2] + "\n\n\\boxed{yes}"),
        Exemplar(fill_text(MECHANISMS[name], *false[:2]), false[2] + "\n\n\\boxed{no}"),
    )
    for name, (true, false) in _PROOFS.items()
}
EXEMPLARS["category_2"] = (
    Exemplar(
        r"A mechanism $M$ satisfies $(\varepsilon, \delta)$-differential privacy, where "
        "neighbours differ in one record. An analyst who never sees the data looks at the "
        "output $M(D)$, draws fresh random numbers that do not depend on $D$, and publishes "
        "$g(M(D), R)$ for a fixed function $g$ of the output and those numbers $R$."
        "\n\n"
        r"Is what the analyst publishes $(\varepsilon, \delta)$-differentially private for "
        "the same neighbours, for every $g$?",
        "Fix neighbours $D$ and $D'$, a set $S$ of published values, and a value $r$ of $R$. "
        r"The event $g(M(D), r) \in S$ is the event that $M(D)$ lies in $T_r = \{t : g(t, r) "
        r"\in S\}$, so $P(M(D) \in T_r) \le e^{\varepsilon} P(M(D') \in T_r) + \delta$. $R$ "
        "does not depend on the data, so averaging both sides over $r$ keeps the inequality. "
        "The claim holds."
        "\n\n"
        r"\boxed{yes}",
    ),
    Exemplar(
        "Each of $n$ people holds one bit. Independently of the others each of them reports "
        "the true bit with probability $3/4$ and the opposite bit with probability $1/4$, "
        "and all reports are published. Neighbours differ in the bit of one person."
        "\n\n"
        r"Does publishing the reports satisfy $\varepsilon$-differential privacy with "
        r"$\varepsilon = \ln 2$?",
        "Only the report of the person whose bit differs has another distribution. That "
        "report is $1$ with probability $3/4$ if the bit is $1$ and with probability $1/4$ "
        r"if it is $0$. The ratio is $3$, and $3 > e^{\ln 2} = 2$. So the smallest "
        r"$\varepsilon$ is $\ln 3$, and the claim fails."
        "\n\n"
        r"\boxed{no}",
    ),
)
