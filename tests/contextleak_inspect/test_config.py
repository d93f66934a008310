import json
import math

import pytest

from contextleak_inspect.calibration import analytic_sigma, classical_sigma, vote_sensitivity
from contextleak_inspect.config import AuditConfig, audit_config, config_hash, stream


def test_defaults_are_the_papers():
    config = audit_config({})
    assert (config.n_exemplars, config.ensemble, config.shots, config.trials) == (20, 10, 2, 100)
    assert (config.delta, config.epsilon) == (1e-5, (1.0, 2.0, 4.0, 8.0, math.inf))
    assert config.neighbouring == "replace_one"


def test_defaults_shown_in_the_fields_are_those_of_rnm():
    shown = {name: field.default for name, field in AuditConfig.model_fields.items()}
    assert audit_config({"defense": "rnm"}) == AuditConfig.model_construct(**shown)


@pytest.mark.parametrize(
    "sent",
    [
        "1,2,inf",
        "[1, 2, .inf]",
        ["1", "2", "inf"],
        ["1", "2", ".inf"],
        [1, 2, math.inf],
        (2, 1, "inf"),
    ],
)
def test_epsilon_as_the_command_line_sends_it(sent):
    assert audit_config({"epsilon": sent}).epsilon == (1.0, 2.0, math.inf)


def test_numbers_as_the_command_line_sends_them():
    config = audit_config({"delta": "1e-5", "trials": "50", "epsilon": 4, "seed": "0"})
    assert (config.delta, config.trials, config.epsilon, config.seed) == (1e-5, 50, (4.0,), 0)


def test_none_means_the_default_but_no_temperature_means_the_providers():
    assert audit_config({"ensemble": None, "canary": None, "epsilon": None}) == audit_config({})
    assert audit_config({"temperature": None}).temperature is None


def test_heuristics_have_one_shard_one_threshold_and_no_epsilon():
    config = audit_config({"defense": "keywords"})
    assert (config.ensemble, config.epsilon, config.threshold) == (1, (), "fixed")


