"""Audits → figures: accuracy and ε against the claim, utility against ε, canaries by queries, ROC.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; markers differ too.
"""

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from contextleak_inspect.ablation import ablation_figure, setting_value
from contextleak_inspect.bounds import EpsilonBound
from contextleak_inspect.config import AuditConfig
from contextleak_inspect.report_formats import clean
from contextleak_inspect.report_numbers import Audit
from contextleak_inspect.report_tables import seen_text
from contextleak_inspect.scoring import epsilon_text
from contextleak_inspect.utility_report import UtilityLog

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTINGS = ("ensemble", "shots", "trials", "temperature", "embedding", "placement")
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
_MARKERS = "osD^vP*"
_MOST = len(_COLOURS)  # series that one figure can show
# What a release looks like from outside; utility is about these.
_FINAL = ("label", "text", "keywords", "reply")
_UTILITY_NAMES = {"none": "few_shot"}


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


class _Series(NamedTuple):
    """Rows of one audit at one level of observation."""

    audit: Audit
    level: str
    indices: list[int]

    @property
    def name(self) -> str:
        c = self.audit.config
        return f"{self.audit.name}, {c.canary}, {c.query}, {self.level}"

    @property
    def claims(self) -> list[float | None]:
        return [self.audit.rows[k].row.epsilon for k in self.indices]


def pictures(audits: Sequence[Audit], utilities: Sequence[UtilityLog]) -> list[Picture]:
    """Every figure that these audits, of one task version and one set of private data, allow."""
    found = [accuracy_figure(audits), epsilon_figure(audits)]
    if (tradeoff := utility_figure(audits, utilities)) is not None:
        found.append(tradeoff)
    if (grid := query_figure(audits)) is not None:
        found.append(grid)
    found += [p for audit in audits[:_MOST] if (p := roc_figure(audit)) is not None]
    return found + setting_figures(audits)


def accuracy_figure(audits: Sequence[Audit]) -> Picture:
    """Accuracy against claimed ε, with the most that any attack reaches if the model never errs."""
    series, more = _series(audits)
    places = _places(series)
    with _style():
        figure, axes = _axes("Accuracy of the attack")
        for k, one in enumerate(series):
            at = _spread(places, one, k, len(series))
            points = [one.audit.points[i] for i in one.indices]
            measured = [p.accuracy for p in points]
            below = [max(0.0, p.accuracy - p.lower) for p in points]
            above = [max(0.0, p.upper - p.accuracy) for p in points]
            axes.errorbar(
                at,
                measured,
                yerr=[below, above],
                fmt=_MARKERS[k],
                ms=5,
                capsize=2,
                color=_COLOURS[k],
                label=one.name,
            )
            _theory(
                axes, places, one, k, [one.audit.rows[i].possible.accuracy for i in one.indices]
            )
        axes.axhline(0.5, color="0.6", lw=0.8)
        _claims(axes, places)
        lowest = [p.lower for one in series for p in one.audit.points if p.lower == p.lower]
        axes.set(ylabel="balanced accuracy", ylim=(min([0.4, *lowest]) - 0.02, 1.03))
        _legend(figure, len(series))
    return Picture(
        "accuracy_by_claimed_epsilon",
        "Accuracy against claimed ε. Points: at a threshold from other trials, with the interval "
        f"of the audit's confidence. Dashed: best of any attack if the model never errs. {more}",
        figure,
    )


def epsilon_figure(audits: Sequence[Audit]) -> Picture:
    """Lower bounds on ε against claimed ε, below the claim itself and the most that is possible."""
    series, more = _series(audits)
    places = _places(series)
    with _style():
        figure, axes = _axes("Empirical ε against claimed ε")
        top = 1.0
        for k, one in enumerate(series):
            at = _spread(places, one, k, len(series))
            values = [_nan(one.audit.main[i]) for i in one.indices]
            paper = [_nan(one.audit.rows[i].paper) for i in one.indices]
            ceilings = [
                math.nan if (bound := one.audit.main[i]) is None else bound.ceiling
                for i in one.indices
            ]
            axes.plot(at, values, _MARKERS[k], ms=6, color=_COLOURS[k], label=one.name)
            axes.plot(at, ceilings, "_", ms=9, mew=1.2, color=_COLOURS[k])
            axes.plot(at, paper, _MARKERS[k], ms=5, mfc="none", mew=0.9, color=_COLOURS[k])
            possible = [one.audit.rows[i].possible.epsilon for i in one.indices]
            _theory(axes, places, one, k, possible)
            known = [*values, *paper, *ceilings, *possible]
            top = max([top, *(v for v in known if math.isfinite(v))])
        finite = [(x, e) for e, x in places.items() if e is not None and math.isfinite(e)]
        for x, claimed in finite:
            axes.plot(
                [x - 0.45, x + 0.45],
                [claimed] * 2,
                color="0.55",
                lw=1.2,
                label="the claim" if (x, claimed) == finite[0] else None,
            )
        _claims(axes, places)
        axes.set(ylabel="ε in nats", ylim=(-0.03 * top, 1.06 * top))
        _legend(figure, len(series) + 1)
    return Picture(
        "empirical_epsilon_by_claimed_epsilon",
        "Filled: lower bound on ε that the audit names; a short line of its colour is the most "
        "that this many trials can show. Hollow: the paper's plug-in, no bound. Dashed: the most "
        f"any attack can show if the model never errs. 0 is no proof of privacy. {more}",
        figure,
    )


