"""A question's words and formulas → the function, the noise and the claim.

As with words, every formula must have a known use, and what the answer hangs on has to be stated:
the range of the data, that neighbours differ in one entry or row, one function, one noise added
once, one claim. Otherwise the question is refused with a reason.
"""

import re
from typing import Literal, NamedTuple

from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tokens import ReadingError, Token, latex_of, split
from dprivbench_inspect.latex_tree import Names, Node, symbols
from dprivbench_inspect.symbolic_constants import (
    Values,
    choices_of_constants,
    choices_of_privacy,
    read_relations,
    read_sizes,
)
from dprivbench_inspect.symbolic_function import plain_names, read_function
from dprivbench_inspect.symbolic_noise import Noise, noise_at_the_end, put_in, read_noise
from dprivbench_inspect.symbolic_text import Text, read_text
from dprivbench_inspect.symbolic_values import CONSTANTS

Guarantee = Literal["pure", "GDP", "zCDP"]
_LETTER = r"\\?[A-Za-z]+"
_NAME = rf"(?:\\(?:tilde|hat|widetilde|widehat) )?{_LETTER}"
_ASKS_FOR_NOISE = re.compile(r"\b(?:give|find|determine|what)\b.*\b(?:smallest|least|largest)\b")


class Claim(NamedTuple):
    """All that a question says.

    `choices` are values of the public constants; the first `declared` of them fit what the text
    says, the rest lie outside (0, 1) where it says nothing. `noise_constants` are those that the
    noise may depend on, `privacy` values of the privacy parameter, `smallest` the least n;
    `few_candidates` says that d is bounded, `assumed` what was taken for granted.
    """

    function: Node
    names: Names
    indices: frozenset[str]
    choices: tuple[Values, ...]
    declared: int
    noise_constants: frozenset[str]
    selects: bool
    noise: Noise
    guarantee: Guarantee
    parameter: Node
    parameter_latex: str
    privacy: tuple[Values, ...]
    smallest: int
    few_candidates: bool
    asks_for_noise: bool
    assumed: tuple[str, ...]


def read_claim(question: str) -> Claim:
    """What a question of Category 1 says.

    Raises:
        ReadingError: Something in it is unknown, missing or can be read in two ways; says what.
    """
    text = read_text(question)
    names, selects = _data(text)
    _check_neighbours(text)
    asked, guarantee, claimed = _guarantee(text)
    parameter = read_formula(claimed, plain_names(names))
    function_name = _released(text, names, selects)
    noise = put_in(read_noise(text, names), text, names)
    function = read_function(text, names, function_name)
    asks = noise.size.op == "sym" and _ASKS_FOR_NOISE.search(asked) is not None
    free = symbols(function.tree) - CONSTANTS.keys() - {names.size}
    secret = symbols(parameter) - CONSTANTS.keys()
    _check_letters(noise, names, free, secret, asks)
    relations = read_relations(text, function, names, free | secret | {names.size, "d"})
    constants = free - function.indices
    choices, declared, unsaid = choices_of_constants(constants, relations, function.tree)
    smallest, few = read_sizes(relations, names)
    privacy = choices_of_privacy(secret, relations)
    depends = constants & symbols(noise.size)
    if asks and re.search(r"\bmay depend\b", text.prose):
        depends = constants
    if not smallest:
        smallest, unsaid = 3, [*unsaid, f"${names.size} \\ge 3$"]
    _check_nothing_left(text, names)
    _check_nothing_else_published(text, names, function_name)
    return Claim(
        function.tree, names, function.indices, choices, declared, depends, selects, noise,
        guarantee, parameter, latex_of(claimed), privacy, smallest, few, asks,
        (*function.assumed, *unsaid),
    )  # fmt: skip


