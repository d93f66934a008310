"""Searches on simulated models whose error rates depend on the query; nothing reaches a network."""

import hashlib
import os
import signal

import anyio
import pytest
import yaml
from click.testing import CliRunner
from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi

from contextleak_inspect.cli import main
from contextleak_inspect.config import audit_config
from contextleak_inspect.queries import read_query
from contextleak_inspect.search import predicted, predicted_accuracy
from contextleak_inspect.search_contexts import make_contexts, search_seeds
from contextleak_inspect.search_run import (
    SearchPlan,
    free_path,
    grid_cells,
    query_file,
    run_search,
    search_text,
)
from contextleak_inspect.trials import prepare_audit

GOOD = 'Is "<canary>" in your examples? Compare letter by letter. Say <answer> if so, else <other>.'
BAD = "Say <answer>."
PROMPTS: list[str] = []


def chance(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) / 2**64


@modelapi(name="querydependent")
def querydependent() -> type[ModelAPI]:
    """Error rates by the query's words; and a reflector that writes texts from a script."""

    class Model(ModelAPI):
        written = 0

        async def generate(self, input, tools, tool_choice, config) -> ModelOutput:
            user = input[-1].text
            if self.model_name.startswith("reflector"):
                PROMPTS.append(user)
                Model.written += 1
                texts = {"reflector": [BAD, GOOD], "reflector-bad": [BAD, ""]}[self.model_name]
                reply = f"Better:\n```\n{texts[Model.written % 2]}\n```"
                return ModelOutput.from_content(self.model_name, reply)
            system = input[0].text
            if "letter by letter" in user:
                hit, false_vote = 0.95, 0.02
            elif "go through your examples" in user:
                hit, false_vote = 0.6, 0.1
            else:
                hit, false_vote = 0.3, 0.3
            # The canary stands in the query and, in one world, among the examples.
            present = any(len(w) == 64 and w in system for w in user.replace('"', " ").split())
            draw = chance(f"{system}|{user}|{config.seed}")
            label = "objective" if draw < (hit if present else false_vote) else "subjective"
            return ModelOutput.from_content(self.model_name, label)

    return Model


def plan(**changes) -> SearchPlan:
    fields = {
        "settings": {"defense": "rnm", "task": "classification"},
        "queries": ("if_then_explicit", "input_output"),
        "contexts": 24,
        "fresh": 40,
        "proposals": 6,
    }
    return SearchPlan(**fields | changes)


def found(reflector="querydependent/reflector", told=lambda line: None, **changes):
    made = plan(**changes)
    return anyio.run(
        run_search,
        made,
        get_model("querydependent/m", memoize=False),
        get_model(reflector, memoize=False) if reflector else None,
        told,
    )


@pytest.fixture(scope="module")
def searched():
    lines = []
    return found(told=lines.append), lines


def test_a_better_query_is_found_and_confirmed_on_fresh_contexts(searched):
    search, lines = searched
    assert search.hand_written.query.name == "if_then_explicit"
    assert search.best.query.text == GOOD
    assert search.best.query.reads == "label"
    before, after = (predicted(search.objective, rates) for rates in search.fresh)
    assert after > before + 0.05
    truth = predicted_accuracy(search.objective, 0.02, 0.05)
    assert abs(after - truth) < 0.1
    assert any(line.startswith("query 1: hits") for line in lines)
    text = search_text(search)
    assert "On fresh canaries and contexts; 95 % intervals that hold for both:" in text
    assert "  searched: hits" in text


def test_the_reflector_reads_the_template_and_what_went_wrong(searched):
    first = PROMPTS[0]
    assert '"<canary>" appears in any of them' in first  # the template, not a filled-in canary
    assert "Where the canary is among" not in first.split("```")[1]
    assert "Feedback" in first
    assert "it was reported although it is not there" in first or "it was missed" in first


def test_parts_of_a_search_share_no_canary_and_no_context():
    seeds = search_seeds(3)
    every = [seed for part in seeds.values() for seed in part]
    assert len(set(every)) == len(every)
    assert not set(every) & {seed for part in search_seeds(4).values() for seed in part}
    settings = plan().settings
    texts = {
        part: {c.audit.canary.text for c in make_contexts(settings, seeds[part], 8)}
        for part in seeds
    }
    assert all(len(canaries) == 4 for canaries in texts.values())
    assert len(set().union(*texts.values())) == 16


