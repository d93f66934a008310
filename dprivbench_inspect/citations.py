"""A reply's "Used:" line → the theorem ids it cites, and how well they fit."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dprivbench_inspect.metrics import rate_over_questions
from dprivbench_inspect.retrieval import recall

# The line that is asked for, with the Markdown or LaTeX that replies put around it.
_LINE = re.compile(
    r"^[\s>*_#`\-\\{(\[]*(?:text(?:bf|it)?\{)?\s*(?:theorems\s+|statements\s+)?used[\s*_`}]*:(.*)$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_STYLE = re.compile(r"\\(?:text(?:bf|it|tt|rm)?|math(?:bf|it|tt|rm)|boxed\{[^}]*\})|[\u200b*`]")
_FILLER = {"none", "and", "or", "the", "theorem", "theorems", "definition", "definitions", "id"}
_FILLER |= {"ids", "statement", "statements", "n/a", "nothing", "no", "only"}


class Cited(NamedTuple):
    """Ids in the line of a reply: those that were shown, and words that name nothing shown."""

    shown: tuple[str, ...]
    other: tuple[str, ...]


class Citation(NamedTuple):
    """One reply: what the question rests on, what the prompt showed, and what was cited."""

    question_id: str
    right: tuple[str, ...]
    shown: tuple[str, ...]
    cited: Cited | None  # None without a line
    epoch: int = 1


def parse_citations(text: str, shown: Sequence[str]) -> Cited | None:
    r"""The ids that the last "Used:" line of a reply cites, in their order; None without one.

    Args:
        text: What is visible of the reply.
        shown: Ids that the prompt showed.

    >>> parse_citations("As above.\n**Used:** [zcdp], gaussian\\_gdp and Fubini\n\\boxed{no}",
    ...     ["zcdp", "gaussian_gdp"])
    Cited(shown=('zcdp', 'gaussian_gdp'), other=('Fubini',))
    >>> parse_citations("Used: none.", ["zcdp"]), parse_citations("I used: zcdp", ["zcdp"])
    (Cited(shown=(), other=()), None)
    """
    lines = [found[1] for line in text.splitlines() if (found := _LINE.match(line))]
    if not lines:
        return None
    spelled = {name.lower(): name for name in shown}
    plain = _STYLE.sub(" ", lines[-1]).replace("\\_", "_").replace("\\-", "-")
    words = list(dict.fromkeys(_WORD.findall(plain)))
    return Cited(
        tuple(spelled[word.lower()] for word in words if word.lower() in spelled),
        tuple(w for w in words if w.lower() not in spelled and w.lower() not in _FILLER),
    )


def citation_summary(citations: Sequence[Citation]) -> dict[str, float]:
    """How well citations fit what the questions rest on, under the names a reader sees.

    A reply without the line cites nothing: it counts in recall and in every share. Precision is
    over the replies that cite something shown. "right theorems shown" is about the prompts: below
    1 where a search missed some, and no reply can make up for that. ± is 1.96 standard errors,
    clustered by question; nan where unknown.

    >>> citation_summary([Citation("a", ("x", "y"), ("x", "z"), Cited(("x", "z"), ()))])[
    ...     "precision of citations"]
    0.5
    """
    citing = [c for c in citations if c.cited and c.cited.shown]
    summary: dict[str, float] = {}
    for name, among, value in _RATES:
        estimate = rate_over_questions(
            (c.question_id, value(c)) for c in (citing if among == "citing" else citations)
        )
        summary |= {name: estimate.mean, f"{name} ± over questions": estimate.half_width}
    return summary | {"theorems cited per reply": _mean(_n_cited(c) for c in citations)}


def _names(citation: Citation) -> tuple[str, ...]:
    return citation.cited.shown if citation.cited else ()


def _precision(citation: Citation) -> float:
    names = _names(citation)
    return sum(name in citation.right for name in names) / len(names)


def _n_cited(citation: Citation) -> float:
    return float(len(_names(citation)))


_RATES: tuple[tuple[str, str, Callable[[Citation], float]], ...] = (
    ("recall of right theorems", "all", lambda c: recall(_names(c), c.right)),
    ("precision of citations", "citing", _precision),
    ("cites a right theorem", "all", lambda c: float(any(n in c.right for n in _names(c)))),
    ("no citation line", "all", lambda c: float(c.cited is None)),
    ("cites none", "all", lambda c: float(c.cited is not None and not c.cited.shown)),
    ("cites what was not shown", "all", lambda c: float(bool(c.cited and c.cited.other))),
    ("right theorems shown", "all", lambda c: recall(c.shown, c.right)),
    ("a right theorem shown", "all", lambda c: float(any(n in c.right for n in c.shown))),
)


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else math.nan
