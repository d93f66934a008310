"""Audits → figures: utility against ε, canaries by queries, ROC, effects of settings; and all."""

import math
from collections.abc import Sequence

from contextleak_inspect.ablation import ablation_figure, setting_value
from contextleak_inspect.config import AuditConfig
from contextleak_inspect.report_claims import accuracy_figure, epsilon_figure
from contextleak_inspect.report_drawing import (
    COLOURS,
    MARKERS,
    MOST,
    Picture,
    bound_value,
    legend,
    panel,
    settle,
    short,
    style,
)
from contextleak_inspect.report_numbers import Audit
from contextleak_inspect.report_tables import seen_text
from contextleak_inspect.rows import epsilon_text
from contextleak_inspect.utility_report import UtilityLog

SETTINGS = ("ensemble", "shots", "trials", "temperature", "embedding", "placement")
# What a release looks like from outside; utility is about these.
_FINAL = ("label", "text", "keywords", "reply")
_UTILITY_NAMES = {"none": "few_shot"}


def pictures(audits: Sequence[Audit], utilities: Sequence[UtilityLog]) -> list[Picture]:
    """Every figure that these audits, of one task version and one set of private data, allow."""
    found = [accuracy_figure(audits), epsilon_figure(audits)]
    if (tradeoff := utility_figure(audits, utilities)) is not None:
        found.append(tradeoff)
    if (grid := query_figure(audits)) is not None:
        found.append(grid)
    found += [p for audit in audits[:MOST] if (p := roc_figure(audit)) is not None]
    return found + setting_figures(audits)


def utility_figure(audits: Sequence[Audit], utilities: Sequence[UtilityLog]) -> Picture | None:
    """Utility against the bound on ε across defenses; None where no utility belongs to an audit."""
    pairs = [
        (audit, audit.rows[k], bound_value(audit.main[k]), log, log.rows[name])
        for audit in audits
        for k, name in _released(audit)
        for log in utilities
        if _same_system(audit, log) and name in log.rows
    ]
    if not pairs:
        return None
    measure = {"classification": "accuracy", "generation": "ROUGE-1"}[pairs[0][3].kind]
    defenses = list(dict.fromkeys(audit.config.defense for audit, *_ in pairs))
    with style():
        figure, axes = panel("Utility against what leaks")
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
                fmt=MARKERS[k % MOST],
                color=COLOURS[k % MOST],
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
        legend(figure, len(defenses))
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
    with style():
        figure, axes = panel(
            f"{first.config.defense} on {short(first.model)}: accuracy, "
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
        axes.set_xticks(range(len(queries)), [short(q) for q in queries], rotation=25, ha="right")
        axes.set_yticks(range(len(canaries)), canaries)
        figure.colorbar(image, label="balanced accuracy")
        settle(figure)
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
    with style():
        figure, first = panel(f"ROC of {short(audit.name)}", (0.6 + 3.6 * len(levels), 4.4))
        first.remove()
        panels = figure.subplots(1, len(levels), squeeze=False)[0]
        for axes, level in zip(panels, levels, strict=True):
            rows = [(row, curve) for row, curve in drawn if row.row.level == level][:MOST]
            for k, (row, curve) in enumerate(rows):
                axes.plot(curve.fpr, curve.tpr, color=COLOURS[k], label=seen_text(row), lw=1.4)
                claimed = row.row.epsilon
                if claimed is not None and math.isfinite(claimed):
                    axes.plot(*_limit(claimed, audit.config.delta), color=COLOURS[k], ls=":", lw=1)
            axes.plot([0, 1], [0, 1], color="0.6", lw=0.8)
            if any(math.isfinite(row.row.epsilon or math.inf) for row, _ in rows):
                axes.plot([], [], color="0.35", ls=":", lw=1, label="limit of the claim")
            axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel="FPR", title=level)
            axes.set_aspect("equal")
            axes.legend(fontsize=6.5, loc="lower right")
        panels[0].set_ylabel("TPR")
        settle(figure)
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
    with style():
        figure = ablation_figure(points, setting)
        figure.suptitle(f"{group[0].config.defense} on {short(group[0].model)}, {level}")
        settle(figure)
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


def _limit(epsilon: float, delta: float) -> tuple[list[float], list[float]]:
    """Largest TPR that (ε, δ) allows at each FPR: a line up to the kink, then another."""
    factor = math.exp(epsilon)
    kink = (1 - delta) / (1 + factor)
    return [0.0, kink, 1 - delta], [delta, 1 - kink, 1.0]
