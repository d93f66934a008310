"""What all figures share: style, colours, files.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; markers differ too.
"""

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from contextleak_inspect.bounds import EpsilonBound
from contextleak_inspect.report_formats import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
MARKERS = "osD^vP*"
MOST = len(COLOURS)  # series that one figure can show


class Picture(NamedTuple):
    """A figure, the name of its file and a sentence that says what is to be seen."""

    name: str
    caption: str
    figure: "Figure"

    def image(self, kind: Literal["svg", "png"]) -> bytes:
        """The figure as a file of this kind, the same bytes each time."""
        data = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        with style():
            self.figure.savefig(data, format=kind, dpi=150, metadata=metadata)
        return data.getvalue()

    def save(self, folder: Path) -> list[Path]:
        """Write it as SVG and PNG."""
        files = [folder / f"{self.name}.svg", folder / f"{self.name}.png"]
        files[0].write_bytes(self.image("svg"))
        files[1].write_bytes(self.image("png"))
        return files


def bound_value(bound: EpsilonBound | None) -> float:
    """Its ε in nats; nan where there is none."""
    return math.nan if bound is None else bound.value


def panel(title: str, size: tuple[float, float] = (7.5, 4.6)) -> "tuple[Figure, Axes]":
    """A figure with a title and one panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(short(title, 90), fontsize=10)
    return figure, figure.add_subplot()


def legend(figure: "Figure", entries: int) -> None:
    """The legend below the figure, which is laid out for good."""
    figure.legend(
        loc="outside lower left", frameon=False, fontsize=7.5, ncols=1 if entries < 12 else 2
    )
    settle(figure)


def settle(figure: "Figure") -> None:
    """Lay the figure out once: each further drawing would move its parts by a hair."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


@contextmanager
def style() -> Iterator[None]:
    """How every figure looks; a letter that the font lacks becomes a box, without a warning."""
    import matplotlib as mpl
    from cycler import cycler

    settings = mpl.rc_context({
        "font.size": 9,
        "text.parse_math": False,  # a $ in a model's name is no formula
        "svg.hashsalt": "contextleak",  # the same bytes each time
        "svg.fonttype": "none",  # text stays text
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.spines.top": False,
        "axes.spines.right": False,
    })
    with settings, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from")
        yield


def short(text: str, letters: int = 60) -> str:
    """The text, cut where it is too long for a label."""
    text = clean(text)
    return text if len(text) <= letters else text[: letters - 1] + "…"