def utility_figure(audits: Sequence[Audit], utilities: Sequence[UtilityLog]) -> Picture | None:
    """Utility against the bound on ε across defenses; None where no utility belongs to an audit."""
    pairs = [
        (audit, audit.rows[k], _nan(audit.main[k]), log, log.rows[name])
        for audit in audits
        for k, name in _released(audit)
        for log in utilities
        if _same_system(audit, log) and name in log.rows
    ]
    if not pairs:
        return None
    measure = {"classification": "accuracy", "generation": "ROUGE-1"}[pairs[0][3].kind]
    defenses = list(dict.fromkeys(audit.config.defense for audit, *_ in pairs))
    with _style():
        figure, axes = _axes("Utility against what leaks")
        for k, defense in enumerate(defenses):
            own = [pair for pair in pairs if pair[0].config.defense == defense]
            means = [u.mean for *_, u in own]
            axes.errorbar(
                [epsilon for _, _, epsilon, _, _ in own],
                means,
                yerr=[
                    [max(0.0, u.mean - u.lower) for *_, u in own],
                    [max(0.0, u.upper - u.mean) for *_, u in own],
                ],
                fmt=_MARKERS[k % _MOST],
                color=_COLOURS[k % _MOST],
                capsize=2,
                label=defense,
            )
            for _, row, epsilon, _, u in own:
                if row.row.epsilon is not None:
                    axes.annotate(
                        f"ε={epsilon_text(row.row.epsilon)}",
                        (epsilon, u.mean),
                        xytext=(4, 4),
                        textcoords="offset points",
                        fontsize=7,
                    )
        axes.set(
            xlabel="lower bound on ε of the released output, nats",
            ylabel=f"{measure} on the task",
            ylim=(0, 1.03),
        )
        axes.set_xlim(left=-0.1)
        _legend(figure, len(defenses))
    n = pairs[0][4].n
    return Picture(
        "utility_by_empirical_epsilon",
        f"Utility over {n} questions with 95 % intervals, against the lower bound on ε of the same "
        "model, data and number of exemplars; small figures are the claimed ε. Up and left is "
        "better.",
        figure,
    )


def query_figure(audits: Sequence[Audit]) -> Picture | None:
    """Accuracy by canary and query, audits otherwise alike; None with fewer than two cells.

    The group of audits with the most cells is shown, at the level nearest to the model and the
    largest claimed ε.
    """
    groups: dict[object, dict[tuple[str, str], Audit]] = {}
    for audit in audits:
        key = _but(audit.config, {"canary", "query", "canary_label", "seed"}), audit.model
        cell = audit.config.canary, audit.config.query
        groups.setdefault(key, {})[cell] = audit
    cells = max(groups.values(), key=len, default={})
    if len(cells) < 2:
        return None
    canaries, queries = (list(dict.fromkeys(cell[k] for cell in cells)) for k in (0, 1))
    first = next(iter(cells.values()))
    level = first.rows[0].row.level
    index = max(
        (k for k, row in enumerate(first.rows) if row.row.level == level),
        key=lambda k: first.rows[k].row.epsilon or 0.0,
    )
    grid = [
        [_accuracy(cells.get((canary, query)), index) for query in queries] for canary in canaries
    ]
    with _style():
        figure, axes = _axes(
            f"{first.config.defense} on {_short(first.model)}: accuracy, "
            f"{seen_text(first.rows[index])}",
            (2.5 + 1.3 * len(queries), 1.9 + 0.6 * len(canaries)),
        )
        image = axes.imshow(grid, vmin=0.5, vmax=1, cmap="cividis", aspect="auto")
        for y, canary in enumerate(canaries):
            for x, query in enumerate(queries):
                if (canary, query) not in cells:
                    continue
                point = cells[canary, query].points[index]
                dark = not point.accuracy > 0.75
                axes.text(
                    x,
                    y,
                    f"{point.accuracy:.2f}\n[{point.lower:.2f}, {point.upper:.2f}]\n"
                    f"n={point.trials}",
                    ha="center",
                    va="center",
                    fontsize=6.5,
                    color="white" if dark else "black",
                )
        axes.set_xticks(range(len(queries)), [_short(q) for q in queries], rotation=25, ha="right")
        axes.set_yticks(range(len(canaries)), canaries)
        figure.colorbar(image, label="balanced accuracy")
        _settle(figure)
    return Picture(
        "accuracy_by_canary_and_query",
        "Accuracy of the attack by canary (down) and query (across), audits otherwise alike; "
        "interval and number of trials in each cell.",
        figure,
    )


