"""A plan as a table, and as curves of power against trials."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contextleak_inspect.plan import Row, model_calls
from contextleak_inspect.releases import Planned

_HEADINGS = ("claimed ε", "at most", "method", "threshold", "trials", "calls", "paired")
_DASH = "-"


def plan_table(planned: Planned, rows: Sequence[Row]) -> str:
    """The rows as aligned text, with what they rest on above and how to read them below."""
    cells = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    table = [
        "  ".join(
            cell.rjust(width) if column in {0, 1, 4, 5, 6} else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines = [*_above(planned), "", *table, "", *_below(planned, rows)]
    return "\n".join([*lines, *_commands(planned, rows)])


def save_plot(planned: Planned, rows: Sequence[Row], path: Path) -> None:
    """Power against trials, a panel per claimed ε and a curve per method; SVG, PNG or PDF.

    Raises:
        ValueError: Nothing can be shown, so there is no curve.
    """
    from matplotlib.figure import Figure

    drawn = [row for row in rows if row.trials is not None]
    if not drawn:
        raise ValueError(f"no method shows ε ≥ {planned.show:g} here, so there is nothing to draw")
    panels = list(dict.fromkeys(row.claimed for row in drawn))
    methods = list(dict.fromkeys(_name(row) for row in drawn))
    figure = Figure(figsize=(1.5 + 3.2 * len(panels), 4.2), layout="constrained")
    for axes, claimed in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True):
        for row in (row for row in drawn if row.claimed == claimed):
            assert row.trials is not None
            worlds = np.unique(np.geomspace(4, 2 * row.trials, 30).astype(int) // 2)
            worlds = worlds[worlds > 0]
            axes.plot(
                2 * worlds,
                [row.power_at(int(n)) for n in worlds],
                color=f"C{methods.index(_name(row))}",
                linestyle="--" if row.model_based else "-",
                label=_name(row),
            )
        axes.axhline(planned.power, color="grey", linewidth=0.8)
        axes.set(xscale="log", xlabel="trials, both worlds", ylim=(0, 1.02))
        axes.set_title("no noise of its own" if claimed is None else f"claimed ε = {claimed:g}")
    figure.axes[0].set_ylabel(f"power to show ε ≥ {planned.show:g}")
    handles = {
        str(label): handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=2, fontsize=8
    )
    figure.savefig(path)


def _above(planned: Planned) -> list[str]:
    p = planned
    facts = [
        p.defense,
        f"{p.ensemble} shards" if _has_shards(p) else "one prompt",
        f"false votes {p.false_votes:.3g}",
        f"misses {p.misses:.3g}",
    ]
    if p.defense == "rnm":
        facts.append("noisy histogram" if p.level == "aggregate" else "label only")
    if p.defense == "esa":
        facts.append(f"outputs {p.distance:.3g} apart, cosine {p.cos_angle:.3g}")
    if p.defense == "label_rr":
        facts.append(f"{p.n_options} options, no label included")
    if p.defense in {"rnm", "esa"}:
        facts.append(f"noise for {p.neighbouring}, exemplars replaced")
    return [
        f"Trials to show ε ≥ {p.show:g} with power {p.power:.0%} at {p.confidence:.0%} confidence,"
        f" δ = {p.delta:g}",
        "; ".join(facts),
    ]


def _below(planned: Planned, rows: Sequence[Row]) -> list[str]:
    lines = [
        "at most: the true ε of the attacked release at δ; no attack shows more in the long run.",
        "trials: both worlds together, half of them with the canary. calls: one set of answers a",
        "trial, which serves every claimed ε. paired: both worlds of a pair share the answers of",
        "unchanged shards (calls=paired).",
        "fixed: the threshold is set beforehand, at the false-positive rate given.",
    ]
    if any("misses" in row.cut for row in rows):
        lines.append(
            "misses: bet on 1 - f with the worlds swapped, epsilon_from_pairs(1 - f_out, 1 - f_in)."
        )
    if planned.defense in {"rnm", "esa"} and planned.false_votes + planned.misses > 0:
        lines.append(
            "e_process: with the best threshold from the start. An audit learns it from its first"
            " trials; where the model errs, plan half as many trials more."
        )
    if planned.defense == "esa":
        lines.append("Not counted: zero-shot candidates, calibration calls for the direction.")
    if planned.defense == "llm_judge":
        lines.append("Not counted: the guard's calls, one a trial.")
    if any(row.model_based for row in rows):
        lines.append(
            "*: no bound, since answers vary between trials; a test of the claimed μ only."
        )
    elif any(row.method.startswith("gaussian") for row in rows):
        lines.append("gaussian: a bound only if answers never vary, as no run can prove.")
    if planned.defense in {"rnm", "esa"}:
        frozen = model_calls(planned.ensemble, 1, 1).frozen
        lines.append(
            f"frozen: if the model always answers alike, {frozen} calls give ε exactly, for the"
            " mechanism with those answers."
        )
    return lines


def _commands(planned: Planned, rows: Sequence[Row]) -> list[str]:
    """A line to copy for each row that a task reports, and which rows none does."""
    p = planned
    kind = "generation" if p.defense == "esa" else "classification"
    plain = [f"inspect eval tasks/contextleak_{kind}.py --model MODEL -T defense={p.defense}"]
    plain += [f"-T delta={p.delta:g}"] * (p.delta != (0 if p.defense == "label_rr" else 1e-5))
    plain += [f"-T ensemble={p.ensemble}"] * (p.defense in {"rnm", "esa"} and p.ensemble != 10)
    plain += [f"-T neighbouring={p.neighbouring}"] * (p.neighbouring != "replace_one")
    plain += [f"-T confidence={p.confidence:g}"] * (p.confidence != 0.95)
    lines = []
    for row in rows:
        if row.trials is None or row.arguments is None:
            continue
        told = {"trials": str(row.trials), "balanced": "true", **row.arguments}
        if row.claimed is not None:
            told = {"epsilon": f"{row.claimed:g}", **told}
        words = " ".join(f"-T {name}={value}" for name, value in told.items())
        lines += [f"# {_cells(row)[0]}, {_cells(row)[2]}, {row.cut}", f"{' '.join(plain)} {words}"]
    unreported = sorted({row.method for row in rows if row.trials and row.arguments is None})
    if lines:
        lines = [
            "",
            "To run a row (calls=paired in the place of balanced=true where paired has a number):",
            *lines,
        ]
    if unreported:
        lines += ["", f"Which no task reports, only Python: {'; '.join(unreported)}."]
    return lines


def _has_shards(planned: Planned) -> bool:
    """Whether the defense deals its exemplars to several prompts."""
    return planned.defense in {"rnm", "esa"} and planned.ensemble > 1


def _name(row: Row) -> str:
    rule = ", fixed_rank" if row.cut.startswith("fixed_rank") else ""
    return f"{row.method}{rule}{' *' if row.model_based else ''}"


def _cells(row: Row) -> tuple[str, ...]:
    claimed = _DASH if row.claimed is None else f"{row.claimed:g}"
    truth = f"{row.true_epsilon:.2f}" if math.isfinite(row.true_epsilon) else "inf"
    if row.method == "any":
        return (claimed, truth, "none can: out of reach", "", *(_DASH,) * 3)
    method = f"{row.method} *" if row.model_based else row.method
    numbers = [_DASH if n is None else f"{n:,}" for n in (row.trials, row.calls, row.calls_paired)]
    cut = row.cut if row.trials else f"{row.cut.split(',', 1)[0]}: never"
    return (claimed, truth, method, cut, *numbers)
