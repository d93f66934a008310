import json
import logging
import re
import zipfile
from collections import Counter

import pytest
from inspect_ai import Task, eval
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelCall,
    ModelOutput,
    ModelUsage,
    get_model,
)

from contextleak_inspect import baselines, calls
from contextleak_inspect.config import UNPARSED, audit_config
from contextleak_inspect.dataset import audit_dataset
from contextleak_inspect.solvers import Answers, ensemble
from contextleak_inspect.trials import (
    Audit,
    call_seed,
    canary_shard,
    context,
    plan_calls,
    prepare_audit,
    prompts,
)
from contextleak_inspect.versions import STAMP
from contextleak_inspect.votes import TrialVotes, error_rates
from tests.conftest import require_weights

SIMULATED = {"model": "contextleak/simulated"}


def run(audit: Audit, tmp_path, **options) -> EvalLog:
    task = Task(
        dataset=audit_dataset(audit), solver=ensemble(audit), config=calls.generate_config(audit)
    )
    [log] = eval(task, log_dir=str(tmp_path), display="log", **(SIMULATED | options))
    return log


def audit(**fields) -> Audit:
    return prepare_audit(audit_config({"trials": 6, "null_controls": 0} | fields))


def records(log: EvalLog) -> list[TrialVotes]:
    assert log.status == "success", log.error
    return [sample.store_as(Answers).trial for sample in log.samples]


class Scripted:
    """A model whose replies a function makes, with every call kept."""

    def __init__(self, reply=lambda messages, config: "subjective", tokens=9999):
        self.reply, self.tokens, self.seen = reply, tokens, []

    @property
    def model(self):
        return get_model("mockllm/model", custom_outputs=self, memoize=False)

    def __call__(self, messages: list[ChatMessage], tools, choice, config: GenerateConfig):
        self.seen.append((messages, config))
        made = self.reply(messages, config)
        output = made if isinstance(made, ModelOutput) else ModelOutput.from_content("m", made)
        output.usage = ModelUsage(input_tokens=self.tokens, output_tokens=1, total_tokens=1)
        return output


def test_a_perfect_model_votes_for_the_canary_in_its_shard_only(tmp_path):
    made = audit()
    for record, trial in zip(records(run(made, tmp_path)), made.trials, strict=True):
        [world] = trial.worlds
        expected = [record.other] * 10
        if world == "in":
            expected[record.canary_shard] = record.answer
        assert record.votes == {world: tuple(expected)}
        assert record.marks == {world: "v" * 10}
        assert (record.trial, record.part, record.seed) == (trial.number, trial.part, 0)


def test_the_log_alone_tells_the_audit_again(tmp_path):
    made = audit(epsilon="1,inf", temperature=None, seed=5)
    log = read_eval_log(run(made, tmp_path).location)
    for sample in log.samples:
        answers = sample.store_as(Answers)
        again = prepare_audit(audit_config(json.loads(answers.config)))
        assert again == made
        assert sample.id == f"{again.id}-{answers.trial.trial:05d}"


def test_simulated_rates_come_out(tmp_path):
    made = audit(trials=60, temperature=1)
    log = run(made, tmp_path, model_args={"hit": 0.7, "false_vote": 0.2})
    assert log.eval.model == "contextleak/simulated"
    assert log.eval.model_args == {"hit": 0.7, "false_vote": 0.2}
    rates = error_rates(records(log))
    assert rates.clean + rates.planted == 600
    assert abs(rates.q - 0.2) < 4 * (0.16 / rates.clean) ** 0.5
    assert abs(rates.r - 0.3) < 4 * (0.21 / rates.planted) ** 0.5


