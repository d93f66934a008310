"""A question's text → its words and its formulas. A word that is not known is never passed over.

A question is read in a closed world: the words below do not change what the mechanism does beyond
what the other files read from them, and a text with any other word (clipped, subsampled, twice,
inserting) is refused.
"""

import re
from typing import NamedTuple

from dprivbench_inspect.latex_tokens import ReadingError, Token, show, tokenize

MAX_LENGTH = 6000
WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    a above adjacent all also an and any are argmax as at be being below between both but by
    call called candidate candidates change claim claimed column columns component components
    concentrated condition consider constant constants coordinate coordinates cyclic
    cyclically d data database databases dataset datasets define defined defines denote
    denoted denotes depend depends determine deviation differ differential differentially
    differing differs distributed distribution divided division does dp draw drawn draws each
    element elements elsewhere entries entry equal equals even every exactly exponential
    expression find first fixed following follows for form formula from function gaussian gdp
    give given gives greatest guarantee gumbel has have having here highest hold holds if iid
    in independent independently index indexed indices individual individuals interquartile
    interval inverse is it item items its laplace largest least leaves let lie lies location
    log logarithm logarithms matrix max maximal maximum may mean means meant mechanism median
    min minimal minimum modulo most name namely natural neighbor neighboring neighbors
    neighbour neighbouring neighbours noise noisy normal not nothing number numbers odd of on
    one only or order other our output outputs over parameter parameters people permutation
    person place positive preference preferences privacy private public publish published
    publishes pure quartile quartiles query random range rank rate real record records
    relation release released releases remainder replace replaced replacement replacing report
    reports respectively result return returned returns row rows same sample satisfied
    satisfies satisfy scale score scores set sets single size smaller smallest so some stand
    standard stands statistic strictly such suppose symbol symbols take taken takes th than
    that the their them then there these they this those to true two under use user users uses
    value values variable variables variance vector we what when where which whose with
    without write written zcdp zero
    """,
    )
)
_FORMULA = re.compile(
    r"\$\$(.+?)\$\$|\$(.+?)\$|\\\[(.+?)\\\]|\\\((.+?)\\\)"
    r"|((?<![a-z])(?:[αβεϵμρτ]|eps(?:ilon)?)(?![a-z]))",  # a letter outside of a formula
    re.DOTALL | re.IGNORECASE,
)


class Text(NamedTuple):
    """`prose` in lower case with <0>, <1>, … where `formulas` stand; `shown` are these as strings.

    `used` collects the formulas that have been understood.
    """

    prose: str
    formulas: tuple[tuple[Token, ...], ...]
    shown: tuple[str, ...]
    used: set[int]

    def sentences(self) -> list[str]:
        """Sentences, each with the mark at its end."""
        return re.findall(r"[^.?]+[.?]?", self.prose)


def read_text(question: str) -> Text:
    """Words and formulas.

    Raises:
        ReadingError: Too long, or with a word or sign that is not known; says which.
    """
    if len(question) > MAX_LENGTH:
        raise ReadingError(f"a text of more than {MAX_LENGTH} characters")
    if "<" in _FORMULA.sub("", question):
        raise ReadingError("'<' outside of a formula")
    formulas: list[tuple[Token, ...]] = []

    def placed(match: re.Match[str]) -> str:
        tokens = tokenize(next(group for group in match.groups() if group is not None))
        end = tokens.pop().text if tokens and tokens[-1].text in {".", ",", ";"} else ""
        formulas.append(tuple(tokens))
        return f" <{len(formulas) - 1}>{end} "

    prose = re.sub(r"\s+", " ", _FORMULA.sub(placed, question)).lower()
    prose = prose.replace("i.i.d.", "iid").replace("i.e.", "that is").replace("–", "-")
    prose = re.sub(r" ([-.,;:?])", r"\1", prose).strip()
    for piece in re.findall(r"<\d+>|[^\W\d_]+|\d+|\S", prose):
        if not (piece in WORDS or piece in {"0", "1"} or piece in ".,;:?()'’-*" or piece[0] == "<"):
            raise ReadingError(f"{piece[:40]!r} is not a word it knows")
    if re.search(r"\btwo\b(?! (?:data|neighbo))(?<!by two)", prose):
        raise ReadingError("'two' of something other than data sets")
    return Text(prose, tuple(formulas), tuple(map(show, formulas)), set())