def test_randomised_response_is_pure():
    assert audit_config({"defense": "label_rr"}).delta == 0


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"ensemble": 7}, r"use ensemble \[1, 2, 4, 5, 10, 20\]"),
        ({"epsilon": "-1"}, r"\[-1.0\] are no ε"),
        ({"epsilon": "nan"}, "are no ε"),
        ({"epsilon": "1,x"}, "valid number"),
        ({"epsilon": "1,1"}, "names an ε twice"),
        ({"epsilon": "1,,2"}, "epsilon.1: .*valid number.*got ''"),
        ({"epsilon": "1e-300"}, r"\[1e-300\] drown all in noise; give ε from 1e-09"),
        ({"delta": "1e-320"}, "delta: is next to nothing; give 0, or δ from 1e-300, got '1e-320'"),
        ({"epsilon": ""}, "needs at least one epsilon"),
        ({"epsilon": "0"}, "audit 'zero_shot' instead"),
        ({"delta": 0}, "no guarantee at δ = 0"),
        ({"delta": 1}, "delta: .*less than 1"),
        ({"delta": "x"}, "delta: .*got 'x'"),
        ({"trials": 0}, "trials: .*got 0"),
        ({"defense": ["rnm", "label_rr"]}, r"defense: .*got \['rnm', 'label_rr'\]"),
        ({"canary": "word"}, "'hex', 'unigram', 'false_fact', 'ngram' or 'structured', got 'word'"),
        ({"temprature": 1}, "temprature is no setting; choose from .*temperature"),
        ({"defense": "none", "epsilon": "1"}, "claims no ε"),
        ({"defense": "none", "ensemble": 2}, "ensemble is 1, not 2"),
        ({"defense": "esa"}, "releases texts; use 'rnm'"),
        ({"task": "generation"}, "releases labels; use 'esa'"),
        (
            {"task": "generation", "defense": "ksa", "keyword_mechanism": "ptr", "delta": 0},
            "'ptr' has no guarantee at δ = 0",
        ),
        ({"task": "generation", "defense": "esa", "canary_label": "x"}, "y_c is the canary"),
        ({"defense": "keywords", "calls": "paired"}, "use calls='naive'"),
        ({"defense": "label_rr", "calls": "paired"}, "use calls='naive'"),
        ({"defense": "keywords", "calls": "frozen"}, "use calls='naive'"),
        ({"defense": "label_rr", "ensemble": 10, "calls": "frozen"}, "'rnm' or 'esa'"),
        ({"calls": "paired", "trials": 99}, "even number of trials, got 99"),
        ({"calls": "paired", "balanced": True}, "both worlds already"),
        ({"calls": "frozen", "temperature": 0.7}, "temperature 0.7 does not"),
        ({"calls": "frozen", "temperature": None}, "temperature None does not"),
        ({"calls": "frozen", "null_controls": 5}, "repeats every prompt already"),
        ({"calls": "frozen", "stop_at": 1}, "nothing to stop"),
        ({"stop_at": 1, "bound": "clopper_pearson"}, "use bound 'e_process'"),
        ({"stop_at": 0}, "stop_at: .*greater than 0"),
        ({"stop_at": "inf"}, "give a finite ε"),
        ({"vote_balance": "tied"}, "odd ensemble ≥ 3, got 10"),
        ({"vote_balance": "tied", "ensemble": 1}, "odd ensemble ≥ 3, got 1"),
        ({"vote_balance": "tied", "defense": "none"}, "votes of 'rnm', not 'none'"),
        ({"fixed_fpr": 0.1}, "threshold 'fixed_rank' of 'rnm'"),
        ({"defense": "label_rr", "threshold": "fixed", "fixed_fpr": 0.1}, "of 'label_rr'"),
        ({"membership": "logprob"}, "the model's own reply, which 'rnm' does not release"),
        ({"membership": "logprob", "defense": "llm_judge"}, "does not release"),
        ({"defense": "none", "threshold": "grid"}, "use threshold 'fixed'"),
        ({"bound": "gaussian_dp"}, "'clopper_pearson' or 'e_process', got 'gaussian_dp'"),
        ({"guard_sees_exemplars": True}, "belongs to 'llm_judge'"),
        ({"filter_match": "exact"}, "belong to 'output_filter'"),
        ({"defense": "output_filter", "filter_match": "regex"}, "give both"),
        ({"defense": "output_filter", "filter_pattern": "a"}, "give both"),
        (
            {"defense": "output_filter", "filter_match": "regex", "filter_pattern": "("},
            r"filter_pattern '\('",
        ),
        (
            {"defense": "output_filter", "filter_match": "regex", "filter_pattern": "(?R)"},
            "timed out",
        ),
        *(
            ({"defense": "output_filter", "filter_match": "regex", "filter_pattern": p}, "empty")
            for p in ("", " ", "a*", "(x|)")
        ),
        ({"trials": True}, "trials: is no switch"),
        ({"epsilon": [1, True]}, "epsilon: is no switch"),
        ({"canary_label": ""}, "canary_label: is empty"),
        ({"source": "a.csv", "text_column": " "}, "text_column: is empty"),
        ({"temperature": "inf"}, "temperature: .*finite"),
        ({"temperature": math.nan}, "temperature: .*finite"),
        ({"calibration_share": 0.9999}, "leaves 0 of 100 trials"),
        ({"calibration_share": 0.001}, "that 0 choose"),
        ({"calls": "paired", "trials": 4, "calibration_share": 0.1}, "2 of 2 trials"),
        ({"seed": 2**53}, "seed: .*less than"),
        ({"n_exemplars": 10**9 + 1}, "n_exemplars: .*less than"),
        ({"trials": 10**9}, "trials: .*less than"),
        ({"source": "hub"}, r"needs \['repo', 'text_column', 'label_column'\]"),
        ({"source": "bundled", "repo": "a/b"}, r"takes no \['repo'\]"),
        ({"source": "data.xlsx"}, "ends in .csv or .jsonl"),
        ({"source": "data.csv", "split": "train"}, "belong to source 'hub'"),
        (
            {"source": "subjectivity", "task": "generation", "defense": "esa"},
            "is for classification",
        ),
        ({"source": "samsum"}, "is for generation, got task 'classification'"),
        ({"n_keywords": 3}, "n_keywords belongs to ksa, not to 'rnm'"),
        ({"task": "generation", "defense": "ksa", "embedding": "x"}, "belongs to esa"),
    ],
)
def test_wrong_values_are_refused_with_what_would_do(fields, says):
    with pytest.raises(ValueError, match=says):
        audit_config(fields)