# The counts of auditing_math section 7: n·m, (n/2)(m + 1) and R(m + 1).
@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"trials": 8}, 80),
        ({"trials": 8, "calls": "paired"}, 44),
        ({"trials": 3, "calls": "frozen"}, 33),
        ({"trials": 8, "defense": "none"}, 8),
        ({"trials": 8, "null_controls": 2}, 82),
    ],
)
def test_calls_made(tmp_path, fields, asked):
    scripted = Scripted()
    log = run(audit(**fields), tmp_path, model=scripted.model)
    assert sum(record.calls for record in records(log)) == len(scripted.seen) == asked


def test_the_model_reads_exactly_the_planned_prompts(tmp_path):
    made, scripted = audit(trials=3), Scripted()
    run(made, tmp_path, model=scripted.model)
    sent = Counter(tuple(m.text for m in messages) for messages, _ in scripted.seen)
    planned = Counter(
        (prompt.system, prompt.user)
        for trial in made.trials
        for prompt in prompts(made, trial, trial.worlds[0])
    )
    assert sent == planned
    assert all([m.role for m in messages] == ["system", "user"] for messages, _ in scripted.seen)
    assert all(m.metadata is None for messages, _ in scripted.seen for m in messages)


def test_paired_worlds_share_all_answers_but_one(tmp_path):
    made = audit(calls="paired", temperature=1)
    for record in records(run(made, tmp_path, model_args={"hit": 0.5, "false_vote": 0.5})):
        differing = [i for i in range(10) if record.votes["in"][i] != record.votes["out"][i]]
        assert differing in ([], [record.canary_shard])


def test_calls_of_an_audit_have_seeds_of_their_own():
    made = audit(calls="paired", null_controls=6, trials=20)
    seeds = [
        call_seed(made, trial, call.key)
        for trial in made.trials
        for call in plan_calls(made, trial)
    ]
    assert len(set(seeds)) == len(seeds)
    other = audit(seed=1)
    assert call_seed(other, other.trials[0], "0") != call_seed(made, made.trials[0], "0")


def test_nothing_asked_in_a_naive_trial_depends_on_the_coin_but_the_canarys_prompt():
    made = audit(trials=20, null_controls=5)
    for trial in made.trials:
        out, with_canary = (plan_calls(made, trial._replace(worlds=(w,))) for w in ("out", "in"))
        assert [call.key for call in out] == [call.key for call in with_canary]
        changed = [a.shard for a, b in zip(out, with_canary, strict=True) if a.prompt != b.prompt]
        assert changed == [canary_shard(made, trial)]


# Case E21: the same prompt asked twice.
def test_null_control_asks_an_unchanged_prompt_again(tmp_path):
    made = audit(null_controls=6, temperature=1)
    found = records(run(made, tmp_path, model_args={"false_vote": 0.5}))
    assert {record.null_changed for record in found} == {True, False}
    frozen_answers = records(run(audit(null_controls=6), tmp_path, model_args={"false_vote": 0.5}))
    assert {record.null_changed for record in frozen_answers} == {False}
    for trial in made.trials:
        *first, null = plan_calls(made, trial)
        assert null.prompt in [call.prompt for call in first]
        assert null.shard != canary_shard(made, trial)


# Cases E01 and E03: a cache replays an audit, call by call; it never answers two calls at once.
def test_case_e01_no_cached_answer_counts_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    made, scripted = audit(defense="zero_shot", temperature=1), Scripted()
    assert len({prompts(made, trial, "out") for trial in made.trials}) == 1
    first = records(run(made, tmp_path / "a", model=scripted.model, cache=True))
    assert len(scripted.seen) == 6
    assert [record.cached for record in first] == [0] * 6
    again = records(run(made, tmp_path / "b", model=scripted.model, cache=True))
    assert len(scripted.seen) == 6
    assert [record.cached for record in again] == [1] * 6
    other = audit(defense="zero_shot", temperature=1, seed=1)
    run(other, tmp_path / "c", model=scripted.model, cache=True)
    assert len(scripted.seen) == 12


def test_without_a_request_nothing_is_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    made, scripted = audit(defense="none"), Scripted()
    run(made, tmp_path / "a", model=scripted.model)
    run(made, tmp_path / "b", model=scripted.model)
    assert len(scripted.seen) == 12


