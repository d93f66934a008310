r"""Reply → the sensitivities that it states, in the order in which they stand there.

Two forms count: Δ with a sign (`\Delta f = 1`, `$\Delta \le 2$`), and the word sensitivity led to a
formula by words that change nothing ("the sensitivity of $f$ is at most $1/n$"). Any other word
between the two, and a condition before them ("if", "suppose", "unless"), and it is no statement.
What cannot be read as a formula in n and public constants is none either.
"""

import re
from collections.abc import Iterator

from dprivbench_inspect.expressions import Comparison, Values, compare_boxed

MAX_REPLY = 200_000  # characters that are looked at, from the end
MAX_STATEMENTS = 50  # the last ones
_MATH = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$|\\\[(.+?)\\\]|\\\((.+?)\\\)", re.DOTALL)
_DELTA = re.compile(
    r"(?<![\w/^*{}|])(?<!\d )(?<!\\cdot )(?<!\\times )"  # not in 2Δ = 2
    r"(?:\\Delta|Δ|\\operatorname\{(?:GS|sens)\}|\\(?:text|mathrm)\{(?:GS|sens|sensitivity)\}|\bGS)"
    r"(?:\s*(?:_|\^)?\s*(?:\{[^{}]{1,12}\}|\([^()]{1,6}\)|\\infty|[fq12*]|\s)){0,3}\s*"
    r"(?P<sign>:=|\\coloneqq|=|\\equiv|\\leq?(?:slant)?(?![a-z])|≤|<=)"
)
_SIGNS = re.compile(r":=|\\coloneqq|=|\\equiv|\\leq?(?:slant)?(?![a-z])|≤|<=|\\approx|≈")
_END = re.compile(
    r"\\(?:quad|qquad|implies|Rightarrow|Longrightarrow|text|\\)(?![a-z])|[,;]|\.(?:\s|$)|\n|\$\$"
)
_WORD = re.compile(r"\bsensitivity\b", re.IGNORECASE)
_CONDITION = re.compile(  # in the same clause: "if one entry changes, Δ = 1" is a statement
    r"\b(?:if|suppose|supposing|assume|assuming|unless|were|had|would|instead of|rather than"
    r"|whether|mistake|wrongly)\b[^,;:.?!]*$",
    re.IGNORECASE,
)
# Words, signs and short formulas that may stand between "sensitivity" and its value.
_LEADING = re.compile(
    r"\s*(?:(?:of|for|is|are|be|equals?|equal|to|at|most|exactly|also|the|this|that|each|every|a|an|"
    r"function|score|query|sum|mean|average|median|maximum|minimum|product|count|rank|statistic|f|q|here|then|therefore|thus|so|just|only|still|simply|again|"
    r"bounded|given|by|global|tight|value|has|L1|L2|ell_?[12]|Δ|delta|as|above|now|column|under|"
    r"replace-one|replacement|neighbou?rs?|adjacency|in|norm)\b|[:=()*_]|Δ|≤)",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"\s*((?:[^\s$,;]*\d[^\s$,;]*|n\b)(?:\s*[-−+*/]\s*(?:[\d(]|n\b)[^\s$,;]*)*)",
)


def stated_sensitivities(reply: str, right: str, values: Values) -> list[Comparison]:
    r"""Each readable statement of a sensitivity, compared with the right one.

    Args:
        reply: What is visible of it.
        right: LaTeX of the sensitivity.
        values: Letters that it may hold, as for `compare_boxed`.

    >>> found = stated_sensitivities(r"So $\Delta = 2$; no, sensitivity is 1.", "1", {"n": [3]})
    >>> [comparison.result for comparison in found]
    ['too_much', 'equal']
    """
    text = reply[-MAX_REPLY:]
    statements = sorted([*_after_delta(text), *_after_the_word(text)])[-MAX_STATEMENTS:]
    found = []
    for at, sides in statements:
        sentence = max(text.rfind(mark, 0, at) for mark in (". ", ".\n", "? ", "! ", "\n\n")) + 1
        if _CONDITION.search(text[max(sentence, at - 200) : at]):
            continue
        for side in reversed(sides):  # Δ = max |f(x) - f(y)| = 1 is read from its end
            comparison = compare_boxed(side, right, values)
            if comparison.result != "unreadable":
                found.append(comparison)
                break
    return found


def _after_delta(text: str) -> Iterator[tuple[int, list[str]]]:
    for match in _DELTA.finditer(text):
        rest = text[match.end() : match.end() + 300]
        end = min(
            (found.start() for found in (_END.search(rest), _closing(rest)) if found),
            default=len(rest),
        )
        sides = [side for side in _SIGNS.split(rest[:end]) if side.strip()]
        if (plain := _PLAIN.match(rest)) and re.match(r"\s+[a-z]{2}", rest[plain.end() : end]):
            sides = [plain[1]]  # outside of a formula, and words go on
        yield match.start(), sides


def _closing(rest: str) -> re.Match[str] | None:
    return re.search(r"\$|\\\]|\\\)", rest)


def _after_the_word(text: str) -> Iterator[tuple[int, list[str]]]:
    for match in _WORD.finditer(text):
        at, limit = match.end(), match.end() + 160
        while at < limit:
            if leading := _LEADING.match(text, at):
                at = leading.end()
            elif (math := _MATH.match(text, at + _blank(text, at))) is not None:
                inner = next(group for group in math.groups() if group)
                if not _DELTA.match(inner.strip()):  # that is a statement of the other form
                    sides = [side for side in _SIGNS.split(inner) if side.strip()]
                    yield match.start(), sides
                at = math.end()
                if re.search(r"\d", inner) or inner.strip() == "n":
                    break
            elif plain := _PLAIN.match(text, at):
                yield match.start(), [plain[1].rstrip(".:*_)!?")]
                break
            else:
                break


def _blank(text: str, at: int) -> int:
    return len(text[at : at + 20]) - len(text[at : at + 20].lstrip())
