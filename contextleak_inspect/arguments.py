"""What a task, scorer or model refuses, in one line: on the command line without a traceback."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import click

_Arguments = ParamSpec("_Arguments")
_Built = TypeVar("_Built")


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
