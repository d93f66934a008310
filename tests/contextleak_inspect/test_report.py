import pathlib

import pytest
from inspect_ai import eval, score
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from contextleak_inspect.audit_row import audit_row
from contextleak_inspect.report import report
from contextleak_inspect.report_audits import read_audits
from contextleak_inspect.scorers import membership
from contextleak_inspect.tasks import contextleak_classification


def run(log_dir, options=None, **fields):
    [log] = eval(
        contextleak_classification(**({"trials": 20, "temperature": 1, "epsilon": "8"} | fields)),
        model="contextleak/simulated",
        model_args={"hit": 0.9, "false_vote": 0.05},
        log_dir=str(log_dir),
        display="log",
        **(options or {}),
    )
    return log


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    return run(tmp_path_factory.mktemp("audited"))


def table_row(text: str, heading: str, start: str) -> list[str]:
    """Cells of the first line that begins with `start`, below a heading."""
    below = text[text.index(heading) :].splitlines()
    return next(line for line in below if line.split()[:1] == [start]).split()


def test_the_report_shows_the_logs_own_numbers(audited):
    [audit], notes = read_audits([audited.location])
    assert notes == []
    metrics = {m.name: m.value for m in audited.results.scores[1].metrics.values()}
    row = audit_row(audit.run, 0)
    assert row.bound.value == metrics["ε ≥ Clopper-Pearson"]
    assert row.integrated.value == metrics["ε ≥ e-process, noise integrated"]
    text = report([str(pathlib.Path(audited.location).parent)])
    cells = table_row(text, "Noisy histogram (observation noisy_aggregate)", "8")
    assert cells[1] == f"{row.bound.value:.2f}"
    assert cells[2] == f"{row.bound.n_in}+{row.bound.n_out}"
    assert cells[-2] == "8.00"  # the most that is possible: the claim itself
    for said in (
        "contextleak/simulated (hit=0.9, false_vote=0.05)",
        "δ = 1e-05, confidence 95%, neighbours replace_one",
        "ε ≥ (clopper_pearson, fixed_rank)",
        "Released label (observation final_output)",
        "210 model calls (null controls included), naively 200",
        "null control changed",
        "false votes q̂ = ",
    ):
        assert said in text


def test_lost_trials_of_a_finished_run_count_against_the_auditor(tmp_path):
    log = read_eval_log(run(tmp_path, defense="none", threshold="fixed", epsilon=None).location)
    whole = report([log.location])
    log.samples = log.samples[3:]
    short = str(tmp_path / "short" / "a.eval")
    write_eval_log(log, short)
    text = report([short])
    assert "warning: trials missing:" in text
    assert "each counts against the auditor" in text
    assert "Unfinished" not in text
    before, after = (float(table_row(t, "Reply", "-")[1]) for t in (whole, text))
    assert after < before


def test_an_unfinished_run_says_so(tmp_path):
    text = report([run(tmp_path, options={"limit": 12}).location])
    assert "Unfinished: bounds for a fixed number" in text
    assert "use the first 12 trials" in text
    assert table_row(text, "Noisy histogram", "8")[1] == "-"


def test_a_rescored_copy_stands_beside_its_run_and_a_plain_copy_does_not(audited, tmp_path):
    claim = membership(epsilon="3")
    other = score(audited, claim, model="none/none", action="append", display="log")
    write_eval_log(other, str(tmp_path / "other.eval"))
    audits, notes = read_audits([audited.location, str(tmp_path)])
    assert sorted(a.run.config.epsilon for a in audits) == [(3.0,), (8.0,)]
    assert len(notes) == 1
    assert "the same run as" in notes[0]
    text = report([audited.location, str(tmp_path)])
    assert text.count("calls=naive: ") == 2
    assert text.count("a claimed ε below is refuted") == 1  # what columns mean is said once