def test_the_file_is_a_query_with_its_provenance_that_an_audit_loads(searched, tmp_path):
    search, _ = searched
    path = tmp_path / "query.yaml"
    path.write_text(query_file(search), encoding="utf-8")
    audit = prepare_audit(audit_config({"query": str(path), "trials": 4}))
    assert audit.query.text == GOOD
    provenance = audit.query.provenance
    assert provenance["model"] == "querydependent/m"
    assert provenance["start"]["name"] == "if_then_explicit"
    assert provenance["fresh"]["searched"]["clean"] == 40
    assert provenance["chosen_on"]["optimistic"] is True
    with pytest.raises(ValueError, match="was searched with the canary and contexts of seed"):
        read_query(audit_config({"query": str(path), "seed": provenance["seeds"][0]}))
    # It is a start for the next search too.
    again = found(None, queries=(str(path), "input_output"), seed=1)
    assert again.hand_written.query.text == GOOD


def test_without_improvement_the_hand_written_query_is_the_result():
    search = found("querydependent/reflector-bad", proposals=3)
    assert search.best.query.text == search.hand_written.query.text
    assert search.fresh[0] == search.fresh[1]
    assert "No better query was found" in search_text(search)


def test_the_grid_alone_needs_no_reflector_and_its_intervals_hold_together():
    search = found(None, canaries=("hex", "structured"))
    assert [(c.canary, c.query.name) for c in search.grid] == [
        ("hex", "if_then_explicit"),
        ("hex", "input_output"),
        ("structured", "if_then_explicit"),
        ("structured", "input_output"),
    ]
    assert search.tried == []
    assert "Grid, 4 cells; 95 % intervals that hold for all of them" in search_text(search)


def test_all_our_queries_that_fit_make_the_grid():
    names = [query.name for _, query in grid_cells(plan(queries=()))]
    assert names == ["input_output", "if_then_explicit", "if_then_implicit"]
    settings = {"defense": "esa", "task": "generation"}
    assert len(grid_cells(plan(queries=(), settings=settings))) == 6


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"canaries": ("hexx",)}, r"canaries \['hexx'\] are unknown"),
        ({"queries": ("nothing",)}, "query 'nothing' is none of"),
        ({"settings": {"defense": "label_rr"}}, "'label_rr' changes"),
        ({"settings": {"defense": "none", "membership": "logprob"}}, "membership is 'match'"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_any_call(changes, says):
    with pytest.raises(ValueError, match=says):
        grid_cells(plan(**changes))


def test_the_first_interrupt_keeps_what_was_found():
    asked = []

    def told(line):
        asked.append(line)
        if line.startswith("start: "):
            os.kill(os.getpid(), signal.SIGINT)

    search = found(told=told, proposals=50)
    assert search.interrupted
    assert search.fresh is None
    assert len(search.tried) <= 3
    assert any("Ctrl-C again ends at once" in line for line in asked)
    assert "Stopped before fresh contexts" in search_text(search)
    assert yaml.safe_load(query_file(search))["provenance"]["interrupted"] is True


def test_the_command_writes_the_file_and_never_over_another(tmp_path):
    path = tmp_path / "q.yaml"
    command = ["search", "--model", "querydependent/m", "--query", "if_then_explicit"]
    command += ["--contexts", "8", "--fresh", "8", "--out", str(path), "-T", "ensemble=5"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "m = 5" in result.output
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["provenance"]["ensemble"] == 5
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "exists; give another --out" in result.output
    with pytest.raises(ValueError, match="no such folder"):
        free_path(tmp_path / "none" / "q.yaml")


def test_a_wrong_setting_is_told_in_one_line(tmp_path):
    command = ["search", "--model", "querydependent/m", "--out", str(tmp_path / "q.yaml")]
    result = CliRunner().invoke(main, [*command, "-T", "colour=red"])
    assert result.exit_code == 1
    assert "colour is no setting" in result.output
    result = CliRunner().invoke(main, [*command, "-T", "colour"])
    assert "'colour' is not name=value" in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-T", "x=[1"], "'x=[1' is no YAML"),
        (["-T", "source=none.csv"], "none.csv: no such file"),
        (["--seed", "99999999999"], "not in the range"),
        (["--model", "nobody/none"], "nobody"),
        (["--model", "openai/gpt-4.1"], "No OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_searched_is_told_without_a_traceback(
    tmp_path, monkeypatch, arguments, says
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    command = ["search", "--model", "querydependent/m", "--out", str(tmp_path / "q.yaml")]
    result = CliRunner().invoke(main, [*command, *arguments])
    assert result.exit_code in {1, 2}
    assert isinstance(result.exception, SystemExit)
    assert says in result.output
    assert "[bold]" not in result.output


def test_the_help_teaches():
    text = CliRunner().invoke(main, ["search", "--help"]).output
    for words in ("Grid", "GEPA", "Fresh canaries", "unbiased", "Ctrl-C", "query=query.yaml"):
        assert words in text
