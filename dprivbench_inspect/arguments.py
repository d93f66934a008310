"""Arguments of the tasks as the command line or Python gives them → checked, or one clear line."""

from collections.abc import Hashable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from dprivbench_inspect.hard_track import DEFAULT_K, Help
from dprivbench_inspect.prompts import PromptForm

_Model = TypeVar("_Model", bound=BaseModel)
_Value = TypeVar("_Value", bound=Hashable)


def checked(model: type[_Model], given: Mapping[str, Any]) -> _Model:
    """The arguments, checked.

    Raises:
        ValueError: Arguments are wrong; says which, why, and the value that came.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        lines = []
        for one in error.errors():
            message = one["msg"].removeprefix("Value error, ")
            lines.append(f"{one['loc'][0]}: {message}, got {one['input']!r:.80}")
        raise ValueError("; ".join(lines)) from error


def _listed(value: object) -> object:
    """`-T topics=a` comes as a string, `a,b` as a list or, from Python, as one string."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return [value] if isinstance(value, int) else value


def _each_once(values: tuple[_Value, ...] | None) -> tuple[_Value, ...] | None:
    if values and (twice := sorted({str(v) for v in values if values.count(v) > 1})):
        raise ValueError(f"{', '.join(twice)} stands more than once; give each once")
    return values


def _no_switch(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("Input should be a number")
    return value


def _not_blank(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise ValueError("is empty; leave it out or give a value")
    return value


def _names_a_source(value: object) -> object:
    if value is None or value == "":
        raise ValueError("names nothing; give bundled, hub or a path")
    return value


_Text = Annotated[str, BeforeValidator(_not_blank)]
_Source = Annotated[_Text, BeforeValidator(_names_a_source)]
_Number = Annotated[int, BeforeValidator(_no_switch)]
_Names = Annotated[tuple[str, ...] | None, BeforeValidator(_listed), AfterValidator(_each_once)]
_Numbers = Annotated[
    tuple[_Number, ...] | None, BeforeValidator(_listed), AfterValidator(_each_once)
]


class _Checked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Arguments(_Checked):
    """What both tasks of verdicts take."""

    prompt: PromptForm
    source: _Source
    revision: _Text | None
    paper_extraction: bool


class Category1(Arguments):
    """Arguments of `dprivbench_cat1`."""

    mechanisms: _Names
    functions: _Numbers
    variant: Literal["pairs", "graded"]


class Category2(Arguments):
    """Arguments of `dprivbench_cat2`."""

    topics: _Names
    subjects: _Names
    variant: Literal["pairs", "paraphrase"]
    allow_unreviewed: bool


class Calibrate(_Checked):
    """Arguments of `dprivbench_calibrate`."""

    mechanisms: _Names
    functions: _Numbers
    prompt: PromptForm


class Hard(_Checked):
    """Arguments of `dprivbench_hard`."""

    help: Help
    source: _Source
    revision: _Text | None
    theorems: _Text | None
    k: _Number = Field(default=DEFAULT_K, ge=1)
    distractors: _Number = Field(ge=0)
    embedder: _Text | None
    paper_extraction: bool
