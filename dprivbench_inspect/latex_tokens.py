r"""LaTeX → tokens, in which equal notations are one and spacing, sizes and fonts are gone."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MAX_TOKENS = 2000


class ReadingError(ValueError):
    """A text that cannot be read with certainty; says what stopped the reader."""


class Token(NamedTuple):
    """A piece of LaTeX: kind number, name (a letter), function, text (words) or mark (the rest)."""

    kind: str
    text: str


FUNCTIONS = frozenset({
    "exp", "log", "ln", "sin", "cos", "tan", "arctan", "arcsin", "arccos", "sinh", "cosh", "tanh",
    "sign", "median", "mean", "rank", "max", "min",
})  # fmt: skip
_KEPT_WORDS = frozenset({
    "Lap", "Laplace", "Gaussian", "Normal", "Gumbel", "Exponential", "Exp", "Expo", "argmax",
})  # fmt: skip
_OTHER_NAMES = {"med": "median", "sgn": "sign", "avg": "mean"}
_GREEK = frozenset({
    "alpha", "beta", "gamma", "delta", "varepsilon", "zeta", "eta", "theta", "vartheta", "kappa",
    "lambda", "mu", "nu", "xi", "pi", "rho", "varrho", "sigma", "tau", "phi", "varphi", "chi",
    "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi",
    "Omega", "ell",
})  # fmt: skip
_UNICODE = str.maketrans({
    "ε": r"\varepsilon ", "ϵ": r"\varepsilon ", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ",
    "δ": r"\delta ", "λ": r"\lambda ", "μ": r"\mu ", "µ": r"\mu ", "ρ": r"\rho ", "σ": r"\sigma ",
    "τ": r"\tau ", "π": r"\pi ", "θ": r"\theta ", "Δ": r"\Delta ", "≤": r"\le ", "≥": r"\ge ",
    "≠": r"\ne ", "∈": r"\in ", "·": r"\cdot ", "×": r"\cdot ", "−": "-", "–": "-",
    "∑": r"\sum ", "∏": r"\prod ", "√": r"\sqrt ", "…": r"\dots ", "²": "^2 ", "³": "^3 ",
    "′": "'",
})  # fmt: skip
_ALIASES = {
    r"\epsilon": r"\varepsilon", r"\leq": r"\le", r"\leqslant": r"\le", "<=": r"\le",
    r"\geq": r"\ge", r"\geqslant": r"\ge", ">=": r"\ge", r"\neq": r"\ne", r"\lt": "<",
    r"\gt": ">", r"\times": r"\cdot", "*": r"\cdot", r"\ast": r"\cdot", r"\div": "/",
    r"\mod": r"\bmod", r"\land": r"\wedge", r"\colon": ":", r"\ldots": r"\dots",
    r"\cdots": r"\dots", "...": r"\dots", r"\dotsc": r"\dots", r"\tfrac": r"\frac",
    r"\dfrac": r"\frac", r"\vert": "|", r"\mid": "|", r"\lvert": r"\left|", r"\rvert": r"\right|",
    r"\lbrace": r"\{", r"\rbrace": r"\}", r"\lbrack": "[", r"\rbrack": "]", r"\qquad": r"\quad",
    r"\overline": r"\bar", r"\Vert": r"\|", r"\lVert": r"\|", r"\rVert": r"\|",
    r"\coloneqq": "=", ":=": "=",
}  # fmt: skip
_DROPPED = frozenset({
    r"\,", r"\;", r"\!", r"\:", r"\ ", "~", "&", r"\displaystyle", r"\textstyle", r"\limits",
    r"\nolimits", r"\big", r"\Big", r"\bigg", r"\Bigg", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr",
    r"\biggl", r"\biggr", r"\Biggl", r"\Biggr", r"\rm",
})  # fmt: skip
_FONTS = (
    r"\\(?:text(?:rm|it|bf)?|math(?:rm|it|sf|bf|bb|bbm|ds|cal)|operatorname\*?|bm|boldsymbol|mbox)"
)
_TOKEN = re.compile(
    rf"(?P<font>{_FONTS})\s*\{{(?P<words>[^{{}}]*)\}}"
    r"|(?P<side>\\left|\\right)\s*(?P<fence>\\[a-zA-Z]+|\\.|.)"
    r"|(?P<number>\d+(?:\.\d+)?|\.\d+)|(?P<word>[A-Za-z]+)|(?P<macro>\\[a-zA-Z]+|\\.)"
    r"|(?P<mark><=|>=|:=|\.\.\.|\S)",
    re.DOTALL,
)
CLOSING = {
    "(": ")", "[": "]", "{": "}", r"\{": r"\}", r"\lfloor": r"\rfloor", r"\lceil": r"\rceil",
    r"\left|": r"\right|", r"\left\|": r"\right\|",
}  # fmt: skip


def tokenize(latex: str) -> list[Token]:
    """Tokens of a formula.

    Raises:
        ReadingError: More than `MAX_TOKENS`.
    """
    tokens: list[Token] = []
    for match in _TOKEN.finditer(latex.translate(_UNICODE)):
        tokens += _tokens_of(match)
        if len(tokens) > MAX_TOKENS:
            raise ReadingError(f"a formula of more than {MAX_TOKENS} symbols")
    return tokens


def _tokens_of(match: re.Match[str]) -> Iterator[Token]:
    if match["font"]:
        yield _word(match["words"].strip(), styled=True)
    elif match["side"]:
        fence = _ALIASES.get(match["fence"], match["fence"])
        if fence not in {*CLOSING, *CLOSING.values(), "|", r"\|", "."}:
            raise ReadingError(f"{match['side']}{fence}")
        if fence != ".":
            yield Token("mark", match["side"] + fence if fence in {"|", r"\|"} else fence)
    elif match["number"]:
        yield Token("number", match["number"])
    elif word := match["word"]:
        if word in FUNCTIONS | _KEPT_WORDS | {"eps", "epsilon", "sqrt"}:
            yield _word(word, styled=False)
        else:
            yield from (Token("name", letter) for letter in word)
    else:
        mark = match["macro"] or match["mark"]
        mark = _ALIASES.get(mark, mark)
        if mark[:1] == "\\" and mark[1:] in _GREEK:
            yield Token("name", mark)
        elif mark[:1] == "\\" and mark[1:] in FUNCTIONS:
            yield Token("function", mark[1:])
        elif mark not in _DROPPED:
            yield Token("mark", mark)


def _word(words: str, *, styled: bool) -> Token:
    word = _OTHER_NAMES.get(words.lower(), words.lower())
    if words in _KEPT_WORDS:
        return Token("text", words)
    if word.removeprefix("\\") in {"eps", "epsilon", "varepsilon"}:
        return Token("name", r"\varepsilon")
    if word == "sqrt":
        return Token("mark", r"\sqrt")
    if word in FUNCTIONS:
        return Token("function", word)
    if words in {"1", "I"} and styled:
        return Token("mark", r"\indicator")
    if len(words) == 1 and words.isalpha():
        return Token("name", words)
    return Token("text", words)


def split(tokens: Sequence[Token], *marks: str) -> list[list[Token]]:
    """Parts between the marks that stand outside all brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind == "mark" and depth == 0 and token.text in marks:
            parts.append([])
            continue
        if token.kind == "mark":
            depth += token.text in CLOSING
            depth -= token.text in CLOSING.values()
        parts[-1].append(token)
    return parts


