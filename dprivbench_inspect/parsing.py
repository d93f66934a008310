"""Completion → verdict, or None; and why a reply holds none."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from dprivbench_inspect.boxes import Boxes, boxed_answer
from dprivbench_inspect.questions import Label

How = Literal["box", "judge", "none"]
NoVerdict = Literal["no_response", "refusal", "invalid_format", "truncated", "contradictory"]
CUT_SHORT = frozenset({"max_tokens", "model_length"})  # stop reasons: the reply has no end
FILTERED = "content_filter"  # stop reason: the provider withheld the reply


class Reading(NamedTuple):
    """What a reply says: its verdict and how it was found, or the reason why there is none."""

    verdict: Label | None
    how: How
    reason: NoVerdict | None


# What is thought aloud, and what cannot be seen.
_TAG = re.compile(r"<(/?)(think|thinking|reasoning)\s*>", re.IGNORECASE)
_BLANK = " \t\r\n\v\f\ufeff\u200b"
_REFUSAL = re.compile(
    r"\bI(?:['’]m| am)? (?:can(?:not|['’]t| not)|won['’]t|will not|unable to|not able to"
    r"|must decline to) (?:help|assist|comply|fulfil+|engage|discuss|continue with)\b"
    r"|\bagainst my (?:guidelines|policy|policies)\b",
    re.IGNORECASE,
)
_JUDGED = re.compile(r"[*_`#\s]*VERDICT[*_`\s]*:[*_`\s]*(yes|no|none)[*_`.\s]*", re.IGNORECASE)
_REFUSAL_LENGTH = 600  # a longer reply argues, whatever it says on the way


def parse_verdict(completion: object, *, synonyms: bool = False) -> Label | None:
    r"""The verdict in the last complete boxed answer, or None where there is none.

    A boxed answer is `\boxed{…}` or `\fbox{…}` whose whole content, apart from style, spacing
    and outer punctuation, is yes or no. None also where the line of the last one holds both.

    Args:
        completion: Text, a list of content blocks (mappings or Inspect's content objects; only
            text blocks are read), or None. Anything else holds no text.
        synonyms: Read true, 1, y, 是 and their like too, where no box says yes or no itself.

    >>> parse_verdict(r"So \boxed{\text{Yes.}} as claimed"), parse_verdict("**yes**")
    ('yes', None)
    """
    return boxed_answer(visible_text(completion), synonyms=synonyms).verdict


def read_reply(
    completion: object, stop_reason: str | None = None, *, synonyms: bool = False
) -> Reading:
    r"""The verdict of a reply, or the reason why it has none.

    Args:
        completion: As in `parse_verdict`.
        stop_reason: Inspect's word for how the reply ended. Where it is not known, a box that is
            never closed passes for a reply cut short.
        synonyms: As in `parse_verdict`.

    >>> read_reply(r"so it holds: \boxed{ye", "max_tokens")
    Reading(verdict=None, how='none', reason='truncated')
    """
    text = visible_text(completion)
    boxes = boxed_answer(text, synonyms=synonyms)
    if boxes.verdict is not None:
        return Reading(boxes.verdict, "box", None)
    return Reading(None, "none", _why_none(text, boxes, completion, stop_reason))


def parse_judge(completion: object) -> Literal["yes", "no", "none"] | None:
    r"""What a judge says that a reply concludes; "none" abstains, None cannot be read.

    Its last line must be the verdict, and no line before may give another one.

    >>> parse_judge("It says the noise is enough.\n**VERDICT: yes**"), parse_judge("GRADE: C")
    ('yes', None)
    """
    lines = [line for line in visible_text(completion).splitlines() if line.strip()]
    found = [_JUDGED.fullmatch(line.strip()) for line in lines]
    if not found or (last := found[-1]) is None:
        return None
    if {match[1].lower() for match in found if match} != {last[1].lower()}:
        return None
    return "yes" if last[1].lower() == "yes" else "no" if last[1].lower() == "no" else "none"


def paper_extraction(completion: object) -> Label | None:
    """The verdict as the paper's own code finds it, for comparison with published numbers only.

    It takes the last `boxed{` up to the next closing brace and looks for the letters "yes", then
    "no", anywhere in there, then anywhere in the whole reply: "noise" is a no, "eyes" a yes. It
    does not tell reasoning that stands in the text from the answer. Source: the release
    erchiw/DPriv-Bench at 48f86ab.

    >>> paper_extraction("The noise is too small to say."), paper_extraction("Perhaps.")
    ('no', None)
    """
    text = _text_of(completion).lower()
    _, found, after = text.rpartition("boxed{")
    for place in (after.partition("}")[0], text) if found else (text,):
        if "yes" in place:
            return "yes"
        if "no" in place:
            return "no"
    return None


def visible_text(completion: object) -> str:
    """What a reader of the reply sees: its text blocks, without what is thought aloud in tags.

    >>> visible_text("<think>no?</think>It holds."), visible_text([{"type": "text", "text": "a"}])
    ('It holds.', 'a')
    """
    text = _text_of(completion)
    tags = list(_TAG.finditer(text))
    last_close = {tag[2].lower(): tag.start() for tag in tags if tag[1]}
    kept: list[str] = []
    start, inside = 0, ""
    for tag in tags:
        name = tag[2].lower()
        if inside:
            if tag[1] and name == inside:
                start, inside = tag.end(), ""
        elif tag[1]:  # closes what was never opened: all before it was thought
            kept, start = [], tag.end()
        elif last_close.get(name, -1) > tag.start():
            kept.append(text[start : tag.start()])
            inside = name
    kept.append(text[start:])
    visible = "".join(kept)
    first = _TAG.match(visible.lstrip(_BLANK))
    return "" if first and not first[1] else visible


def _text_of(completion: object) -> str:
    if isinstance(completion, str):
        return completion
    if completion is None:
        return ""
    return "\n".join(_text_blocks(completion))


def _text_blocks(completion: object) -> Iterable[str]:
    blocks = completion if isinstance(completion, list | tuple) else [completion]
    for block in blocks:
        text = block if isinstance(block, str) else _field(block, "text")
        if isinstance(text, str) and (block is text or _field(block, "type") == "text"):
            yield text


def _field(block: object, name: str) -> object:
    return block.get(name) if isinstance(block, dict) else getattr(block, name, None)


def _why_none(text: str, boxes: Boxes, completion: object, stop_reason: str | None) -> NoVerdict:
    if boxes.contradictory:
        return "contradictory"
    blocks = completion if isinstance(completion, list | tuple) else []
    flagged = any(_field(block, "refusal") is True for block in blocks)
    if stop_reason == FILTERED or flagged:
        return "refusal"
    if not text.strip(_BLANK):
        return "no_response"
    if len(text) <= _REFUSAL_LENGTH and _REFUSAL.search(text):
        return "refusal"
    if stop_reason in CUT_SHORT or (boxes.torn and stop_reason in {None, "unknown"}):
        return "truncated"
    return "invalid_format"