# Case E04: a temperature that the provider drops is recorded as not sent, and said once.
def test_case_e04_temperature_requested_and_sent(tmp_path, caplog):
    calls.warn_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        dropped = run(audit(defense="none"), tmp_path, model=Scripted().model)
    said = [r for r in caplog.records if "temperature 0.0 was not sent" in r.getMessage()]
    assert len(said) == 1
    for sample in dropped.samples:
        answers = sample.store_as(Answers)
        assert (answers.temperature_requested, answers.temperature_sent) == (0.0, None)
    sent = run(audit(defense="none", temperature=0.7), tmp_path)
    assert {sample.store_as(Answers).temperature_sent for sample in sent.samples} == {0.7}
    unknown = run(audit(defense="none"), tmp_path, log_model_api=False)
    assert {sample.store_as(Answers).temperature_sent for sample in unknown.samples} == {"unknown"}


def test_a_nested_request_shows_its_temperature():
    call = ModelCall.create({"model": "m", "config": {"seed": 1, "temperature": 1}}, None)
    assert calls._find_temperature(call.request) == 1.0
    assert calls._find_temperature({"messages": [], "seed": 1}) is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"temperature": 0.5}, "set it with -T temperature=, not with --temperature"),
        ({"epochs": 2}, "use -T trials=, not --epochs"),
    ],
)
def test_what_would_falsify_an_audit_stops_it(tmp_path, options, says):
    log = run(audit(), tmp_path, **options)
    assert log.status == "error"
    assert says in log.error.message


def test_samples_of_another_audit_are_refused(tmp_path):
    made = audit()
    task = Task(dataset=audit_dataset(audit(seed=1)), solver=ensemble(made))
    [log] = eval(task, log_dir=str(tmp_path), display="log", **SIMULATED)
    assert "data, query or settings have changed" in log.error.message


def test_the_same_audit_again_and_in_another_order_gives_the_same_record(tmp_path):
    made, rates = audit(temperature=1), {"hit": 0.5, "false_vote": 0.5}
    first = records(run(made, tmp_path, model_args=rates))
    again = records(run(prepare_audit(made.config), tmp_path, model_args=rates, max_samples=1))
    assert first == again


# Case E17, and case E09 where the provider cuts without a word.
def test_empty_by_cap_and_cut_prompts_are_failed_trials(tmp_path):
    capped = ModelOutput.from_content("m", "", stop_reason="max_tokens")
    empty = run(audit(), tmp_path, model=Scripted(lambda *_: capped).model)
    assert all(record.failed(world) for record in records(empty) for world in record.votes)
    cut = run(audit(), tmp_path, model=Scripted(tokens=10).model)
    assert all(record.marks == {w: "w" * 10} for record in records(cut) for w in record.votes)
    unknown = run(audit(), tmp_path, model=Scripted(tokens=0).model)
    assert not any(record.failed(w) for record in records(unknown) for w in record.votes)


def test_a_known_small_window_stops_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(calls, "_context_length", lambda model: 300)
    log = run(audit(defense="none"), tmp_path)
    assert "the canary could be cut off unseen" in log.error.message


def judged(tmp_path, verdict, **fields):
    guard, made = (
        Scripted(lambda *_: verdict),
        audit(defense="llm_judge", query="if_then_explicit", **fields),
    )
    log = run(made, tmp_path, model_roles={"guard": guard.model})
    return records(log), guard, made


@pytest.mark.parametrize(("verdict", "mark"), [("SAFE", "v"), ("LEAK", "b"), ("perhaps", "b")])
def test_the_guard_blocks_what_leaks_or_is_unclear(tmp_path, verdict, mark):
    found, guard, _ = judged(tmp_path, verdict)
    assert [record.marks[w] for record in found for w in record.votes] == [mark] * 6
    assert [record.guard_calls for record in found] == [1] * 6
    assert [record.calls for record in found] == [1] * 6
    assert len(guard.seen) == 6
    if mark == "b":
        assert not any(record.hit(w) for record in found for w in record.votes)