def roc_figure(audit: Audit) -> Picture | None:
    """ROC of each row, and the limits that a claimed ε sets; None while a world is empty."""
    drawn = [(row, c) for row, c in zip(audit.rows, audit.curves, strict=True) if c is not None]
    if not drawn:
        return None
    levels = list(dict.fromkeys(row.row.level for row, _ in drawn))
    with _style():
        figure, first = _axes(f"ROC of {_short(audit.name)}", (0.6 + 3.6 * len(levels), 4.4))
        first.remove()
        panels = figure.subplots(1, len(levels), squeeze=False)[0]
        for axes, level in zip(panels, levels, strict=True):
            rows = [(row, curve) for row, curve in drawn if row.row.level == level][:_MOST]
            for k, (row, curve) in enumerate(rows):
                axes.plot(curve.fpr, curve.tpr, color=_COLOURS[k], label=seen_text(row), lw=1.4)
                claimed = row.row.epsilon
                if claimed is not None and math.isfinite(claimed):
                    axes.plot(*_limit(claimed, audit.config.delta), color=_COLOURS[k], ls=":", lw=1)
            axes.plot([0, 1], [0, 1], color="0.6", lw=0.8)
            axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel="FPR", title=level)
            axes.set_aspect("equal")
            axes.legend(fontsize=6.5, loc="lower right")
        panels[0].set_ylabel("TPR")
        _settle(figure)
    n_in, n_out = (audit.worlds[world].done for world in ("in", "out"))
    return Picture(
        f"roc_{audit.number}",
        f"ROC of {audit.name}, {n_in} trials with the canary and {n_out} without; equal scores "
        "stay together. Dotted: no release with the claimed ε lies above, in the long run.",
        figure,
    )


def setting_figures(audits: Sequence[Audit]) -> list[Picture]:
    """Accuracy and bound against each setting in which audits differ that are otherwise alike."""
    found = []
    for setting in SETTINGS:
        groups: dict[object, list[Audit]] = {}
        but = {"n_exemplars" if setting == "shots" else setting, "seed", "null_controls"}
        for audit in audits:
            groups.setdefault((_but(audit.config, but), audit.model), []).append(audit)
        for group in groups.values():
            if len({str(setting_value(audit.config, setting)) for audit in group}) > 1:
                levels = dict.fromkeys(row.row.level for row in group[0].rows)
                found += [_setting_figure(group, setting, level) for level in levels]
    return found


def _setting_figure(group: Sequence[Audit], setting: str, level: str) -> Picture:
    points = sorted(
        (
            point._replace(value=setting_value(audit.config, setting))
            for audit in group
            for row, point in zip(audit.rows, audit.points, strict=True)
            if row.row.level == level
        ),
        key=lambda point: (str(type(point.value)), point.value),
    )
    with _style():
        figure = ablation_figure(points, setting)
        figure.suptitle(f"{group[0].config.defense} on {_short(group[0].model)}, {level}")
        _settle(figure)
    numbers = ", ".join(f"[{audit.number}]" for audit in group)
    trials = " or ".join(map(str, sorted({point.trials for point in points})))
    return Picture(
        f"by_{setting}_{level}_{group[0].number}",
        f"Accuracy with intervals, and the bound on ε, against {setting}; audits {numbers}, "
        f"otherwise alike, {trials} trials each. Dashed: best at the error rates measured.",
        figure,
    )


