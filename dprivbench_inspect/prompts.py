"""Every word the model reads besides the question itself."""

import hashlib
from typing import Literal, get_args

from dprivbench_inspect.exemplars import EXEMPLARS

PromptForm = Literal["zero_shot", "one_shot"]

INSTRUCTION = (
    "Does the claim above hold exactly as stated? Reason first, step by step. Then give your final "
    "answer, which is either yes (it holds) or no (it does not), inside \\boxed{}."
)
EXAMPLE_START = "Here is an example of a question and a worked answer.\n\nExample question:\n"
EXAMPLE_ANSWER = "\n\nExample answer:\n"
EXAMPLE_END = "\n\nNow answer this question.\n\n"


def prompt_for(form: PromptForm, question: str, *, exemplars: str, pair: str) -> str:
    """The whole prompt: what is asked, then the instruction, nothing else.

    Args:
        form: "one_shot" puts a worked example before the question.
        question: Its text, left as it is.
        exemplars: Key of `EXEMPLARS`: the mechanism, or "category_2".
        pair: Id that a claim shares with its siblings, so that they see the same example and it
            tells nothing about their labels.

    Raises:
        ValueError: Another form, or no exemplar for the mechanism.
    """
    asked = f"{question}\n\n{INSTRUCTION}"
    if form == "zero_shot":
        return asked
    if form not in get_args(PromptForm):
        raise ValueError(f"prompt {form!r} is not one of {list(get_args(PromptForm))}")
    if exemplars not in EXEMPLARS:
        raise ValueError(f"no worked example for {exemplars!r}; there are {sorted(EXEMPLARS)}")
    half = hashlib.sha256(pair.encode()).digest()[0] % 2
    example = EXEMPLARS[exemplars][half]
    return EXAMPLE_START + example.question + EXAMPLE_ANSWER + example.answer + EXAMPLE_END + asked


def question_in(prompt: str) -> str:
    """The question's own text in a prompt that `prompt_for` made.

    >>> question_in(prompt_for("zero_shot", "Is 1 > 0?", exemplars="laplace", pair="laplace-1"))
    'Is 1 > 0?'
    """
    return prompt.rpartition(EXAMPLE_END)[2].removesuffix(f"\n\n{INSTRUCTION}")
