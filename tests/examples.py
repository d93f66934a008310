"""The example logs, and the tables and pictures of README.md that are made from them.

python -m tests.examples figures         # README.md and logs/examples/figures, from logs/examples
python -m tests.examples logs FOLDER     # ask again: some minutes, with a small real model
"""

import re
import sys
from pathlib import Path
from typing import Any

from contextleak_inspect import report as contextleak
from contextleak_inspect.report_formats import as_markdown as contextleak_markdown
from dprivbench_inspect import report as dprivbench
from dprivbench_inspect.report_formats import as_markdown as dprivbench_markdown

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "logs" / "examples"
README = ROOT / "README.md"
# Tables of README.md by the name in their marks: the report, the title there, the columns to keep.
TABLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "dprivbench runs": (
        "dprivbench",
        "Runs",
        ("model", "task", "questions", "epochs", "planned", "done", "scored", "no verdict"),
    ),
    "dprivbench category 1": ("dprivbench", "DPrivBench Category 1: accuracy", ()),
    "contextleak bounds": (
        "contextleak",
        "Bounds on ε of each audit",
        ("audit", "seen", "claimed ε", "n in", "n out", "ε ≥", "its ceiling", "ε possible"),
    ),
}
PICTURES = {
    "dprivbench": ("category_1_mechanisms",),
    "contextleak": ("accuracy_by_claimed_epsilon",),
}


FORMS: dict[str, Any] = {"dprivbench": dprivbench_markdown, "contextleak": contextleak_markdown}


def reports() -> dict[str, Any]:
    """Both packages' reports of the example logs."""
    logs = EXAMPLES / "shared" / "logs"
    return {
        "dprivbench": dprivbench.make_report([str(logs / "*dprivbench*")], pictures=True),
        "contextleak": contextleak.make_report([str(logs / "*contextleak*")], draw=True),
    }


def readme_with_tables(text: str, made: dict[str, Any]) -> str:
    """README.md with every marked table made anew from the example logs.

    Raises:
        ValueError: A mark names no table, or a report lacks one.
    """

    def table(match: re.Match[str]) -> str:
        name = match[1]
        if name not in TABLES:
            raise ValueError(f"README.md marks a table {name!r}; choose from {sorted(TABLES)}")
        package, title, columns = TABLES[name]
        [found] = [t for t in made[package].tables if t.title == title]
        keep = [found.columns.index(column) for column in columns or found.columns]
        cut = found._replace(
            columns=[found.columns[k] for k in keep],
            rows=[
                [row[k] for k in keep] for row in found.rows if not str(row[0]).endswith("(paper)")
            ],
            notes=[],
        )
        _, lines = FORMS[package](cut).split("\n\n", 1)  # without its heading
        return f"<!-- table: {name} -->\n{lines.strip()}\n<!-- end -->"

    return re.sub(r"<!-- table: (.+?) -->.*?<!-- end -->", table, text, flags=re.DOTALL)


def pictures(made: dict[str, Any]) -> dict[str, bytes]:
    """SVG files of README.md by name."""
    return {
        f"{package}_{picture.name}.svg": picture.image("svg")
        for package, names in PICTURES.items()
        for picture in made[package].pictures
        if picture.name in names
    }


def write_figures() -> None:
    """README.md and logs/examples/figures."""
    made = reports()
    README.write_text(readme_with_tables(README.read_text("utf-8"), made), encoding="utf-8")
    folder = EXAMPLES / "figures"
    folder.mkdir(exist_ok=True)
    for name, image in pictures(made).items():
        (folder / name).write_bytes(image)
        print(folder / name)


def run_examples(folder: str) -> None:
    """Ask everything that the example logs hold; then `contextleak share FOLDER --out …`."""
    from inspect_ai import eval

    from contextleak_inspect.tasks import contextleak_classification as audit
    from dprivbench_inspect.tasks import dprivbench_cat1, dprivbench_cat2

    real = "gguf/smollm2-135m"
    held: dict[str, Any] = {"grammar": "yes_no"}
    short: dict[str, Any] = {"max_tokens": 256, "temperature": 0.0}
    few = {"functions": [1, 2, 3, 4, 5]}
    repeat = {
        "trials": 40,
        "balanced": True,
        "n_exemplars": 10,
        "null_controls": 0,
        "seed": 3,
        "query": "begun_completion",
        "membership": "logprob",
    }
    simulated = {"hit": 0.95, "false_vote": 0.02}
    steps: list[tuple[Any, str, dict[str, Any], dict[str, Any]]] = [
        (dprivbench_cat1(**few), "dprivbench/always-yes", {}, {}),
        (dprivbench_cat1(**few), "dprivbench/symbolic", {}, {}),
        (dprivbench_cat1(**few), real, held, short),
        (dprivbench_cat2(topics="svt,ptr,pate"), "dprivbench/always-no", {}, {}),
        (dprivbench_cat2(topics="svt,ptr,pate"), real, held, short),
        (audit(epsilon="1,2,4,8,inf"), "contextleak/simulated", simulated, {}),
        (audit(defense="label_rr", epsilon="1,2,4,8,inf"), "contextleak/simulated", simulated, {}),
        (audit(defense="none"), "contextleak/simulated", simulated, {}),
        (audit(defense="none", **repeat), real, {}, {"max_tokens": 32, "max_connections": 1}),
    ]
    for number, (task, model, arguments, options) in enumerate(steps, start=1):
        print(f"{number}/{len(steps)} {model}", flush=True)
        eval(task, model=model, model_args=arguments, log_dir=folder, display="none", **options)


if __name__ == "__main__":
    if sys.argv[1:] == ["figures"]:
        write_figures()
    elif len(sys.argv) == 3 and sys.argv[1] == "logs":
        run_examples(sys.argv[2])
    else:
        sys.exit(__doc__)
