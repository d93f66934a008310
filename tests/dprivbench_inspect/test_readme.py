"""The README says what is so."""

import json
import re
from collections import Counter
from pathlib import Path

from dprivbench_inspect import tasks
from dprivbench_inspect.dataset import load_questions
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.report_tables import PAPER_RESULTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_file_it_names_is_there() -> None:
    named = set(re.findall(r"`((?:tasks|dprivbench_inspect)/[\w/.]+)`", README))
    named -= {name for name in named if Path(name).name in {"dprivbench_cat1", "verdict"}}
    named -= {"dprivbench_inspect/paper_verdict"}
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]
    reading_list = README.split("### Read the code")[1].split("## ContextLeak")[0]
    files = re.findall(r"`(\w+\.py|certificates/)`", reading_list)
    assert not [file for file in files if not (ROOT / "dprivbench_inspect" / file).exists()]


def test_every_argument_of_the_tasks_is_named() -> None:
    arguments = set(re.findall(r"-T (\w+)=", README))
    known = set(tasks.Category1.model_fields) | set(tasks.Category2.model_fields)
    known |= set(tasks.Hard.model_fields)
    assert known <= arguments  # inspect-evals-lint sees to the other direction


def test_the_table_of_error_patterns_is_that_of_the_data() -> None:
    questions = load_questions(2).questions
    false = [q for q in questions if q.label == "no"]
    kinds = ("algorithm", "assumption", "conclusion")
    count = Counter((q.error_pattern, q.perturbation) for q in false)
    rows = [[count[pattern, kind] for kind in kinds] for pattern in sorted({p for p, _ in count})]
    rows.append([sum(column) for column in zip(*rows, strict=True)])
    printed = re.findall(r"^\|[^|]+\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", README, re.MULTILINE)
    assert [[int(n) for n in row] for row in printed] == [[*row, sum(row)] for row in rows]
    assert f"Each of the {len(questions)} bundled questions" in README
    assert f"{len(questions) - len(false)} are true" in README


def test_rows_of_the_paper_are_as_printed() -> None:
    paper = json.loads(PAPER_RESULTS.read_text(encoding="utf-8"))["category_1_accuracy"]["models"]
    for model in ("GPT-5-High", "Claude-Sonnet-4.5"):
        row = [paper[model][mechanism][0] for mechanism in MECHANISMS] + [paper[model]["average"]]
        cells = [f"{value:.3f}".removeprefix("0") for value in row]
        assert f"| {model} (paper) | {' | '.join(cells)} |" in README
    ranked = sorted(paper, key=lambda model: float(paper[model]["average"]))
    assert (ranked[-1], ranked[len(ranked) // 2]) == ("GPT-5-High", "Claude-Sonnet-4.5")