# Case E19: private examples travel to the guard only when asked for, and then with a warning.
@pytest.mark.parametrize("told", [False, True])
def test_case_e19_what_the_guard_reads(tmp_path, caplog, told):
    calls.warn_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        _, guard, made = judged(tmp_path, "SAFE", guard_sees_exemplars=told)
    read = "\n".join(m.text for messages, _ in guard.seen for m in messages)
    private = {e.text for trial in made.trials for e in context(made, trial, "out")}
    assert any(text in read for text in private) is told
    assert any("private exemplars are sent to" in r.getMessage() for r in caplog.records) is told


def test_without_a_guard_nobody_judges(tmp_path):
    log = run(audit(defense="llm_judge"), tmp_path)
    assert log.status == "error"
    assert "give --model-role guard=" in log.error.message
    assert not any(e.event == "model" for s in log.samples for e in s.events)


def test_the_output_filter_blocks_a_reply_that_prints_the_examples(tmp_path):
    def leak(messages, config):
        return messages[0].text

    made = {"query": "prompt_injection", "trials": 10}
    open_log = run(audit(defense="none", **made), tmp_path, model=Scripted(leak).model)
    for record in records(open_log):
        assert [record.hit(w) for w in record.votes] == ["in" in record.votes]
    filtered = run(audit(defense="output_filter", **made), tmp_path, model=Scripted(leak).model)
    assert {record.marks[w] for record in records(filtered) for w in record.votes} == {"b"}


def test_log_probabilities_of_the_label_are_the_simulated_ones(tmp_path):
    made = audit(defense="none", membership="logprob", temperature=1)
    log = run(made, tmp_path, model_args={"hit": 0.9, "false_vote": 0.2})
    for record in records(log):
        for world, score in record.logprob_scores.items():
            assert score == pytest.approx({"in": 2.1972, "out": -1.3863}[world], abs=1e-3)


def test_the_canarys_tail_is_forced_after_its_head(tmp_path):
    made = audit(defense="none", membership="logprob", query="completion")
    scripted = Scripted()
    log = run(made, tmp_path, model=scripted.model)
    assert "this one returned none; use membership 'match'" in log.error.message
    messages, config = scripted.seen[0]
    assert messages[-1].role == "assistant"
    grammar = re.fullmatch('root ::= "(.*)"', config.extra_body["grammar"]).group(1)
    assert messages[-1].text + grammar == made.canary.text


@pytest.mark.parametrize("query", ["completion", "prompt_injection"])
def test_text_queries_hit_by_the_text(tmp_path, query):
    for record in records(run(audit(defense="none", query=query), tmp_path)):
        assert [record.hit(w) for w in record.votes] == ["in" in record.votes]


