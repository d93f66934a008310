import numpy as np
import pytest

from contextleak_inspect.audit_run import gather
from contextleak_inspect.config import audit_config
from contextleak_inspect.trials import plan_worlds
from tests.contextleak_inspect.audits import drawn_votes, released, vote_record

CONFIG = audit_config({"trials": 20, "epsilon": "1,inf"})
RECORDS = drawn_votes(CONFIG, np.random.default_rng(0), false_vote=0.2)


def run_of(records, config=CONFIG, **options):
    return gather(config, released(config, records), **options)


def test_trials_stand_in_planned_order_whatever_order_they_came_in():
    first, shuffled = run_of(RECORDS), run_of(RECORDS[::-1])
    for world in ("in", "out"):
        assert (first.arms[world].scores == shuffled.arms[world].scores).all()
        assert list(first.arms[world].numbers) == sorted(first.arms[world].numbers)
    assert first.records == tuple(RECORDS) == shuffled.records
    planned = {w: sum(worlds == (w,) for _, worlds in plan_worlds(CONFIG)) for w in ("in", "out")}
    assert {w: len(arm) for w, arm in first.arms.items()} == planned
    assert first.complete
    assert first.prefix == first.n_planned == 20


def test_the_first_trials_are_for_calibration():
    run = run_of(RECORDS)
    for arm in run.arms.values():
        assert (arm.calibration == (arm.numbers < 6)).all()


def test_a_partial_run_ends_at_the_first_open_trial():
    run = run_of([r for r in RECORDS if r.trial not in {7, 12}])
    assert not run.complete
    assert run.prefix == 7
    assert sum(int((~arm.asked).sum()) for arm in run.arms.values()) == 2
    assert run_of([]).prefix == 0


# auditing_math section 1: what is still missing at the end counts; so does what is known lost.
def test_lost_trials_are_accounted_for_and_have_no_score():
    missing = [r for r in RECORDS if r.trial not in {7, 12}]
    lost, finished = run_of(missing, lost=[7, 12]), run_of(missing, finished=True)
    for run in (lost, finished):
        assert run.complete
        assert run.prefix == 20
        assert sum(arm.failed for arm in run.arms.values()) == 2
    assert run_of(missing, lost=[7]).prefix == 12


def test_both_worlds_of_a_pair_stand_in_both_arms():
    config = audit_config({"trials": 20, "calls": "paired", "epsilon": "1"})
    run = run_of(drawn_votes(config, np.random.default_rng(0)), config)
    assert {len(arm) for arm in run.arms.values()} == {10}
    assert run.n_planned == 10


@pytest.mark.parametrize("balanced", [False, True])
def test_planned_worlds_need_no_data(balanced):
    config = audit_config({"trials": 40, "balanced": balanced, "seed": 3})
    ins = sum(worlds == ("in",) for _, worlds in plan_worlds(config))
    assert (ins == 20) is balanced


def test_trials_that_do_not_belong_are_refused():
    with pytest.raises(ValueError, match="trial 3 stands twice"):
        run_of([*RECORDS, RECORDS[3]])
    other = vote_record(audit_config({"trials": 30}), 25)
    with pytest.raises(ValueError, match="trial 25 of worlds"):
        run_of([*RECORDS, other])
    [world] = RECORDS[0].votes
    swapped = RECORDS[0].model_copy(
        update={
            "votes": {("out" if world == "in" else "in"): RECORDS[0].votes[world]},
            "marks": {("out" if world == "in" else "in"): "v" * 10},
        }
    )
    with pytest.raises(ValueError, match="is not planned"):
        run_of([swapped])
