import asyncio
import json

import numpy as np
import pytest
from inspect_ai import eval
from inspect_ai.log import read_eval_log
from inspect_ai.scorer import SampleScore, Score

from contextleak_inspect.anytime_row import anytime_bound
from contextleak_inspect.audit_run import gather
from contextleak_inspect.config import audit_config
from contextleak_inspect.report import report
from contextleak_inspect.stopping import StopAtBound
from contextleak_inspect.tasks import contextleak_classification
from tests.contextleak_inspect.audits import drawn_votes, released

CONFIG = audit_config({"epsilon": "1,8,inf", "trials": 200, "stop_at": 1.5})
RECORDS = drawn_votes(CONFIG, np.random.default_rng(3), false_vote=0.01)


def fed(hook: StopAtBound, records) -> list[int]:
    """Trials that were still asked for when each record came in."""

    async def feed() -> list[int]:
        asked = []
        for record in records:
            stop = await hook.schedule_sample(f"x-{record.trial:05d}", 1)
            if stop is not None:
                continue
            asked.append(record.trial)
            score = Score(value={}, metadata={"trial": record.model_dump_json()})
            await hook.complete_sample(f"x-{record.trial:05d}", 1, {"m": SampleScore(score=score)})
        return asked

    return asyncio.run(feed())


def test_a_run_ends_with_the_first_trial_that_shows_enough():
    hook = StopAtBound(CONFIG)
    asked = fed(hook, RECORDS)
    n = len(asked)
    assert 10 < n < 200
    for prefix, enough in ((n, True), (n - 1, False)):
        run = gather(CONFIG, released(CONFIG, RECORDS[:prefix]))
        # ε = 1 cannot show more than 1.5; the others must
        bounds = [anytime_bound(run, index) for index in (1, 2)]
        assert (min(bounds) > 1.5) is enough
    summary = asyncio.run(hook.complete_task())
    assert summary["stopped_after_trials"] == n
    assert set(summary["bounds"]) == {"ε=8 histogram", "ε=inf histogram"}
    assert min(summary["bounds"].values()) > 1.5


def test_trials_that_run_ahead_wait_for_the_others():
    n = len(fed(StopAtBound(CONFIG), RECORDS))
    late = [*RECORDS[1:n], RECORDS[0], *RECORDS[n:]]
    hook = StopAtBound(CONFIG)
    assert len(fed(hook, late)) == n
    assert asyncio.run(hook.complete_task())["stopped_after_trials"] == n
    never = StopAtBound(CONFIG)
    assert len(fed(never, RECORDS[1:])) == 199  # the first trial is open, so nothing is shown


def test_a_lost_trial_closes_the_gap_against_the_auditor():
    hook = StopAtBound(CONFIG.model_copy(update={"epsilon": (8.0,), "stop_at": 0.5}))

    async def lose() -> None:
        score = Score(value={}, metadata={"lost": 0, "audit": "{}"})
        await hook.complete_sample("x-00000", 1, {"m": SampleScore(score=score)})

    asyncio.run(lose())
    assert 10 < len(fed(hook, RECORDS[1:])) < 199


def test_a_sample_that_was_skipped_itself_changes_nothing():
    hook = StopAtBound(CONFIG)
    asyncio.run(hook.complete_sample("x-00000", 1, {}))
    assert asyncio.run(hook.complete_task())["stopped_after_trials"] is None


@pytest.mark.parametrize("max_samples", [1, 8])
def test_through_inspect_the_rest_is_not_asked(tmp_path, max_samples):
    task = contextleak_classification(defense="none", trials=120, stop_at=1.0)
    [log] = eval(
        task,
        model="contextleak/simulated",
        log_dir=str(tmp_path),
        display="log",
        max_samples=max_samples,
    )
    assert log.status == "success"
    summary = log.results.early_stopping
    stopped = summary.metadata["stopped_after_trials"]
    done = {json.loads(s.scores["membership"].metadata["trial"])["trial"] for s in log.samples}
    assert set(range(stopped)) <= done
    assert len(done) <= stopped + max_samples
    assert len(done) + len(summary.early_stops) == 120
    values = {s.name: {m.name: m.value for m in s.metrics.values()} for s in log.results.scores}
    assert values["reply"]["ε ≥"] > 1.0  # the running maximum never falls below the stop
    assert np.isnan(values["reply"]["ε ≥ Clopper-Pearson"])
    text = report([log.location])
    assert "Unfinished: bounds for a fixed number of trials are left out" in text
    assert read_eval_log(log.location).results.early_stopping.metadata["stop_at"] == 1.0