def test_short_audits_have_as_many_null_controls_as_draws():
    assert audit_config({"trials": "4"}).null_controls == 4
    assert audit_config({"trials": 4, "calls": "paired"}).null_controls == 2
    assert audit_config({"trials": 1}).trials == 1


def test_stop_at_alone_takes_the_anytime_valid_bound():
    assert audit_config({"stop_at": 1.5}).bound == "e_process"


def test_a_config_survives_its_log():
    for fields in ({"epsilon": "1,inf", "temperature": None}, {"defense": "none"}, {"stop_at": 1}):
        config = audit_config(fields)
        assert audit_config(json.loads(json.dumps(config.record(), allow_nan=False))) == config


def test_the_hash_changes_with_what_is_asked_and_not_with_how_it_is_scored():
    base = audit_config({})
    assert config_hash(base) == config_hash(audit_config({"epsilon": 3, "delta": 1e-6}))
    asked = [{"seed": 1}, {"canary": "ngram"}, {"temperature": 1}, {"defense": "label_rr"}]
    hashes = [config_hash(base), *(config_hash(audit_config(fields)) for fields in asked)]
    assert len(set(hashes)) == len(hashes)
    assert config_hash(base, "data a") != config_hash(base, "data b")


def test_a_file_moved_elsewhere_is_the_same_audit():
    first, second = (audit_config({"source": path}) for path in ("a/x.csv", "b/y.csv"))
    assert config_hash(first, "data") == config_hash(second, "data")


def test_streams_are_alike_for_equal_names_and_unrelated_for_others():
    assert stream(0, "a", 1).random() == stream(0, "a", 1).random()
    numbers = [
        stream(seed, name, i).random() for seed in (0, 1) for name in "ab" for i in range(50)
    ]
    assert len(set(numbers)) == 200
    assert stream(0, "a", "1, 2").random() != stream(0, "a", 1, 2).random()


@pytest.mark.parametrize("changes", [{"confidence": 1e-300}, {"epsilon": "1e308"}])
def test_settings_that_no_scoring_could_finish_are_refused_before_any_call(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        audit_config(changes)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"temperature": None, "epsilon": "1,inf", "delta": 1e-6},
        {"defense": "label_rr", "delta": 1e-5},
        {"defense": "output_filter", "filter_match": "regex", "filter_pattern": "a{2}"},
    ],
)
def test_the_short_text_says_everything(fields):
    config = audit_config(fields)
    assert audit_config(json.loads(config.text())) == config
    assert len(config.text()) < 1000


@pytest.mark.parametrize(
    ("calibration", "epsilon"),
    [(analytic_sigma, "1e-9"), (analytic_sigma, "1e6"), (classical_sigma, "1e-9")],
)
def test_noise_can_be_computed_at_the_least_and_greatest_claims_that_are_taken(
    calibration, epsilon
):
    for delta in ("1e-300", 0.999):
        config = audit_config({"epsilon": epsilon, "delta": delta})
        sigma = calibration(config.epsilon[0], config.delta, vote_sensitivity())
        assert 0 < sigma < math.inf
