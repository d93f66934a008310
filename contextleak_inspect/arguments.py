"""What a task, scorer or model refuses, in one line: on the command line without a traceback."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click
from inspect_ai.model import Model, get_model

_Arguments = ParamSpec("_Arguments")
_Built = TypeVar("_Built")
_MARKUP = re.compile(r"\[/?(?:bold|italic|underline|blue|red|green|yellow)\b[^\]]*\]")


class ArgumentError(click.ClickException, ValueError):
    """Arguments that cannot be run.

    A ValueError for Python; `inspect eval`, which is made with click, prints its message alone.
    """


def one_line_errors(build: Callable[_Arguments, _Built]) -> Callable[_Arguments, _Built]:
    """The same function, whose refusals are an `ArgumentError`; at a task below `@task`."""

    @wraps(build)
    def refusing(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Built:
        try:
            return build(*args, **kwargs)
        except (ValueError, OSError, RuntimeError) as error:
            raise ArgumentError(" ".join(str(error).split())) from error

    return refusing


def named_model(name: str, **arguments: Any) -> Model:
    """The model of this name, for commands that ask one outside of a task.

    Raises:
        ArgumentError: It cannot be had; says why in one line.
    """
    try:
        return get_model(name, **arguments)
    except Exception as error:  # providers raise what they like
        said = _MARKUP.sub("", str(getattr(error, "message", error)))
        line = " ".join(said.split()).removeprefix("ERROR: ")
        raise ArgumentError(line or repr(error)) from error


def first_refusal(error: BaseException) -> BaseException:
    """The error itself, or the first one in a group, as tasks that run side by side raise them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
