"""The hard track on models that need no network: exact prompts, what is shown, what is scored."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval, score, task_with
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score
from pytest_inspect_evals.metrics import run_metrics

from dprivbench_inspect.citation_scorer import citation_rates, citations
from dprivbench_inspect.dataset import load_questions
from dprivbench_inspect.prompts import CITE_INSTRUCTION, HELP_START, INSTRUCTION, question_in
from dprivbench_inspect.solvers import ask_with_help
from dprivbench_inspect.tasks import dprivbench_cat2, dprivbench_hard
from dprivbench_inspect.theorems import read_theorems
from tests.dprivbench_inspect.test_retrieval import first_words

__all__ = ["first_words"]
LIBRARY = read_theorems()
HARD_TOPICS = (
    "dp_sgd,parallel_composition,hyperparameter_tuning,ptr,pate,output_perturbation,"
    "smooth_sensitivity"
)
KINDS = ("theorems", "related", "retrieval", "none")


EMBEDDERS = {
    "json": "'json' is not of the form package.module:function",
    ":loads": "':loads' is not of the form package.module:function",
    "no.such:thing": "importing no failed with ModuleNotFoundError|importing no.such failed with",
    "json:embed": "module json has no 'embed'",
    "json:decoder": "'decoder' is of type module, not a function",
    "json:dumps": "the embedder gave '.* for 100 texts; expected 100 vectors of equal length",
    "json:loads": "the embedder failed on 100 texts with TypeError: the JSON object must be",
    "builtins:len": r"the embedder gave shape \(\) for 100 texts; expected \(100, dimensions\)",
}


def run(task: Any, model: Any, log_dir: Path, **options: Any) -> EvalLog:
    quiet = {"display": "log", "log_realtime": False}  # events are not copied for live viewing
    (log,) = eval(task, model=model, log_dir=str(log_dir), **quiet, **options)
    assert log.status == "success", log.error
    return log


def numbers(log: EvalLog, scorer: str) -> dict[str, float]:
    assert log.results is not None
    (one,) = [s for s in log.results.scores if s.name == scorer]
    return {name: float(metric.value) for name, metric in one.metrics.items()}


def shown(task: Any) -> dict[str, list[str]]:
    return {str(sample.id): (sample.metadata or {})["shown"] for sample in task.dataset}


def cites_all(prompt: str, seed: int | None) -> str:
    ids = re.findall(r"^\[([\w.-]+)\]", prompt, flags=re.MULTILINE)
    return f"By these.\nUsed: {', '.join(ids)}\n\\boxed{{no}}"


def test_all_kinds_of_help_ask_the_same_questions() -> None:
    asked = [[sample.id for sample in dprivbench_hard(help=kind).dataset] for kind in KINDS]
    assert asked[0] == asked[1] == asked[2] == asked[3]
    assert len(asked[0]) == 39


def test_the_prompt_is_exactly_this(mock: Callable[..., Any], tmp_path: Path) -> None:
    model = mock(cites_all)
    log = run(dprivbench_hard(), model.model, tmp_path, limit=1)
    (sample,) = log.samples or []
    question = next(q for q in load_questions(2).questions if q.id == sample.id)
    link = LIBRARY.link(question)
    assert link is not None
    texts = [
        f"[{theorem.id}] {theorem.title}\n{theorem.statement.strip()}"
        for theorem in (LIBRARY.theorems[name] for name in link.theorems)
    ]
    expected = [question.question, HELP_START, *texts, f"{INSTRUCTION} {CITE_INSTRUCTION}"]
    (asked,) = model.asked
    assert [m.text for m in asked.messages] == ["\n\n".join(expected)]
    assert question_in(asked.messages[0].text) == question.question
    assert r"\boxed{}" in asked.messages[0].text


def test_without_help_the_prompt_is_the_zero_shot_one(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    plain, control = mock(), mock()
    log = run(dprivbench_hard(help="none"), control.model, tmp_path)
    run(dprivbench_cat2(topics=HARD_TOPICS), plain.model, tmp_path)
    prompts = {asked.messages[0].text for asked in control.asked}
    assert len(prompts) == 39
    assert prompts <= {asked.messages[0].text for asked in plain.asked}
    assert [s.name for s in (log.results.scores if log.results else [])] == ["verdict"]


def test_citing_all_of_what_a_question_rests_on_is_right(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    log = run(dprivbench_hard(), mock(cites_all).model, tmp_path, limit=8)
    found = numbers(log, "citations")
    assert found["recall of right theorems"] == found["precision of citations"] == 1
    assert found["no citation line"] == found["cites what was not shown"] == 0
    among = dprivbench_hard(distractors=3)
    found = numbers(run(among, mock(cites_all).model, tmp_path, limit=8), "citations")
    assert found["recall of right theorems"] == found["right theorems shown"] == 1
    assert 0.3 < found["precision of citations"] < 0.6


def test_what_was_retrieved_is_in_the_log_and_its_recall_a_metric(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    log = run(dprivbench_hard(help="retrieval"), mock(cites_all).model, tmp_path)
    found = numbers(log, "citations")
    # Measured: 0.41 of the right ones are among five; nobody can cite what was not shown.
    assert found["right theorems shown"] == pytest.approx(0.41, abs=0.03)
    assert found["recall of right theorems"] == found["right theorems shown"]
    for sample in log.samples or []:
        assert len(sample.metadata["shown"]) == 5
        texts = [f"[{s['id']}] {s['title']}" for s in sample.metadata["statements"]]
        assert all(text in sample.messages[0].text for text in texts)
    more = shown(dprivbench_hard(help="retrieval", k=12))
    assert {name: ids[:5] for name, ids in more.items()} == shown(dprivbench_hard(help="retrieval"))


@pytest.mark.parametrize(
    "arguments",
    [{}, {"distractors": 4}, {"help": "related"}],
    ids=["theorems", "others", "related"],
)
def test_what_is_shown_tells_no_label(arguments: dict[str, Any]) -> None:
    task = dprivbench_hard(**arguments)
    families: dict[str, set[str]] = {}
    for sample in task.dataset:
        about = sample.metadata or {}
        family = about.get("sibling", str(sample.id))
        families.setdefault(family, set()).add(str(about["statements"]))
    assert {len(texts) for texts in families.values()} == {1}


def test_a_related_claim_is_another_one_with_its_reason(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    log = run(dprivbench_hard(help="related"), mock(cites_all).model, tmp_path, limit=8)
    claims = {q.id: q for q in load_questions(2).questions}
    for sample in log.samples or []:
        (name,) = sample.metadata["shown"]
        assert name not in {sample.id, sample.metadata.get("sibling")}
        assert claims[name].label == "yes"
        assert claims[name].question.strip() in sample.messages[0].text
        assert (claims[name].explanation or "?") in sample.messages[0].text
    assert numbers(log, "citations")["recall of right theorems"] == 1


@pytest.mark.parametrize("inside", ["", "data"])
def test_official_questions_take_the_releases_theorems(
    inside: str, release: Path, mock: Callable[..., Any], tmp_path: Path
) -> None:
    source = release / inside
    log = run(dprivbench_hard(source=str(source)), mock(cites_all).model, tmp_path)
    given = {str(s.id): s.metadata["shown"] for s in log.samples or []}
    assert given == {
        "cate_2-124": ["theorem-1", "definition-2"],
        "cate_2-106": ["theorem-3"],
        "cate_2-28": ["theorem-1"],
    }
    prompts = {str(s.id): s.messages[0].text for s in log.samples or []}
    assert "[definition-2] Definition\nNeighbours hold the same" in prompts["cate_2-124"]
    assert "They add" not in "".join(prompts.values())  # a comment gives the answer away
    found = shown(dprivbench_hard(source=str(source), help="retrieval", k=1))
    assert found["cate_2-106"] == ["theorem-3"]
    related = shown(dprivbench_hard(source=str(source), help="related"))
    assert related["cate_2-28"] == ["dp_gd-01"]


def test_official_questions_without_theorems_say_where_they_are(release: Path) -> None:
    file = release / "data" / "category_2" / "cate_2.json"
    with pytest.raises(ValueError, match=r"no theorems of the release.*-T theorems=<folder>"):
        dprivbench_hard(source=str(file))
    assert len(dprivbench_hard(source=str(file), theorems=str(release)).dataset) == 3
    for kind in ("none", "related"):
        assert len(dprivbench_hard(source=str(file), help=kind).dataset) == 3
        with pytest.raises(ValueError, match=rf"theorems=.* got source=.* with help={kind}"):
            dprivbench_hard(source=str(file), help=kind, theorems=str(release))
    with pytest.raises(ValueError, match=r"no theorems of the release.*nowhere"):
        dprivbench_hard(source=str(file), theorems=str(release.parent / "nowhere" / "at all"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"help": "hints"}, "'theorems', 'related', 'retrieval' or 'none'"),
        ({"k": 0}, "greater than or equal to 1"),
        ({"distractors": 2, "help": "related"}, "distractors=2 belongs to help=theorems"),
        ({"distractors": 60}, "but there are 5[0-9] other theorems"),
        ({"embedder": "json:loads"}, "belongs to help=retrieval"),
        ({"k": 3}, "k=3 belongs to help=retrieval, got help=theorems"),
        ({"k": True, "help": "retrieval"}, "k: Input should be a number, got True"),
        ({"k": 62, "help": "retrieval"}, "k=62, but there are 61 theorems to search"),
        ({"theorems": "here"}, "belongs to official questions with help=theorems or help=retr"),
        ({"theorems": ""}, "theorems: is empty; leave it out or give a value"),
        *(({"embedder": name, "help": "retrieval"}, why) for name, why in EMBEDDERS.items()),
        ({"revision": "main"}, "belongs to source=hub"),
    ],
)
def test_other_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dprivbench_hard(**arguments)


def test_a_source_without_hard_questions_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("- {id: a, category: 2, question: $x$, label: 'no', topic: pate}", "utf-8")
    with pytest.raises(ValueError, match="holds none of the official hard questions"):
        dprivbench_hard(source=str(file))


def test_an_embedder_is_named_by_module_and_function() -> None:
    name = "tests.dprivbench_inspect.test_hard_track:first_words"
    found = shown(dprivbench_hard(help="retrieval", embedder=name))["pate-05"]
    assert all("laplace" in LIBRARY.theorems[id_].statement.lower() for id_ in found)


def test_scoring_again_gives_the_same_numbers(mock: Callable[..., Any], tmp_path: Path) -> None:
    task = dprivbench_hard(help="retrieval")
    log = run(task, mock(cites_all).model, tmp_path, epochs=2, limit=5)
    again = score(log, citations(), action="append", display="log")
    first, second = (
        [s for s in again.results.scores if "citations" in s.name] if again.results else []
    )
    assert {n: str(m.value) for n, m in first.metrics.items()} == {
        n: str(m.value) for n, m in second.metrics.items()
    }


def test_the_metric_counts_epochs_of_a_question_as_one_cluster() -> None:
    def reply(cited: list[str] | None, epoch: int) -> Score:
        own = {"shown": cited, "other": []} if cited is not None else None
        return Score(value=0.5, metadata={"epoch": epoch, "citing": 1, "cited": own})

    rows = [[reply(["zcdp"], 1), reply(None, 2)], [reply(["gdp"], 1), reply([], 2)]]
    about = [{"right": ["zcdp", "gdp"], "shown": ["zcdp", "gdp"]}] * 2
    found = run_metrics([citation_rates()], rows, metadata=about)
    assert found["recall of right theorems"] == found["no citation line"] == 0.25
    assert found["recall of right theorems ± over questions"] == 0  # alike in both questions
    assert found["precision of citations"] == 1


def test_each_epoch_sends_its_own_seed(mock: Callable[..., Any], tmp_path: Path) -> None:
    model = mock(config=GenerateConfig(seed=5))
    task = task_with(dprivbench_hard(help="none"), solver=ask_with_help())
    run(task, model.model, tmp_path, limit=1, epochs=3)
    assert sorted(call.config.seed for call in model.asked) == [5, 6, 7]