def _released(audit: Audit) -> list[tuple[int, str]]:
    """Rows of an audit that show its final output, and the name of their utility."""
    c = audit.config
    name = _UTILITY_NAMES.get(c.defense, c.defense)
    return [
        (k, name if row.row.epsilon is None else f"{name} ε={epsilon_text(row.row.epsilon)}")
        for k, row in enumerate(audit.rows)
        if row.row.level in _FINAL
    ]


def _same_system(audit: Audit, log: UtilityLog) -> bool:
    c, s = audit.config, log.settings
    same = (audit.model, c.task, c.source, c.n_exemplars) == (
        log.model,
        log.kind,
        s.get("source"),
        s.get("n_exemplars"),
    )
    return same and (c.ensemble == 1 or c.ensemble == s.get("ensemble"))


def _but(config: AuditConfig, names: set[str]) -> str:
    record = config.record()
    return str(sorted((k, str(v)) for k, v in record.items() if k not in names))


def _accuracy(audit: Audit | None, index: int) -> float:
    return math.nan if audit is None else audit.points[index].accuracy


def _series(audits: Sequence[Audit]) -> tuple[list[_Series], str]:
    every = [
        _Series(audit, level, [k for k, row in enumerate(audit.rows) if row.row.level == level])
        for audit in audits
        for level in dict.fromkeys(row.row.level for row in audit.rows)
    ]
    more = len(every) - _MOST
    left = f"{more} more series are in the tables." if more > 0 else ""
    return every[:_MOST], left


def _places(series: Sequence[_Series]) -> dict[float | None, float]:
    """Claimed ε → place on the axis; those without a claim stand at its end."""
    claims = {claim for one in series for claim in one.claims}
    known = sorted(claim for claim in claims if claim is not None)
    found: dict[float | None, float] = {claim: float(k) for k, claim in enumerate(known)}
    if None in claims:
        found[None] = float(len(known))
    return found


def _spread(places: dict[float | None, float], one: _Series, k: int, of: int) -> list[float]:
    shift = 0.5 * ((k + 0.5) / of - 0.5)
    return [places[claim] + shift for claim in one.claims]


def _theory(
    axes: "Axes", places: dict[float | None, float], one: _Series, k: int, values: Sequence[float]
) -> None:
    known = [
        (places[claim], value)
        for claim, value in zip(one.claims, values, strict=True)
        if claim is not None and math.isfinite(value)
    ]
    if known:
        axes.plot(*zip(*known, strict=True), color=_COLOURS[k], ls="--", lw=1)


def _claims(axes: "Axes", places: dict[float | None, float]) -> None:
    names = [
        "none claimed" if e is None else "∞" if math.isinf(e) else epsilon_text(e) for e in places
    ]
    axes.set_xticks(list(places.values()), names)
    axes.set_xlim(-0.6, len(places) - 0.4)
    axes.set_xlabel("claimed ε")
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)


def _limit(epsilon: float, delta: float) -> tuple[list[float], list[float]]:
    """Largest TPR that (ε, δ) allows at each FPR: a line up to the kink, then another."""
    factor = math.exp(epsilon)
    kink = (1 - delta) / (1 + factor)
    return [0.0, kink, 1 - delta], [delta, 1 - kink, 1.0]


def _nan(bound: EpsilonBound | None) -> float:
    return math.nan if bound is None else bound.value


def _axes(title: str, size: tuple[float, float] = (7.5, 4.6)) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(_short(title, 90), fontsize=10)
    return figure, figure.add_subplot()


def _legend(figure: "Figure", entries: int) -> None:
    figure.legend(
        loc="outside lower left", frameon=False, fontsize=7.5, ncols=1 if entries < 9 else 2
    )
    _settle(figure)


def _settle(figure: "Figure") -> None:
    """Lay the figure out once: each further drawing would move its parts by a hair."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


@contextmanager
def _style() -> Iterator[None]:
    """How every figure looks; a letter that the font lacks becomes a box, without a warning."""
    import matplotlib as mpl
    from cycler import cycler

    settings = mpl.rc_context({
        "font.size": 9,
        "text.parse_math": False,  # a $ in a model's name is no formula
        "svg.hashsalt": "contextleak",  # the same bytes each time
        "svg.fonttype": "none",  # text stays text
        "axes.prop_cycle": cycler(color=_COLOURS),
        "axes.spines.top": False,
        "axes.spines.right": False,
    })
    with settings, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from")
        yield


def _short(text: str, letters: int = 60) -> str:
    text = clean(text)
    return text if len(text) <= letters else text[: letters - 1] + "…"
