"""Sensitivities that replies state, in their many forms; and what is no statement."""

import time

import pytest

from dprivbench_inspect.attribution import bank_sensitivity
from dprivbench_inspect.expressions import Result, grid
from dprivbench_inspect.stated_sensitivity import stated_sensitivities

VALUES = grid(None)


def results(reply: str, right: str = "1") -> list[Result]:
    return [comparison.result for comparison in stated_sensitivities(reply, right, VALUES)]


@pytest.mark.parametrize(
    "reply",
    [
        r"The global sensitivity of $f$ is $\Delta = 1$.",
        "**Sensitivity:** 1",
        "The L2 sensitivity is 1, hence",
        r"$$\Delta f = \sup_{x \sim x'} |f(x) - f(x')| = 1.$$",
        r"\[ \Delta_1(f) = \max |f(D) - f(D')| \le 1 \]",
        r"with noise $2\Delta/\varepsilon$ and sensitivity $\Delta=1$",
        r"the sensitivity of each score $q_j$ is $1$",
        r"The sensitivity is exactly \(1\).",
        "So GS(f) = 1 here.",
        "Δf = 1",
        r"Sensitivity is $\Delta = n\cdot\frac{1}{n} = 1$ and scale",
        r"If one entry changes from 0 to 1, $\Delta = 1$.",  # a condition of the clause before
        r"at worst it has sensitivity $e^0$",
    ],
)
def test_a_right_statement_is_read(reply: str) -> None:
    assert results(reply)[-1:] == ["equal"]


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (r"Thus, the sensitivity is at most $\frac{1}{n}$.", ["too_little"]),
        ("the sensitivity of the sum is 1/n.", ["too_little"]),
        ("The sensitivity of f is 1 − 1/n.", ["too_little"]),
        ("The sensitivity is n - 1 here", ["too_much"]),
        (r"The sensitivity is $\Delta_f \leq \frac{n-1}{n}$, so", ["too_little"]),
        (r"So $\Delta f = 2$; no, its sensitivity is 1.", ["too_much", "equal"]),
    ],
)
def test_other_statements_are_read_in_their_order(reply: str, found: list[Result]) -> None:
    assert results(reply) == found


@pytest.mark.parametrize(
    "reply",
    [
        "If the sensitivity were 2, then",
        r"Suppose $\Delta = 2$.",
        r"$\Delta/\varepsilon = 1/\varepsilon$",
        r"so $2\Delta = 2$",
        r"so $2 \cdot \Delta = 2$",
        "the sensitivity is not 1 but 2",
        "the sensitivity of the difference is 2",
        r"$\Delta = \frac{\varepsilon t}{2}$",
        r"the sensitivity of $f$ is large",
        "Noise of scale 1 is added.",
        "",
    ],
)
def test_what_states_no_sensitivity_is_not_read(reply: str) -> None:
    assert results(reply) == []


@pytest.mark.parametrize("function_id", [1, 9, 14, 28, 36, 41, 48])
def test_the_banks_own_sensitivity_is_read_back_as_equal(function_id: int) -> None:
    latex, values = bank_sensitivity(function_id)
    for reply in (rf"Hence $\Delta f = {latex}$.", rf"the sensitivity is ${latex}$"):
        assert [c.result for c in stated_sensitivities(reply, latex, values)] == ["equal"]


@pytest.mark.parametrize(
    "piece",
    ["sensitivity ", r"\Delta = ", "$", "sensitivity is ", r"\Delta f _{", "Δ ≤ 1. ", "if "],
)
def test_no_reply_hangs(piece: str) -> None:
    start = time.monotonic()
    results(piece * (200_000 // len(piece)))
    assert time.monotonic() - start < 30
