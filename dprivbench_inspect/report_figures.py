"""Runs → figures: accuracy per mechanism and topic, claims, help on hard questions, heat maps.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; whiskers are 95 %
intervals over questions.
"""

import io
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from dprivbench_inspect.attribution import accuracy_matrix
from dprivbench_inspect.intervals import Share, share
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.report_formats import clean
from dprivbench_inspect.report_runs import Run, run_name
from dprivbench_inspect.report_tables import paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_HATCHES = ("", "///", "xx", "--", "\\\\\\", "||")
_MOST = len(_COLOURS)  # runs that one figure can show


class Picture(NamedTuple):
    """A figure, the name of its file and a sentence that says what is to be seen."""

    name: str
    caption: str
    figure: "Figure"

    def image(self, kind: Literal["svg", "png"]) -> bytes:
        """The figure as a file of this kind, the same bytes each time."""
        data = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        with _style():
            self.figure.savefig(data, format=kind, dpi=150, metadata=metadata)
        return data.getvalue()

    def save(self, folder: Path) -> list[Path]:
        """Write it as SVG and PNG."""
        files = [folder / f"{self.name}.svg", folder / f"{self.name}.png"]
        files[0].write_bytes(self.image("svg"))
        files[1].write_bytes(self.image("png"))
        return files


def mechanism_figure(runs: Sequence[Run]) -> Picture:
    """Category 1: accuracy per mechanism, with the range and mean of the paper's models."""
    numbers = paper()["category_1_accuracy"]
    theirs = {
        m: (
            min(row[m][0] for row in numbers["models"].values()),
            max(row[m][0] for row in numbers["models"].values()),
            numbers["average_of_models"][m],
        )
        for m in MECHANISMS
    }
    shown, caption = _shown(runs)
    series = {
        run_name(run): {
            m: share([o for o in run.outcomes if o.mechanism == m], "accuracy") for m in MECHANISMS
        }
        for run in shown
    }
    figure = _bars("Category 1: accuracy per mechanism", list(MECHANISMS), series, theirs)
    return Picture("category_1_mechanisms", f"Accuracy per mechanism. {caption}", figure)


def claims_figure(runs: Sequence[Run]) -> Picture:
    """Category 2: F1, precision, recall and accuracy."""
    numbers = paper()["category_2"]["models"].values()
    theirs = {}
    for metric in ("F1", "precision", "recall"):
        values = [row[metric.lower()][0] for row in numbers]
        theirs[metric] = (min(values), max(values), sum(values) / len(values))
    shown, caption = _shown(runs)
    metrics = ("F1", "precision", "recall", "accuracy")
    series = {run_name(run): {m: share(run.outcomes, m) for m in metrics} for run in shown}
    figure = _bars("Category 2: does the claim hold? Positive class yes", metrics, series, theirs)
    return Picture("category_2_claims", f"F1, precision, recall, accuracy. {caption}", figure)


def topic_figure(runs: Sequence[Run]) -> Picture:
    """Category 2: accuracy per topic, in the paper's order, from its easiest to its hardest."""
    numbers = paper()["category_2_topic_accuracy"]["topics"]
    theirs = {topic: _range(row) for topic, row in numbers.items()}
    shown, caption = _shown(runs)
    series = {
        run_name(run): {
            t: share(own, "accuracy")
            for t in numbers
            if (own := [o for o in run.outcomes if o.topic == t])
        }
        for run in shown
    }
    figure = _bars("Category 2: accuracy per topic", list(numbers), series, theirs)
    return Picture("category_2_topics", f"Accuracy per topic. {caption}", figure)


def hard_figure(runs: Sequence[Run]) -> Picture:
    """Hard questions without and with help, a group of bars a model: the paper's Figure 2."""
    latest = {(run.model, str(run.arguments.get("help"))): run for run in runs}
    models = list(dict.fromkeys(model for model, _ in latest))[:_MOST]
    series = {
        help: {
            model: share(latest[model, help].outcomes, "accuracy")
            for model in models
            if (model, help) in latest
        }
        for help in ("none", "theorems", "related", "retrieval")
        if any((model, help) in latest for model in models)
    }
    figure = _bars("Hard questions of Category 2: accuracy by help", models, series, {})
    more = len({model for model, _ in latest}) - len(models)
    caption = f"{more} more models are in the table. " if more else ""
    return Picture(
        "hard_questions",
        f"Accuracy on the hard questions by what the prompt shows. {caption}The paper's Figure 2 "
        "shows the same comparison; its numbers are not printed there.",
        figure,
    )


def matrix_figures(runs: Sequence[Run]) -> list[Picture]:
    """Category 1: heat maps of accuracy, functions down and mechanisms across, a run each."""
    return [
        Picture(
            f"category_1_matrix_{run.number}",
            f"Accuracy of {run_name(run)} by function and mechanism. A dark row is a sensitivity "
            "not found, a dark column a rule not known.",
            heat_map(accuracy_matrix(run.outcomes), run_name(run), run.outcomes),
        )
        for run in _shown(runs)[0]
    ]


