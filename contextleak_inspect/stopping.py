"""Early stop of an audit: no further trial once the anytime-valid bound is above `stop_at`."""

import json
from typing import TYPE_CHECKING

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec
from inspect_ai.scorer import SampleScore
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from contextleak_inspect.config import AuditConfig

if TYPE_CHECKING:
    from contextleak_inspect.scoring import Released
    from contextleak_inspect.votes import TrialVotes


class StopAtBound:
    """Inspect's early-stopping hook: looks at the bound whenever the next planned trial is in.

    Trials count in planned order, those that ran ahead wait for the others. Where several ε are
    claimed, all that can show more than `stop_at`, those above it, have to.
    """

    def __init__(self, config: AuditConfig) -> None:
        self.config = config
        self._trials: dict[int, tuple[TrialVotes, Released]] = {}
        self._lost: set[int] = set()
        self._next = 0
        self._reached: dict[str, float] = {}
        self._stopped_after: int | None = None

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Name of this hook in the log."""
        return "contextleak_stop_at"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Skip the sample once the bound is there."""
        if self._stopped_after is None:
            return None
        return EarlyStop(
            id=id, epoch=epoch, reason=f"ε > {self.config.stop_at:g} after {self._stopped_after}"
        )

    async def complete_sample(
        self, id: str | int, epoch: int, scores: dict[str, SampleScore]
    ) -> None:
        """Take in one trial."""
        from contextleak_inspect.scoring import release
        from contextleak_inspect.votes import TrialVotes

        for scored in scores.values():
            metadata = scored.score.metadata or {}
            if "trial" in metadata:
                votes = TrialVotes.model_validate_json(metadata["trial"])
                self._trials[votes.trial] = votes, release(votes, self.config)
            elif "lost" in metadata:
                self._lost.add(metadata["lost"])
        before = self._next
        while self._next in self._trials or self._next in self._lost:
            self._next += 1
        if self._next > before and self._stopped_after is None:
            self._look()

    async def complete_task(self) -> dict[str, JsonValue]:
        """What the log says about the stop."""
        return {
            "stop_at": self.config.stop_at,
            "stopped_after_trials": self._stopped_after,
            "bounds": json.loads(json.dumps(self._reached)),
        }

    def _look(self) -> None:
        from contextleak_inspect.anytime_row import anytime_bound
        from contextleak_inspect.audit_run import gather
        from contextleak_inspect.rows import audit_rows

        stop_at = self.config.stop_at
        assert stop_at is not None
        rows = audit_rows(self.config)
        first = [i for i, row in enumerate(rows) if row.level == rows[0].level]
        able = [i for i in first if (rows[i].epsilon or 0) > stop_at] or first
        prefix = [self._trials[n] for n in range(self._next) if n in self._trials]
        run = gather(self.config, prefix, lost=self._lost)
        self._reached = {rows[i].name: anytime_bound(run, i) for i in able}
        if min(self._reached.values()) > stop_at:
            self._stopped_after = self._next
