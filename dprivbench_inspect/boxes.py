"""Text → boxed answers: what is a box, and when is its content yes or no.

A few passes over the whole text find them, none of which looks back, so time grows in proportion
to the length whatever stands in it.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dprivbench_inspect.questions import Label


class Boxes(NamedTuple):
    """Boxed answers of a reply: the one that counts, and what stands in its way."""

    verdict: Label | None
    contradictory: bool
    torn: bool


_ZERO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+"
)
_LINE_ENDS = re.compile("\r\n?|[\u0085\u2028\u2029]")

# Marks that brace matching puts in; the same characters in a reply are junk.
_ESCAPED, _OPEN, _CLOSE = "\x01", "\x02", "\x03"

# The bare form must not be the end of a longer word; a Chinese character before it is no such word.
_BOX = re.compile(
    r"(?:\\boxed|\\fbox|\x08oxed|boxed(?<![0-9A-Za-z_\u00aa-\u024f\u0370-\u052f\\]boxed))\s*\{"
)
_BRACE = re.compile(rf"{_BOX.pattern}|\\\\[{{}}\\\\]|[{{}}]")
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
# Boxes only, none inside another and no brace besides: what most replies end with.
_PAIRED = re.compile(f"[^{{}}{_OPEN}]*+(?:{_OPEN}[^{{}}{_OPEN}]*+}}[^{{}}{_OPEN}]*+)*+")
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


def boxed_answer(text: str, *, synonyms: bool = False) -> Boxes:
    r"""The last complete boxed answer of a text, and whether something stands in its way.

    An answer is a box whose whole content is yes or no once style, spacing, quotes, Markdown
    emphasis and outer punctuation are gone. It does not count where its line holds both.

    Args:
        text: What is visible of a reply.
        synonyms: Read `SYNONYMS` too, where no box says yes or no itself.

    >>> boxed_answer(r"\boxed{yes}, then \boxed{\textbf{No}.}")
    Boxes(verdict=None, contradictory=True, torn=False)
    """
    if not text.isascii():
        text = _ZERO_WIDTH.sub("", text)
    first = min((at for at in (text.find("oxed"), text.find("fbox")) if at >= 0), default=None)
    if first is None:
        return Boxes(None, contradictory=False, torn=False)
    # Nothing before the first box, but for its own line, can change what is found.
    marked, torn = _marked(text[text.rfind("\n", 0, first) + 1 :])
    verdict, contradictory = _last_answer(
        marked, [(m.span(), "yes" if m[1] else "no") for m in _ANSWER.finditer(marked)]
    )
    if synonyms and verdict is None and not contradictory:
        words = ((m.span(), _synonym(m[1])) for m in _CONTENT.finditer(marked))
        verdict, contradictory = _last_answer(marked, [(s, v) for s, v in words if v])
    return Boxes(verdict, contradictory, torn)


def last_box(text: str) -> str | None:
    r"""What stands in the last complete box of a text, as it is written; None without one.

    >>> last_box(r"So \boxed{1}, or rather \boxed{ t = \frac{1}{n} }.")
    't = \\frac{1}{n}'
    """
    opened: list[tuple[bool, int]] = []
    start, content = -1, None
    for match in _BRACE.finditer(text):
        if (match[0].startswith("\\") and match[0][-1:] != "{") or match[0] == "\\{":
            continue  # escaped
        if match[0] != "}":
            opened.append((match[0] != "{", match.end()))
        elif opened:
            boxed, begins = opened.pop()
            if boxed and begins > start:  # not around the last one
                start, content = begins, text[begins : match.start()].strip()
    return content


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
    text = _LINE_ENDS.sub("\n", text)
    for mark in (_ESCAPED, _OPEN, _CLOSE):
        text = text.replace(mark, "\ufffd")
    while "\\\\" in text:  # a run shrinks by half each time
        text = text.replace("\\\\", "\\")
    text = _BOX.sub(_OPEN, text.replace("\\{", _ESCAPED).replace("\\}", _ESCAPED))
    for character in _SPACING_CHARACTERS:
        text = text.replace("\\" + character, " ")
    text = _SPACING.sub(" ", _STYLE.sub("", _COLOR.sub("", text)))
    if _PAIRED.fullmatch(text):
        return _without_empty(text.replace("}", _CLOSE)), False
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
    return _without_empty(marked), int(box_opens.sum()) > int(boxed.sum())


def _without_empty(marked: str) -> str:
    """The text without its empty boxes, a line end in their place where they hold one."""
    for _ in range(_EMPTY_DEPTH):
        marked, found = _EMPTY.subn(lambda empty: "\n" if "\n" in empty[0] else "", marked)
        if not found:
            break
    return marked
