"""All trials of an audit → scores of both worlds in planned order, with what is missing."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.config import AuditConfig, World
from contextleak_inspect.rows import audit_rows
from contextleak_inspect.scoring import Released
from contextleak_inspect.trials import plan_worlds
from contextleak_inspect.votes import TrialVotes

WORLDS: tuple[World, World] = ("in", "out")


@dataclass(frozen=True)
class Arm:
    """One world of an audit, its planned trials in planned order.

    Attributes:
        numbers: Planned numbers of its trials, shape (n,).
        calibration: Whether a trial belongs to the calibration part, shape (n,).
        asked: Whether it was scored, or is known to be lost, shape (n,).
        scores: Membership scores, shape (n, n_rows); nan where the trial failed or is missing.
        clean: Clean scores or hit chances, as `scoring.Seen`, shape (n, n_rows).
    """

    numbers: NDArray[np.int64]
    calibration: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    scores: FloatArray
    clean: FloatArray

    def __len__(self) -> int:
        """Number of planned trials."""
        return len(self.numbers)

    @property
    def failed(self) -> int:
        """Trials that were asked and say nothing, or are lost."""
        return int(np.isnan(self.scores[self.asked]).any(axis=1).sum())


@dataclass(frozen=True)
class Run:
    """An audit's trials as far as they have come.

    Attributes:
        config: The audit.
        records: Votes of the trials that were scored, in planned order.
        arms: Both worlds.
        complete: Every planned trial was scored, failed or lost for good: only then may bounds
            for a fixed number of trials be shown.
        prefix: Number of leading trials, in planned order, after which the first one is open;
            anytime-valid bounds use these and no others.
    """

    config: AuditConfig
    records: tuple[TrialVotes, ...]
    arms: dict[World, Arm]
    complete: bool
    prefix: int

    @cached_property
    def n_planned(self) -> int:
        """Number of planned trials; a trial may hold both worlds."""
        return len(plan_worlds(self.config))


def gather(
    config: AuditConfig,
    trials: Iterable[tuple[TrialVotes, Released]],
    *,
    lost: Iterable[int] = (),
    finished: bool = False,
) -> Run:
    """Trials in any order → the run.

    Args:
        config: The audit.
        trials: Votes and releases of the trials that were scored.
        lost: Numbers of trials that ended without a record; they count against the auditor.
        finished: No more trials will come, so all that are not there are lost.

    Raises:
        ValueError: A trial stands twice, is not planned, or was asked in another world.
    """
    by_number: dict[int, tuple[TrialVotes, Released]] = {}
    planned = plan_worlds(config)
    for record, released in trials:
        if record.trial in by_number:
            raise ValueError(
                f"trial {record.trial} stands twice; pool logs of different seeds only"
            )
        if record.trial >= len(planned) or set(record.votes) != set(planned[record.trial][1]):
            raise ValueError(
                f"trial {record.trial} of worlds {sorted(record.votes)} is not planned: the "
                "settings are not those of the run"
            )
        by_number[record.trial] = record, released
    n = len(planned)
    closed = np.full(n, finished)
    closed[[*by_number, *(number for number in lost if number < n)]] = True
    rows = len(audit_rows(config))
    arms = {}
    for world in WORLDS:
        numbers = np.array([i for i, (_, worlds) in enumerate(planned) if world in worlds], int)
        seen = np.full((len(numbers), rows, 2), np.nan)
        for place, number in enumerate(numbers):
            if (found := by_number.get(int(number))) is not None:
                seen[place] = found[1].seen[world]
        arms[world] = Arm(
            numbers=numbers,
            calibration=np.array([planned[i][0] == "calibration" for i in numbers], bool),
            asked=closed[numbers],
            scores=seen[..., 0],
            clean=seen[..., 1],
        )
    return Run(
        config=config,
        records=tuple(by_number[number][0] for number in sorted(by_number)),
        arms=arms,
        complete=bool(closed.all()),
        prefix=n if closed.all() else int(np.argmin(closed)),
    )
