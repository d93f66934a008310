"""Bank × mechanisms → Category 1; rewrites data/category_1.jsonl byte for byte."""

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple

from dprivbench_inspect.functions import Function, function_bank
from dprivbench_inspect.mechanisms import (
    MECHANISMS,
    Mechanism,
    noise_latex,
    question_text,
    sensitivity_latex,
)
from dprivbench_inspect.questions import DO_NOT_TRAIN, Label, Question

Variant = Literal["pairs", "graded"]
CATEGORY_1 = Path(__file__).parent / "data" / "category_1.jsonl"

# Graded factors: a/b for "no" and b/a for "yes" from the same a < b, so that no number by itself
# tells the label. 0.4 <= a/b <= 0.9 keeps every "no" far enough from 1 to be certified.
_BELOW = [
    Fraction(a, b)
    for b in range(2, 11)
    for a in range(2, b)
    if math.gcd(a, b) == 1 and Fraction(2, 5) <= Fraction(a, b) <= Fraction(9, 10)
]
_ABOVE = [1 / factor for factor in _BELOW] + [Fraction(1)]


class Claim(NamedTuple):
    """What one question of Category 1 says, exactly.

    `amount` is printed noise over needed noise: of the scale, of the variance for normal noise,
    of the mean for exponential noise.
    """

    id: str
    function: Function
    mechanism: Mechanism
    amount: Fraction

    @property
    def factor(self) -> float:
        """Noise over needed noise as a scale; for normal noise as a standard deviation."""
        amount = float(self.amount)
        return math.sqrt(amount) if self.mechanism.power == 2 else amount

    @property
    def label(self) -> Label:
        """The claim holds exactly when there is as much noise as it needs."""
        return "yes" if self.amount >= 1 else "no"


def category_1_claims(variant: Variant = "pairs", seed: int = 0) -> Iterator[Claim]:
    """The 588 claims: by mechanism, then function; the true one before the false one.

    Args:
        variant: "pairs" takes the needed noise and half of it (normal noise: half its variance);
            "graded" a factor on the needed scale (normal noise: standard deviation) drawn for
            each claim, 1 to 2.5 for true and 0.4 to 0.9 for false ones.
        seed: Fixes the factors of "graded"; each depends on the seed and the claim's id alone.

    Raises:
        ValueError: Unknown variant.
    """
    if variant not in {"pairs", "graded"}:
        raise ValueError(f"variant must be 'pairs' or 'graded', got {variant!r}")
    for mechanism in MECHANISMS.values():
        for function in function_bank().values():
            for label, number in (("yes", 2 * function.id - 1), ("no", 2 * function.id)):
                claim_id = f"{mechanism.name}-{number}"
                amount = Fraction(1 if label == "yes" else Fraction(1, 2))
                if variant == "graded":
                    rng = random.Random(f"{seed}/{claim_id}")
                    amount = rng.choice(_ABOVE if label == "yes" else _BELOW) ** mechanism.power
                yield Claim(claim_id, function, mechanism, amount)


def generate_category_1(variant: Variant = "pairs", seed: int = 0) -> list[Question]:
    """The 588 questions of Category 1, in memory; arguments as for `category_1_claims`."""
    return [_question(claim) for claim in category_1_claims(variant, seed)]


def category_1_text() -> str:
    """The data file: the notice that it is not for training, then the pairs, a record a line."""
    records: list[dict[str, object]] = [{"do_not_train": DO_NOT_TRAIN}]
    records += [question.model_dump(exclude_none=True) for question in generate_category_1()]
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def write_category_1(path: Path = CATEGORY_1) -> None:
    """Write the data file, the same bytes each time."""
    path.write_text(category_1_text(), encoding="utf-8", newline="\n")


def _question(claim: Claim) -> Question:
    mechanism, function = claim.mechanism, claim.function
    needed = noise_latex(mechanism, function, Fraction(1))
    bound = "at most" if mechanism.quantity == "rate" else "at least"
    printed = noise_latex(mechanism, function, claim.amount)
    return Question(
        id=claim.id,
        category=1,
        question=question_text(mechanism, function, claim.amount),
        label=claim.label,
        mechanism=mechanism.name,
        function_id=function.id,
        factor=claim.factor,
        sibling=None if claim.label == "yes" else f"{mechanism.name}-{2 * function.id - 1}",
        explanation=(
            f"The sensitivity of f is ${sensitivity_latex(function)}$: {function.why}. "
            f"The claim needs a {mechanism.quantity} of {bound} ${needed}$, "
            f"and the mechanism has ${printed}$."
        ),
        evidence="certificate",
    )
