"""What a task, scorer or model refuses, in one line: on the command line without a traceback."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click

_Arguments = ParamSpec("_Arguments")
_Built = TypeVar("_Built")


class ArgumentError(click.ClickException, ValueError):
    """What cannot be done, in one line.

    Python callers get a ValueError. On the command line, which is made with click, Inspect lets it
    through to click, which prints the line without a traceback and exits with code 1.
    """


def one_line_errors(build: Callable[_Arguments, _Built]) -> Callable[_Arguments, _Built]:
    """The same function, whose refusals are an `ArgumentError`; at a task below `@task`."""

    @wraps(build)
    def refusing(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Built:
        try:
            return build(*args, **kwargs)
        except (ValueError, OSError) as error:
            raise ArgumentError(" ".join(str(error).split())) from error

    return refusing


def from_task(metadata: Mapping[str, Any], key: str, scorer: str, task: str) -> Any:
    """What the task wrote into a sample's metadata for its scorer.

    Raises:
        ArgumentError: It is not there: `inspect score` was given another task's log.
    """
    if key not in metadata:
        raise ArgumentError(f"scorer {scorer} is for logs of {task}: a sample has no {key!r}")
    return metadata[key]