def show(tokens: Sequence[Token]) -> str:
    """Tokens parted by spaces, without braces around a single one: a string for patterns."""
    text = " ".join(token.text for token in tokens)
    return re.sub(r"(?<!\\)\{ (\S+) \}", r"\1", text)


def latex_of(tokens: Sequence[Token]) -> str:
    """Tokens as LaTeX again."""
    text = ""
    for token in tokens:
        piece = token.text
        if token.kind == "text":
            piece = rf"\text{{{piece}}}"
        elif token.kind == "function":
            piece = f"\\{piece}"
        apart = re.search(r"\\[a-zA-Z]+$", text) is not None and piece[:1].isalpha()
        text += (" " if apart else "") + piece
    return text


class Cursor:
    """A place in a list of tokens."""

    def __init__(self, tokens: Sequence[Token]):
        self.tokens, self.at = list(tokens), 0

    def peek(self) -> Token | None:
        """The token that comes, or None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def rest(self) -> str:
        """What comes, for messages."""
        return latex_of(self.tokens[self.at :])[:60]

    def comes(self, *marks: str) -> bool:
        """Whether one of these marks comes."""
        token = self.peek()
        return token is not None and token.kind == "mark" and token.text in marks

    def takes(self, *marks: str) -> str | None:
        """Step over one of these marks; returns it."""
        if not self.comes(*marks):
            return None
        self.at += 1
        return self.tokens[self.at - 1].text

    def next(self) -> Token:
        """Step over a token of any kind."""
        token = self.peek()
        if token is None:
            raise ReadingError("a formula that breaks off")
        self.at += 1
        return token

    def inside(self, opening: str) -> list[Token]:
        """Tokens up to the bracket that closes `opening`, which has been taken."""
        start, depth = self.at, 1
        while depth:
            token = self.next()
            if token.kind == "mark":
                depth += token.text == opening
                depth -= token.text == CLOSING[opening]
        return self.tokens[start : self.at - 1]

    def argument(self) -> list[Token]:
        """Tokens of a macro's or an index's argument: a group or one token."""
        if self.takes("{"):
            return self.inside("{")
        token = self.next()
        if token.kind == "number" and len(token.text) > 1 and token.text.isdigit():  # \frac12
            self.tokens.insert(self.at, Token("number", token.text[1:]))
            return [Token("number", token.text[0])]
        if token == Token("mark", r"\frac"):
            braces = Token("mark", "{"), Token("mark", "}")
            parts = [self.argument(), self.argument()]
            return [token, *(t for part in parts for t in (braces[0], *part, braces[1]))]
        return [token]
