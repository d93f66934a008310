"""Accuracy and ε against the claimed ε, beside what theory allows."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from contextleak_inspect.report_drawing import (
    COLOURS,
    MARKERS,
    MOST,
    Picture,
    bound_value,
    legend,
    panel,
    style,
)
from contextleak_inspect.report_numbers import Audit
from contextleak_inspect.rows import epsilon_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_KEY = "0.35"  # colour of what the legend explains for all series
_THEORY = "most that any attack can show, if the model never errs"


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


def accuracy_figure(audits: Sequence[Audit]) -> Picture:
    """Accuracy against claimed ε, with the most that any attack reaches if the model never errs."""
    series, more = _series(audits)
    places = _places(series)
    with style():
        figure, axes = panel("Accuracy of the attack")
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
                fmt=MARKERS[k],
                ms=5,
                capsize=2,
                color=COLOURS[k],
                label=one.name,
            )
            _theory(
                axes, places, one, k, [one.audit.rows[i].possible.accuracy for i in one.indices]
            )
        axes.axhline(0.5, color="0.6", lw=0.8)
        _claims(axes, places)
        lowest = [p.lower for one in series for p in one.audit.points if p.lower == p.lower]
        axes.set(ylabel="balanced accuracy", ylim=(min([0.4, *lowest]) - 0.02, 1.03))
        _explain_theory(axes, places)
        legend(figure, len(series) + 1)
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
    with style():
        figure, axes = panel("Empirical ε against claimed ε")
        top = 1.0
        for k, one in enumerate(series):
            at = _spread(places, one, k, len(series))
            values = [bound_value(one.audit.main[i]) for i in one.indices]
            paper = [bound_value(one.audit.rows[i].paper) for i in one.indices]
            ceilings = [
                math.nan if (bound := one.audit.main[i]) is None else bound.ceiling
                for i in one.indices
            ]
            axes.plot(at, values, MARKERS[k], ms=6, color=COLOURS[k], label=one.name)
            axes.plot(at, ceilings, "_", ms=9, mew=1.2, color=COLOURS[k])
            axes.plot(at, paper, MARKERS[k], ms=5, mfc="none", mew=0.9, color=COLOURS[k])
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
        axes.plot(
            [], [], "o", ms=5, mfc="none", mew=0.9, color=_KEY, label="hollow: ε paper, no bound"
        )
        axes.plot([], [], "_", ms=9, mew=1.2, color=_KEY, label="ceiling of the bound, at this n")
        _explain_theory(axes, places)
        legend(figure, len(series) + 4)
    return Picture(
        "empirical_epsilon_by_claimed_epsilon",
        "Filled: lower bound on ε that the audit names; a short line of its colour is the most "
        "that this many trials can show. Hollow: the paper's plug-in, no bound. Dashed: the most "
        f"any attack can show if the model never errs. 0 is no proof of privacy. {more}",
        figure,
    )


def _series(audits: Sequence[Audit]) -> tuple[list[_Series], str]:
    every = [
        _Series(audit, level, [k for k, row in enumerate(audit.rows) if row.row.level == level])
        for audit in audits
        for level in dict.fromkeys(row.row.level for row in audit.rows)
    ]
    more = len(every) - MOST
    left = f"{more} more series are in the tables." if more > 0 else ""
    return every[:MOST], left


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
        axes.plot(*zip(*known, strict=True), color=COLOURS[k], ls="--", lw=1)


def _explain_theory(axes: "Axes", places: dict[float | None, float]) -> None:
    if set(places) != {None}:
        axes.plot([], [], "--", color=_KEY, lw=1, label=_THEORY)


def _claims(axes: "Axes", places: dict[float | None, float]) -> None:
    names = [
        "none claimed" if e is None else "∞" if math.isinf(e) else epsilon_text(e) for e in places
    ]
    axes.set_xticks(list(places.values()), names)
    axes.set_xlim(-0.6, len(places) - 0.4)
    axes.set_xlabel("claimed ε")
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