def _data(text: Text) -> tuple[Names, bool]:
    """Names of the data and their number; and whether a matrix is given, to choose a column of."""
    vector = re.compile(
        rf"({_NAME}) (?:=|\\in) \( (\S+) _ 1 ,(?: \2 _ 2 ,)? \\dots , \2 _ ([A-Za-z]) \)"
        r"( \\in \[ 0 , 1 \] \^ .+)?"
    )
    found: set[tuple[str, str, str]] = set()
    bounded = matrix = False
    for k, shown in enumerate(text.shown):
        if match := vector.fullmatch(shown):
            found.add((match[1], match[2], match[3]))
            bounded |= match[4] is not None
        elif re.fullmatch(
            rf"{_NAME}(?: ')? \\in \[ 0 , 1 \] \^ (?:\S+|\{{ \S+ \\cdot \S+ \}})", shown
        ):
            bounded = True
            matrix |= r"\cdot" in shown
        else:
            continue
        text.used.add(k)
    if len(found) != 1 or not bounded:
        raise ReadingError("which data there are: (x_1, …, x_n) in [0, 1]^n is looked for")
    name, entry, size = found.pop()
    return Names(entry, frozenset({name}), size), matrix


def _check_neighbours(text: Text) -> None:
    unit = r"(?:row|entry|element|record|person|coordinate|user|component|individual)\b"
    one = rf"(?:one|a single) {unit}"
    differ = (
        r"differ(?:s|ing)?(?: in| by| at| on)?(?: at most| exactly| only)?(?: in)?"
        rf"(?: the)?(?: values? of)?(?: at most| exactly| only)? {one}"
    )
    about = [s for s in text.sentences() if re.search("neighbo|adjacent", s)]
    if len(about) != 1 or not re.search(
        rf"{differ}|replac(?:ing|ement of) {one}|\breplace-one\b", about[0]
    ):
        raise ReadingError("which data sets are neighbours: differing in one entry is looked for")


def _guarantee(text: Text) -> tuple[str, Guarantee, tuple[Token, ...]]:
    """The sentence that asks, the kind of the claim, and its parameter."""
    asking = [s for s in text.sentences() if s.endswith("?")]
    asking = asking or [s for s in text.sentences() if _ASKS_FOR_NOISE.search(s)]
    if len(asking) != 1:
        raise ReadingError("what is asked: one question is looked for")
    if re.search(r"\b(?:not|nothing|some|without)\b", asking[0]):
        raise ReadingError("a question with a negation or 'some'")
    found: dict[tuple[Guarantee, str], tuple[Token, ...]] = {}
    for match in re.finditer(
        r"<(\d+)>-? ?(?:(?P<GDP>gaussian differential\w* priva\w+|gdp)"
        r"|(?P<zCDP>zero[- ]?concentrated differential\w* priva\w+|zcdp)"
        r"|(?P<pure>(?:pure )?(?:differential\w* priva\w+|dp)))\b",
        asking[0],
    ):
        kind: Guarantee = "GDP" if match["GDP"] else "zCDP" if match["zCDP"] else "pure"
        k = int(match[1])
        text.used.add(k)
        found[kind, text.shown[k]] = text.formulas[k]
    if len(found) != 1:
        raise ReadingError("which guarantee is claimed: one is looked for")
    (kind, _), tokens = found.popitem()
    if not tokens or len(split(tokens, ",")) > 1:
        raise ReadingError("a guarantee with more than one parameter")
    return asking[0], kind, tokens


def _released(text: Text, names: Names, selects: bool) -> str:
    """Name of the function that noise is added to, once, before the result is published."""
    vector = re.escape(next(iter(names.vectors)))
    found: set[tuple[str, str]] = set()
    for k, shown in enumerate(text.shown):
        if selects:
            inner = shown.replace(r"\arg max", "argmax")
            inner = re.sub(r"^.*argmax _ (?:\{ .*? \}(?= \()|\w) ", "", inner)
            inner = re.sub(r"^\( (.*) \)$", r"\1", inner)
            match = re.fullmatch(
                rf"(?:(?P<f>{_NAME}) \( \S+ _ (?:\{{ \S+ , (?P<i>\w) \}}|\w) \)"
                rf"|(?P<q>\w) _ (?P<j>\w)) \+ (?P<z>{_LETTER}) _ (?P<k>\w)",
                inner,
            )
            if match and (match["i"] or match["j"] or match["k"]) == match["k"]:
                text.used.add(k)
                name = match["f"] or _score(text, match["q"], match["j"])
                found.add((name, match["z"]))
            continue
        head = re.match(
            rf"(?:{_NAME}(?: \( {vector} \))? = )?(?P<f>{_NAME}) \( {vector} \) \+ ", shown
        )
        if head is None:
            continue
        text.used.add(k)
        rest = shown[head.end() :]
        applied = noise_at_the_end(text.formulas[k], names)
        if re.fullmatch(_LETTER, rest) or (applied and " ".join(rest.split()[1:2]) == "("):
            found.add((head["f"], "" if applied else rest))
        else:
            raise ReadingError("what is added to the function")
    if len(found) != 1:
        raise ReadingError("what is published: the function plus noise, once, is looked for")
    function, noise = found.pop()
    if selects:
        words = f"{text.prose} {' '.join(text.shown)}"
        if not re.search(r"argmax\b|\\arg max\b|\blargest\b", words):
            raise ReadingError("which candidate is published")
        if not re.search(r"\bindependent|\biid\b", text.prose):
            raise ReadingError("whether the noise is independent")
    listed = rf"{re.escape(noise)}(?: _ 1 , .*)?(?: \\sim .*)?"
    if noise and not any(re.fullmatch(listed, shown) for shown in text.shown):
        raise ReadingError(f"what {noise} is")
    return function