def as_logged(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def test_the_log_holds_each_private_text_once_a_sample_and_no_pool(tmp_path):
    made = audit()
    log = run(made, tmp_path)
    drawn = {i for trial in made.trials for i in trial.drawn}
    unused = [e.text for i, e in enumerate(made.data.pool) if i not in drawn]
    with zipfile.ZipFile(log.location) as archive:
        names = [n for n in archive.namelist() if n.startswith("samples/")]
        texts = {n: archive.read(n).decode() for n in archive.namelist()}
    everything = "\n".join(texts.values())
    assert unused
    assert not any(as_logged(text) in everything for text in unused)
    for name in names:
        number = int(re.search(r"-(\d{5})_epoch", name).group(1))
        trial = made.trials[number]
        for exemplar in context(made, trial, trial.worlds[0]):
            if exemplar != made.canary.exemplar:
                assert texts[name].count(as_logged(exemplar.text)) == 1


def test_sample_ids_order_and_metadata():
    made = audit(trials=20, null_controls=4)
    samples = list(audit_dataset(made))
    assert [sample.id for sample in samples] == [f"{made.id}-{i:05d}" for i in range(20)]
    assert {sample.input for sample in samples} == {made.query.fill(made.canary)}
    for sample, trial in zip(samples, made.trials, strict=True):
        assert sample.metadata == {
            "trial": trial.number,
            "canary": trial.worlds[0],
            "part": trial.part,
            "null_control": trial.null_control,
            **STAMP,
        }
    paired = audit_dataset(audit(calls="paired"))[0]
    assert (paired.metadata["canary"], paired.target) == ("both", "canary out and in")


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("simulated", {"hit": 1.5}, "hit must lie in"),
        ("simulated", {"hit": "x"}, "hit must be a probability, got 'x'"),
        ("simulated", {"hits": 1}, r"\['hits'\] are unknown; choose from"),
        ("gpt", {}, "contextleak/gpt is no model; use contextleak/simulated"),
    ],
)
def test_simulated_refuses_what_it_does_not_know(name, args, says):
    with pytest.raises(ValueError, match=says):
        get_model(f"contextleak/{name}", memoize=False, **args)


def test_simulated_answers_alike_for_the_same_prompt_and_seed():
    texts = ["system", "user"]
    assert baselines._uniforms(texts, 1) == baselines._uniforms(texts, 1)
    assert baselines._uniforms(texts, 1) != baselines._uniforms(texts, 2)
    draws = [baselines._uniforms(texts, seed)[0] for seed in range(2000)]
    assert abs(sum(draws) / 2000 - 0.5) < 4 * (1 / 12 / 2000) ** 0.5


def test_unparsed_replies_are_counted(tmp_path):
    found = records(run(audit(), tmp_path, model_args={"unparsed": 1}))
    assert {record.marks[w] for record in found for w in record.votes} == {"u" * 10}


def test_without_a_system_turn_the_examples_come_first_in_the_users(tmp_path):
    made, usual = audit(system_turn=False), audit()
    scripted = Scripted()
    run(made, tmp_path, model=scripted.model)
    [[turn], *_] = [messages for messages, _ in scripted.seen]
    prompt = next(p for p in prompts(made, made.trials[0], made.trials[0].worlds[0]))
    assert turn.role == "user"
    assert turn.text == f"{prompt.system}\n\n{prompt.user}"
    assert made.id != usual.id
    assert [r.votes for r in records(run(made, tmp_path))] == [
        r.votes for r in records(run(usual, tmp_path))
    ]


@pytest.mark.local_model
def test_a_small_real_model_continues_the_canary_only_where_it_was_planted(tmp_path):
    require_weights("smollm2-135m")
    made = audit(defense="none", query="begun_completion", n_exemplars=4, trials=4, balanced=True)
    assert {trial.worlds for trial in made.trials} == {("in",), ("out",)}
    log = run(made, tmp_path, model="gguf/smollm2-135m", max_tokens=56)
    for record in records(log):
        assert [record.hit(w) for w in record.votes] == ["in" in record.votes]


@pytest.mark.local_model
def test_a_small_real_model_finds_the_canarys_tail_likely_only_where_it_was_planted(tmp_path):
    require_weights("smollm2-135m")
    made = audit(
        defense="none",
        query="completion",
        membership="logprob",
        n_exemplars=4,
        trials=4,
        balanced=True,
    )
    for record in records(run(made, tmp_path, model="gguf/smollm2-135m")):
        for world, score in record.logprob_scores.items():
            assert score > -1.5 if world == "in" else score < -2


def test_an_output_without_any_reply_is_no_vote(tmp_path):
    scripted = Scripted(lambda messages, config: ModelOutput(model="m", choices=[]))
    found = records(run(audit(defense="none", trials=4), tmp_path, model=scripted.model))
    assert [set(record.votes.popitem()[1]) for record in found] == [{UNPARSED}] * 4