def heat_map(
    matrix: Mapping[int, Mapping[str, float]], title: str, outcomes: Sequence[Outcome]
) -> "Figure":
    """A matrix of accuracy as a figure; cells without replies stay white."""
    from matplotlib.figure import Figure

    cells = [[row.get(m, math.nan) for m in MECHANISMS] for row in matrix.values()]
    with _style():
        figure = Figure(figsize=(5.5, 2.0 + 0.17 * len(cells)), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(cells, vmin=0, vmax=1, cmap="cividis", aspect="auto")
        axes.set_xticks(range(len(MECHANISMS)), list(MECHANISMS), rotation=35, ha="right")
        axes.set_yticks(range(len(cells)), [str(function) for function in matrix], fontsize=7)
        axes.set_ylabel("function of the bank")
        axes.set_xticks([k - 0.5 for k in range(1, len(MECHANISMS))], minor=True)
        axes.set_yticks([k - 0.5 for k in range(1, len(cells))], minor=True)
        axes.grid(which="minor", color="white", linewidth=0.8)
        axes.tick_params(which="minor", length=0)
        each = len(outcomes) / max(1, sum(len(row) for row in matrix.values()))
        axes.set_title(f"{_short(title)}\naccuracy, n = {each:.3g} replies a cell", fontsize=9)
        figure.colorbar(image, label="accuracy", shrink=0.5, aspect=40)
        _settle(figure)
    return figure


@contextmanager
def _style() -> Iterator[None]:
    """How every figure looks; a letter that the font lacks becomes a box, without a warning."""
    import matplotlib as mpl

    settings = mpl.rc_context({
        "font.size": 9,
        "text.parse_math": False,  # a $ in a model's name is no formula
        "svg.hashsalt": "dprivbench",  # the same bytes each time
        "svg.fonttype": "none",  # text stays text
        "axes.spines.top": False,
        "axes.spines.right": False,
    })
    with settings, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from")
        yield


def _shown(runs: Sequence[Run]) -> tuple[Sequence[Run], str]:
    """The runs that fit, and a caption about whiskers, grey lines and runs left out."""
    best = sorted(runs, key=lambda run: -share(run.outcomes, "accuracy").value)[:_MOST]
    shown = [run for run in runs if run in best]
    left = (
        ""
        if len(runs) <= _MOST
        else (
            f"Shown are the {_MOST} of {len(runs)} runs with the highest accuracy; all are in the "
            "table. "
        )
    )
    return shown, (
        f"{left}Whiskers: 95 % intervals over questions. Grey: range over the paper's models and "
        "their mean, on the official questions."
    )


def _range(row: Mapping[str, float]) -> tuple[float, float, float]:
    values = [value for name, value in row.items() if name != "average"]
    return min(values), max(values), row["average"]


def _bars(
    title: str,
    groups: Sequence[str],
    series: Mapping[str, Mapping[str, Share]],
    theirs: Mapping[str, tuple[float, float, float]],
) -> "Figure":
    """Groups of horizontal bars from 0 to 1, one bar a series; n stands at the right edge."""
    from matplotlib.figure import Figure

    height = max(0.8, 0.26 * len(series) + 0.2)
    with _style():
        figure = Figure(
            figsize=(7.5, 1.6 + 0.18 * len(series) + height * 0.62 * len(groups)),
            layout="constrained",
        )
        axes = figure.add_subplot()
        for place, (name, shares) in enumerate(series.items()):
            _series(axes, groups, shares, place, len(series), name)
        for row, group in enumerate(groups):
            if group in theirs:
                low, high, mean = theirs[group]
                label = "paper: range and mean of models" if row == 0 else None
                axes.plot([low, high], [row - 0.44] * 2, color="0.45", lw=2.5, label=label)
                axes.plot(mean, row - 0.44, "|", color="black", ms=9, mew=1.5)
        axes.set_yticks(range(len(groups)), [_short(group) for group in groups])
        axes.set_ylim(len(groups) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of replies")
        axes.grid(axis="x", color="0.9")
        axes.set_axisbelow(True)
        axes.set_title(title, fontsize=10, loc="left")
        figure.legend(loc="outside lower left", frameon=False, fontsize=8)
        _settle(figure)
    return figure


def _series(
    axes: "Axes", groups: Sequence[str], shares: Mapping[str, Share], place: int, of: int, name: str
) -> None:
    thick = 0.78 / of
    rows = [row for row, group in enumerate(groups) if group in shares]
    found = [shares[groups[row]] for row in rows]
    values = [0.0 if math.isnan(one.value) else one.value for one in found]
    at = [row - 0.36 + thick * (place + 0.5) for row in rows]
    below = [
        max(0.0, v - one.low) if one.low == one.low else 0.0
        for v, one in zip(values, found, strict=True)
    ]
    above = [
        max(0.0, one.high - v) if one.high == one.high else 0.0
        for v, one in zip(values, found, strict=True)
    ]
    axes.barh(
        at,
        values,
        thick * 0.9,
        label=_short(name, 60),
        color=_COLOURS[place % _MOST],
        hatch=_HATCHES[place % _MOST],
        edgecolor="white",
        linewidth=0.5,
    )
    axes.errorbar(
        values, at, xerr=[below, above], fmt="none", ecolor="0.15", elinewidth=0.9, capsize=2
    )
    for y, one in zip(at, found, strict=True):
        text = f"n={one.n:.0f}" if one.n else "no n"
        axes.text(1.01, y, text, va="center", fontsize=6, transform=axes.get_yaxis_transform())


def _settle(figure: "Figure") -> None:
    """Lay the figure out once: each further drawing would move its parts by a hair."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def _short(text: str, letters: int = 48) -> str:
    text = clean(text)
    return text if len(text) <= letters else text[: letters - 1] + "…"
