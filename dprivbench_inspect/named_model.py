"""A model by its name for the commands that ask one outside of a task."""

import re
from typing import Any

from inspect_ai.model import Model, get_model

_MARKUP = re.compile(r"\[/?(?:bold|italic|underline|blue|red|green|yellow)\b[^\]]*\]")


def named_model(name: str, **arguments: Any) -> Model:
    """The model of this name.

    Raises:
        ValueError: It cannot be had; says why in one line.
    """
    try:
        return get_model(name, **arguments)
    except Exception as error:  # providers raise what they like
        message = _MARKUP.sub("", str(getattr(error, "message", error)))
        line = " ".join(message.split()).removeprefix("ERROR: ")
        raise ValueError(line or repr(error)) from error
