"""Reads the LaTeX formulas of Category 1 as sympy numbers, for tests alone."""

import re

import sympy as sp

_FUNCTIONS = {r"\log": "log", r"\ln": "log", r"\sqrt": "sqrt"}


def read(latex: str, **values: sp.Expr) -> sp.Expr:
    r"""Value of fractions, powers, roots, logarithms and products.

    Args:
        latex: The formula.
        values: Numbers for its letters, by name without the backslash.

    >>> read(r"\frac{2(n-1)}{n\varepsilon}", n=5, varepsilon=3)
    8/15
    """
    text = re.sub(r"\\l(?:n|og) ?(\d+)", r"\\ln(\1)", latex)
    python, ends_a_value = "", False
    fraction_at: list[int] = []  # depth of braces at which a \frac waits for its denominator
    depth = 0
    for token in re.findall(r"\\[a-z]+|\d+|[a-z]|[-+^(){}]", text):
        starts_a_value = token not in {"-", "+", "^", ")", "}"}
        if token == "{" and ends_a_value and fraction_at and fraction_at[-1] == depth:
            fraction_at.pop()
            python += "/"
        elif starts_a_value and ends_a_value:
            python += "*"
        if token == r"\frac":
            fraction_at.append(depth)
            token = ""
        depth += {"{": 1, "}": -1}.get(token, 0)
        token = {"{": "(", "}": ")", "^": "**", "e": "E"}.get(token, token)
        python += _FUNCTIONS.get(token, token.removeprefix("\\"))
        ends_a_value = bool(token) and token not in {"-", "+", "**", "(", *_FUNCTIONS}
    return sp.sympify(python, locals=values)