def test_a_log_that_was_scored_under_the_former_names_of_options_is_read(audited, tmp_path):
    log = score(
        audited,
        membership(epsilon="3"),
        model="none/none",
        action="overwrite",
        display="log",
    )
    for scorer in log.eval.scorers:
        scorer.options = {"epsilons": "3", "sensitivity": "add_remove", "threshold_rule": "dkw"}
    write_eval_log(log, file := str(tmp_path / "before.eval"))
    [audit], _ = read_audits([file])
    c = audit.run.config
    assert (c.epsilon, c.neighbouring, c.threshold) == ((3.0,), "add_remove", "dkw")


def test_a_run_whose_every_reply_is_empty_is_reported(tmp_path):
    def nothing(messages, tools, choice, config):
        output = ModelOutput.from_content("m", "", stop_reason="max_tokens")
        output.usage = ModelUsage(input_tokens=900, output_tokens=1, total_tokens=901)
        return output

    model = get_model("mockllm/model", custom_outputs=nothing, memoize=False)
    eval(
        contextleak_classification(trials=6, epsilon="4"),
        model=model,
        log_dir=str(tmp_path),
        display="log",
    )
    text = report([str(tmp_path)])
    assert "warning: 100% of replies are empty" in text
    assert table_row(text, "Noisy histogram", "4")[1] == "0.00"


def test_ties_at_the_rank_are_told_beside_the_row_without_noise(tmp_path):
    text = report([run(tmp_path, epsilon="8,inf", trials=40).location])
    notes = [line for line in text.splitlines() if line.startswith("note: ")]
    assert [note.split(":")[1] for note in notes] == [" ε=inf histogram"]


def test_frozen_results_name_their_scope(tmp_path):
    text = report([run(tmp_path, calls="frozen", temperature=0, trials=3, epsilon="4").location])
    assert "answers frozen" in text
    assert "scope conditional_on_answers" in text
    assert "which proves nothing about determinism" in text


def test_what_is_no_audit_is_left_out_or_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no log or folder"):
        report([str(tmp_path / "none.eval")])
    with pytest.raises(ValueError, match="no audit among the logs"):
        report([str(tmp_path)])
    (tmp_path / "b.eval").write_text("no log", encoding="utf-8")
    with pytest.raises(ValueError, match=r"b\.eval: left out, cannot be read"):
        report([str(tmp_path / "b.eval")])


@pytest.mark.parametrize(("limit", "bound"), [(None, "0.00"), (4, "-")])
def test_where_every_trial_failed_all_count_against_the_auditor_once_all_were_asked(
    tmp_path, limit, bound
):
    def fails(messages, tools, choice, config):
        raise RuntimeError("lost")

    eval(
        contextleak_classification(trials=6, epsilon="4"),
        model=get_model("mockllm/model", custom_outputs=fails, memoize=False),
        limit=limit,
        fail_on_error=False,
        log_dir=str(tmp_path),
        display="log",
    )
    text = report([str(tmp_path)])
    assert table_row(text, "Noisy histogram", "4")[1] == bound
    assert ("trials missing: 3 of 3 with the canary" in text) == (limit is None)
    assert ("Unfinished" in text) == (limit is not None)


def test_a_log_with_another_config_or_without_its_trials_is_left_out_with_the_reason(tmp_path):
    log = read_eval_log(run(tmp_path, trials=4).location)
    log.eval.metadata["config"] = ["rnm"]
    write_eval_log(log, str(tmp_path / "other.eval"))
    with pytest.raises(ValueError, match=r"other\.eval: .* config is \['rnm'\], not the settings"):
        report([str(tmp_path / "other.eval")])
    emptied = read_eval_log(run(tmp_path, trials=4).location)
    emptied.samples = []
    write_eval_log(emptied, str(tmp_path / "emptied.eval"))
    with pytest.raises(ValueError, match=r"emptied\.eval: .* counts 4 trials, and scores of none"):
        report([str(tmp_path / "emptied.eval")])


# Cases D12-D17: resolution and direction are said.
def test_flags_beside_the_numbers(audited):
    text = report([audited.location])
    assert "resolve FPR down to" in text
    assert "TPR@10%FPR" in text