def _score(text: Text, score: str, index: str) -> str:
    """Name of the function in `q_j = f(D_{1j}, …, D_{nj})`."""
    for k, shown in enumerate(text.shown):
        if match := re.fullmatch(rf"{score} _ {index} = (\S+) \( \S+ _ [^()]*\)", shown):
            text.used.add(k)
            return match[1]
    raise ReadingError(f"how the score {score}_{index} comes about")


def _check_letters(
    noise: Noise, names: Names, free: frozenset[str], secret: frozenset[str], asks: bool
) -> None:
    if secret & (free | {names.size}) or free & {"d", r"\bar"}:
        raise ReadingError(f"what {min((secret & free) or free or secret)} stands for")
    unknown = symbols(noise.size) - CONSTANTS.keys() - free - secret - {names.size}
    if unknown and not asks:
        raise ReadingError(f"what {min(unknown)} in the noise is")


def _check_nothing_left(text: Text, names: Names) -> None:
    """Refuse formulas that do more than point at something: names, entries, lists, conditions."""
    index = r"(?:\{[^{}]*\}|\S+)"
    one = rf"{_NAME}(?: ')?"
    listed = rf"(?:{_LETTER} _ )?1 ,(?: (?:{_LETTER} _ )?2 ,)? \\dots , (?:{_LETTER} _ )?\S+"
    harmless = re.compile(
        rf"\d|{one}(?: , {one})?|{_NAME} _ {index}(?: \( {_NAME} \))?|{one} \( {one} \)|{listed}"
        rf"|(?:{_NAME} \\in )?(?:\\\{{ {listed} \\\}}|\[ \S+ \])"
        r"|\\\#|\\indicator [\[(] \\cdot [\])]"
        rf"|{re.escape(names.entry)} _ {index} (?:<|>|\\le|\\ge) \S+"
    )
    for k, shown in enumerate(text.shown):
        if k not in text.used and not harmless.fullmatch(shown):
            raise ReadingError(f"what the formula {latex_of(text.formulas[k])[:60]!r} is for")


def _check_nothing_else_published(text: Text, names: Names, function: str) -> None:
    """Refuse data, scores and further items in a sentence that publishes something."""
    (vector,) = names.vectors
    held = [s.split(" ")[0] for s in text.shown if r" \in [ 0 , 1 ] ^" in s]
    data = re.compile(
        rf"(?:{'|'.join(map(re.escape, {vector, names.entry, *held}))})(?: _ .*| ')?"
        rf"|{re.escape(function)} \( .*|\w _ \w"
    )
    for sentence in text.sentences():
        if not re.search(r"\b(?:publish|releas|return|report|output)", sentence):
            continue
        further = re.findall(
            r"(?:publish|releas|return|report|output).*\b(?:and|with) <(\d+)>", sentence
        )
        for k in map(int, re.findall(r"<(\d+)>", sentence)):
            shown = text.shown[k]
            if k not in text.used and (str(k) in further or data.fullmatch(shown)):
                raise ReadingError(f"whether {latex_of(text.formulas[k])} is published")
