"""Why a reply is wrong: causes, the rules that find them, and how far rules and grader agree.

Category 1: the verdict rests on a sensitivity and on what the mechanism needs for it. The last
sensitivity that a wrong reply states tells which of the two was missed. Category 2 has no such
rule: a reply without an argument is recognised, the rest takes a grader.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from dprivbench_inspect.expressions import Values, grid
from dprivbench_inspect.metrics import Outcome, ratio
from dprivbench_inspect.stated_sensitivity import stated_sensitivities

CauseCategory1 = Literal["wrong_sensitivity", "wrong_rule", "no_reasoning"]
CauseCategory2 = Literal["missed_change", "assumed_condition", "wrong_bound", "no_argument"]
Cause = CauseCategory1 | CauseCategory2
CAUSES: dict[int, tuple[Cause, ...]] = {1: get_args(CauseCategory1), 2: get_args(CauseCategory2)}
CAUSE_NAMES: dict[Cause, str] = {
    "wrong_sensitivity": "wrong sensitivity",
    "wrong_rule": "right sensitivity and wrong mechanism rule",
    "no_reasoning": "no reasoning found",
    "missed_change": "missed the changed step",
    "assumed_condition": "assumed an unstated condition",
    "wrong_bound": "wrong bound or constant",
    "no_argument": "no argument",
}
_FEW_WORDS = 15  # a reply of fewer words, apart from its box, gives no argument
_CAUSE_LINE = re.compile(r"[*_`#\s]*CAUSE[*_`\s]*:[*_`\s]*([a-z_ -]+?)[*_`.\s]*", re.IGNORECASE)


class Finding(NamedTuple):
    """A cause and what it was concluded from; None where the rules cannot tell."""

    cause: Cause | None
    why: str


class Attributed(NamedTuple):
    """One wrong reply and its cause, by the rules and by the grader where there is one."""

    by_rules: Cause | None
    by_grader: Cause | None = None
    grader_asked: bool = False


def bank_sensitivity(function_id: int) -> tuple[str, Values]:
    r"""LaTeX of Δ of a function of the bank, and values of the letters it may hold.

    >>> bank_sensitivity(14)[0]
    '\\ln 2'
    """
    from dprivbench_inspect.calibration import noise_constants  # sympy; slow to import
    from dprivbench_inspect.functions import function
    from dprivbench_inspect.mechanisms import sensitivity_latex

    found = function(function_id)
    return sensitivity_latex(found), grid(None, noise_constants(found))


def cause_in_category_1(reply: str, sensitivity: str, values: Values) -> Finding:
    r"""Cause of a wrong verdict on a question of Category 1, by rules alone.

    Args:
        reply: What is visible of it.
        sensitivity: LaTeX of the right one.
        values: Letters that a sensitivity may hold, as for `compare_boxed`.

    >>> cause_in_category_1(r"$\Delta = 2$, so no.", "1", {"n": [3.0, 10.0]}).cause
    'wrong_sensitivity'
    """
    stated = stated_sensitivities(reply, sensitivity, values)
    if not stated:
        return Finding("no_reasoning", "no sensitivity is stated that can be read")
    if stated[-1].result == "equal":
        return Finding("wrong_rule", "the last sensitivity that is stated is the right one")
    return Finding("wrong_sensitivity", f"the last one that is stated is {stated[-1].reason}")


def cause_in_category_2(reply: str) -> Finding:
    """Cause of a wrong verdict on a question of Category 2, as far as a rule can tell.

    >>> cause_in_category_2("The claim is standard.").cause
    'no_argument'
    """
    words = len(re.findall(r"\w+", re.sub(r"\\[a-z]*box\w*\{.*?\}", "", reply)))
    if words < _FEW_WORDS:
        return Finding("no_argument", f"{words} words beside the answer")
    return Finding(None, "an argument that no rule sorts")


def parse_cause(text: str, category: int) -> Cause | None:
    r"""The cause that a grader names in its last line, or None.

    >>> parse_cause("It never states Δ.\nCAUSE: no_reasoning", 1)
    'no_reasoning'
    """
    lines = [line for line in text.splitlines() if line.strip()]
    match = _CAUSE_LINE.fullmatch(lines[-1].strip()) if lines else None
    named = re.sub(r"[ -]+", "_", match[1].strip().lower()) if match else ""
    return next((cause for cause in CAUSES[category] if cause == named), None)


def attribution_summary(category: int, replies: Sequence[Attributed]) -> dict[str, float]:
    """Shares of the causes among wrong replies, and the agreement of rules and grader.

    Args:
        category: 1 or 2.
        replies: The wrong ones, each with a verdict.
    """
    n, summary = len(replies), {"wrong replies": float(len(replies))}
    for cause in CAUSES[category]:
        share = sum(reply.by_rules == cause for reply in replies)
        summary[f"by rules: {CAUSE_NAMES[cause]}"] = ratio(share, n)
    if category == 2:
        summary["by rules: not sorted"] = ratio(sum(r.by_rules is None for r in replies), n)
    asked = [reply for reply in replies if reply.grader_asked]
    if asked:
        for cause in CAUSES[category]:
            share = sum(reply.by_grader == cause for reply in asked)
            summary[f"by grader: {CAUSE_NAMES[cause]}"] = ratio(share, len(asked))
        summary["by grader: not sorted"] = ratio(
            sum(reply.by_grader is None for reply in asked), len(asked)
        )
        pairs = [(r.by_rules, r.by_grader) for r in asked if r.by_rules and r.by_grader]
        summary |= agreement("rules and grader", pairs)
    return summary


def agreement(who: str, pairs: Sequence[tuple[str | None, str | None]]) -> dict[str, float]:
    """Share of pairs that are the same, and Cohen's kappa, which is 0 for agreement by chance.

    Kappa is nan where chance alone would agree always. Source: doi:10.1177/001316446002000104.

    >>> agreement("a and b", [("x", "x"), ("x", "y"), ("y", "y"), ("y", "y")])["a and b: kappa"]
    0.5
    """
    n = len(pairs)
    same = ratio(sum(left == right for left, right in pairs), n)
    left, right = Counter(left for left, _ in pairs), Counter(right for _, right in pairs)
    chance = ratio(sum(left[cause] * right[cause] for cause in left), n * n)
    return {
        f"{who}: agreement": same,
        f"{who}: kappa": ratio(same - chance, 1 - chance),
        f"{who}: replies": float(n),
    }


def accuracy_matrix(outcomes: Iterable[Outcome]) -> dict[int, dict[str, float]]:
    """Accuracy by function and mechanism: a bad row is a sensitivity, a bad column a rule.

    All replies count, those without a verdict as wrong; cells without replies are left out.
    """
    right, n = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for outcome in outcomes:
        if outcome.function_id is not None and outcome.mechanism is not None:
            cell = outcome.function_id, outcome.mechanism
            n[cell] += 1
            right[cell] += outcome.right
    matrix: dict[int, dict[str, float]] = {}
    for function, mechanism in sorted(n):
        cell = function, mechanism
        matrix.setdefault(function, {})[mechanism] = ratio(right[cell], n[cell])
    return matrix
