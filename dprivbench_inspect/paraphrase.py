"""True claims → the same in other words, by a model, for a person to review."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import yaml
from inspect_ai.model import Model

from dprivbench_inspect.parsing import visible_text
from dprivbench_inspect.prompts import paraphrase_prompt
from dprivbench_inspect.questions import DO_NOT_TRAIN, Question, read_questions
from dprivbench_inspect.scorers import reply_content

_BETWEEN = re.compile(r"<paraphrase>(.*?)</paraphrase>", re.DOTALL | re.IGNORECASE)
_HEAD = (
    "# Written by {model}. Read each question against its original above it: the claim must still\n"
    "# be true, with the same assumptions, constants and neighbours. Mend it here or delete the\n"
    "# entry, then set reviewed: true.\n"
)


def to_paraphrase(questions: Sequence[Question], out: Path) -> list[Question]:
    """The true claims that are not in the file yet.

    Raises:
        ValueError: The file is there but cannot be read as questions.
    """
    there = {question.id for question in read_questions(out)} if out.exists() else set()
    return [q for q in questions if q.label == "yes" and q.id not in there]


async def paraphrase_all(
    questions: Sequence[Question],
    model: Model,
    out: Path,
    on_reply: Callable[[Question, str | None], None],
) -> None:
    """Asks for all at once, as far as the model's connections go, and writes each as it comes.

    What was written stays whatever happens later. A reply that is of no use is not written.

    Args:
        questions: What to paraphrase; see `to_paraphrase`.
        model: Who paraphrases.
        out: A file in our form, made or added to.
        on_reply: Called after each with the question, and with what is wrong or None.
    """
    if not out.exists():
        head = _HEAD.format(model=str(model)) + yaml.safe_dump([{"do_not_train": DO_NOT_TRAIN}])
        out.write_text(head, encoding="utf-8")

    async def one(question: Question) -> None:
        output = await model.generate(paraphrase_prompt(question.question))
        text, wrong = read_paraphrase(visible_text(reply_content(output)), question.question)
        if wrong is None:
            with out.open("a", encoding="utf-8") as file:
                file.write(record_text(question, text))
        on_reply(question, wrong)

    async with anyio.create_task_group() as group:
        for question in questions:
            group.start_soon(one, question)


def read_paraphrase(reply: str, original: str) -> tuple[str, str | None]:
    r"""The rewritten question in a reply, and what is wrong with it, or None.

    >>> read_paraphrase("Sure.\n<paraphrase>Does $N$ …?</paraphrase>", "Is $M$ …?")
    ('Does $N$ …?', None)
    >>> read_paraphrase("<paraphrase>Is  $M$?</paraphrase>", "Is $M$?")[1]
    'it is the original'
    """
    found = _BETWEEN.findall(reply)
    if len(found) != 1:
        return "", f"{len(found)} texts between <paraphrase> and </paraphrase>, expected one"
    text = "\n".join(line.rstrip() for line in found[0].strip().splitlines())
    if text.split() == original.split():
        return text, "it is the original"
    if "boxed" in text:
        return text, "it holds a boxed answer"
    if not len(original) / 3 <= len(text) <= 3 * len(original):
        return text, f"it has {len(text)} characters, the original {len(original)}"
    return text, None


def record_text(question: Question, text: str) -> str:
    """The YAML of one paraphrase, not reviewed, under its original as a comment."""
    kept = question.model_dump(
        include={"id", "category", "topic", "label", "perturbation", "reference"},
        exclude_none=True,
        mode="json",
    )
    record = [kept | {"reviewed": False, "question": _Block(f"{text}\n")}]
    lines = ["", f"# Original of {question.id}:", *question.question.strip().splitlines()]
    comment = "\n".join(lines[:2] + [f"#   {line}".rstrip() for line in lines[2:]])
    dumped = yaml.dump(record, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)
    return f"{comment}\n{dumped}"


class _Block(str):
    """A text that YAML shows line by line."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(
    _Block, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
)
