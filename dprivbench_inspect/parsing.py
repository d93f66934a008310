"""Completion → verdict, or None: what counts as an answer, and why a reply holds none.

A boxed answer is found by a few passes over the whole reply that never look back, so time grows
in proportion to the reply's length whatever stands in it.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

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


class _Boxes(NamedTuple):
    """Boxed answers of a reply: the one that counts, and what stands in its way."""

    verdict: Label | None
    contradictory: bool
    torn: bool


# What is thought aloud, and what cannot be seen.
_TAG = re.compile(r"<(/?)(think|thinking|reasoning)\s*>", re.IGNORECASE)
_BLANK = " \t\r\n\v\f\ufeff\u200b"
_ZERO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+"
)
_LINE_ENDS = re.compile("\r\n?|[\u0085\u2028\u2029]")

# Marks that brace matching puts in; the same characters in a reply are junk.
_ESCAPED, _OPEN, _CLOSE = "\x01", "\x02", "\x03"

# The bare form must not be the end of a longer word; a Chinese character before it is no such word.
_BOX = re.compile(
    r"(?:\\(?:boxed|fbox)|\x08oxed|(?<![0-9A-Za-z_\u00aa-\u024f\u0370-\u052f\\])boxed)\s*\{"
)
_COLOR = re.compile(r"\\(?:textcolor|color|colorbox)\s*(?:\[[^\[\]{}\x02]*\]\s*)?\{[^{}\x02]*\}")
_STYLE = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|sc|sl|md|up|normal)?|math(?:rm|bf|it|sf|tt|normal)|emph|underline"
    r"|mbox|hbox|boldsymbol|bm|operatorname|bf|it|rm|sf|tt|(?:bf|md)series|(?:it|sl|sc|up)shape"
    r"|(?:rm|sf|tt)family)(?![A-Za-z])"
)
_SPACING = re.compile(
    r"\\(?:[hv]space\*?\s*\{[^{}\x02]*\}"
    r"|(?:tiny|scriptsize|footnotesize|small|normalsize|large|Large|LARGE|huge|Huge"
    r"|(?:display|text|script|scriptscript)style|[bB]igg?[lrm]?|left|right|q?quad|enspace|enskip"
    r"|thinspace|medspace|thickspace|negthinspace|space|hfill|centering|strut|nobreakspace)"
    r"(?![A-Za-z]))"
)
_SPACING_CHARACTERS = ",;:!>/()[]"

# What may stand around an answer: space, punctuation, quotes, dollars, Markdown emphasis.
_AROUND = (
    r"\s\x01!-#%-*,-/:;?@\[-\]_$`~\u00a1\u00a7\u00ab\u00b4\u00b6\u00b7\u00bb\u00bf"
    r"\u037e\u0387\u055a-\u055f\u0589\u058a\u05be\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965"
    r"\u2010-\u2027\u2030-\u205e\u207d\u207e\u208d\u208e\u2308-\u230b\u2329\u232a\u27e6-\u27ef"
    r"\u2983-\u2998\u2e00-\u2e5d\u3001-\u3003\u3008-\u3011\u3014-\u301f\u3030\u30fb"
    r"\ufe10-\ufe19\ufe30-\ufe52\ufe54-\ufe61\ufe63\ufe68-\ufe6b\uff01-\uff0a\uff0c-\uff0f"
    r"\uff1a\uff1b\uff1f\uff20\uff3b-\uff3d\uff3f\uff40\uff5b\uff5d-\uff65"
)
# Every character that NFKC and case folding turn into the letter, except the 13 mathematical
# alphabets: those are added from their regular layout.
_PLAIN = {
    "y": "Yyʸ\u24ce\u24e8\uff39\uff59\U0001f148",
    "e": "Eeᴱᵉₑℯℰⅇ\u24ba\u24d4\uff25\uff45\U0001f134",
    "s": "Ssſˢₛ\u24c8\u24e2\uff33\uff53\U0001f142",
    "n": "Nnᴺⁿₙℕ\u24c3\u24dd\uff2e\uff4e\U0001f13d",
    "o": "Oo\u00baᴼᵒₒℴ\u24c4\u24de\uff2f\uff4f\U0001f13e",
}


def _letter(letter: str) -> str:
    """Class of the characters that are this letter after NFKC and case folding."""
    index = ord(letter) - ord("a")
    alphabets = (chr(0x1D400 + 52 * k + case + index) for k in range(13) for case in (0, 26))
    fancy = (c for c in alphabets if unicodedata.normalize("NFKC", c).lower() == letter)
    return "[" + _PLAIN[letter] + "".join(fancy) + "]"


_YES = "".join(map(_letter, "yes"))
_NO = "".join(map(_letter, "no")) + "|\u2116"  # the numero sign is "No" in NFKC
_EMPTY_DEPTH = 8  # empty boxes inside an answer are seen through this deep
_EMPTY = re.compile(f"{_OPEN}[{_AROUND}]*+{_CLOSE}")
_ANSWER = re.compile(f"{_OPEN}[{_AROUND}]*+(?:({_YES})|{_NO})[{_AROUND}]*+{_CLOSE}")
_WORD = f"([^{_AROUND}{_OPEN}{_CLOSE}]{{1,16}}+)"
_CONTENT = re.compile(f"{_OPEN}[{_AROUND}]*+{_WORD}[{_AROUND}]*+{_CLOSE}")
SYNONYMS: dict[str, Label] = {
    **dict.fromkeys(("true", "1", "y", "是", "是的", "oui", "sí", "si", "ja", "sim", "да"), "yes"),
    **dict.fromkeys(("はい", "예", "네"), "yes"),
    **dict.fromkeys(("false", "0", "n", "否", "不是", "non", "nein", "não", "нет"), "no"),
    **dict.fromkeys(("いいえ", "아니요", "아니오"), "no"),
}
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
    return _boxes(visible_text(completion), synonyms).verdict


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
    boxes = _boxes(text, synonyms)
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


def _why_none(text: str, boxes: _Boxes, completion: object, stop_reason: str | None) -> NoVerdict:
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


def _boxes(text: str, synonyms: bool) -> _Boxes:
    if "oxed" not in text and "fbox" not in text:
        return _Boxes(None, contradictory=False, torn=False)
    marked, torn = _marked(text)
    verdict, contradictory = _last_answer(
        marked, [(m.span(), "yes" if m[1] else "no") for m in _ANSWER.finditer(marked)]
    )
    if synonyms and verdict is None and not contradictory:
        words = ((m.span(), _synonym(m[1])) for m in _CONTENT.finditer(marked))
        verdict, contradictory = _last_answer(marked, [(s, v) for s, v in words if v])
    return _Boxes(verdict, contradictory, torn)


@lru_cache(maxsize=1024)
def _synonym(word: str) -> Label | None:
    return SYNONYMS.get(unicodedata.normalize("NFKC", word).casefold())


def _last_answer(
    text: str, answers: list[tuple[tuple[int, int], Label]]
) -> tuple[Label | None, bool]:
    """The last answer, unless an answer on the same line differs; whether one does."""
    if not answers:
        return None, False
    (start, _), last = answers[-1]
    line = text.rfind("\n", 0, start)
    for (_, end), verdict in reversed(answers):
        if end <= line:
            break
        if verdict != last:
            return None, True
    return last, False


def _marked(text: str) -> tuple[str, bool]:
    """The text without commands of style and without braces, complete boxes between marks.

    Returns also whether a box is never closed. Line ends stay where they are, as newlines.
    """
    if not text.isascii():
        text = _ZERO_WIDTH.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    for mark in (_ESCAPED, _OPEN, _CLOSE):
        text = text.replace(mark, "\ufffd")
    while "\\\\" in text:  # a run shrinks by half each time
        text = text.replace("\\\\", "\\")
    text = _BOX.sub(_OPEN, text.replace("\\{", _ESCAPED).replace("\\}", _ESCAPED))
    for character in _SPACING_CHARACTERS:
        text = text.replace("\\" + character, " ")
    text = _SPACING.sub(" ", _STYLE.sub("", _COLOR.sub("", text)))
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").copy()
    box_opens = codes == ord(_OPEN)
    places = np.flatnonzero(box_opens | (codes == ord("{")) | (codes == ord("}")))
    closes = codes[places] == ord("}")
    # An opening brace and the one that closes it follow each other among braces of their level.
    level = np.cumsum(np.where(closes, -1, 1)) + closes
    level -= level.min(initial=0)
    if level.max(initial=0) < 2**16:
        level = level.astype(np.uint16)  # sorted in linear time
    order = np.argsort(level, kind="stable")
    paired = (level[order][:-1] == level[order][1:]) & ~closes[order][:-1]
    opening, closing = places[order][:-1][paired], places[order][1:][paired]
    boxed = box_opens[opening]
    codes[closing[boxed]] = ord(_CLOSE)
    kept = np.ones(len(codes), dtype=bool)
    kept[places] = False
    kept[opening[boxed]] = kept[closing[boxed]] = True
    marked = codes[kept].tobytes().decode("utf-32-le", "surrogatepass")
    for _ in range(_EMPTY_DEPTH):
        marked = _EMPTY.sub("", marked)
    return marked, int(box_opens.sum()) > int(boxed.sum())
