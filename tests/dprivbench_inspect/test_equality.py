"""Sympy in its worker: right answers, and an end to every request."""

import time

import pytest

from dprivbench_inspect.equality import proved_equal, simplifies_to_equal


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (r"\frac{n^2-1}{(n+1)\varepsilon}", r"\frac{n-1}{\varepsilon}", True),
        (r"\tanh(1/2)", r"\frac{e-1}{e+1}", True),
        (r"\sqrt{\varepsilon^2}", r"\varepsilon", True),  # letters are positive
        (r"\sin(\pi n)", "0", True),  # n is whole
        (r"\frac{n-1}{\varepsilon}", r"\frac{n}{\varepsilon}", False),
        (r"\frac{1}{\varepsilon} + 10^{-20}", r"\frac{1}{\varepsilon}", False),
    ],
)
def test_equal_formulas_are_proved_equal(left: str, right: str, equal: bool) -> None:
    assert simplifies_to_equal(left, right) == equal
    assert proved_equal(left, right, limit=60.0) == equal


def test_a_worker_that_takes_too_long_is_killed_and_the_next_request_gets_its_answer() -> None:
    endless = r"9^{9^{9^{9}}}"  # as a whole number sympy would compute it for hours
    start = time.monotonic()
    assert not proved_equal(endless, "n", limit=1.0)
    assert time.monotonic() - start < 60  # the start of a worker on a busy machine included
    assert proved_equal("n+n", "2n", limit=60.0)


def test_a_worker_that_dies_of_a_formula_is_replaced() -> None:
    assert not proved_equal("x_1 + }", "n", limit=60.0)
    assert proved_equal("n+n", "2n", limit=60.0)
