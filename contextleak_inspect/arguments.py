"""What a task refuses, in one line: on the command line without a traceback."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import click
from inspect_ai import Task

_Arguments = ParamSpec("_Arguments")


class ArgumentError(click.ClickException, ValueError):
    """Arguments of a task that cannot be run.

    A ValueError for Python; `inspect eval`, which is made with click, prints its message alone.
    """


def one_line_errors(build: Callable[_Arguments, Task]) -> Callable[_Arguments, Task]:
    """The same function, whose refusals are an `ArgumentError`; stands below `@task`."""

    @wraps(build)
    def refusing(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Task:
        try:
            return build(*args, **kwargs)
        except (ValueError, OSError, RuntimeError) as error:
            raise ArgumentError(" ".join(str(error).split())) from error

    return refusing
