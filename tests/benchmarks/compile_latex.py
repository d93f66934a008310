"""Do the bundled questions compile? Runs a real LaTeX on each question and names those that fail.

python tests/benchmarks/compile_latex.py            (needs pdflatex; not part of CI)
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from dprivbench_inspect.generate import CATEGORY_1
from dprivbench_inspect.questions import read_questions

DATA = CATEGORY_1.parent
PREAMBLE = r"""\documentclass{article}
\usepackage{amsmath,amssymb}
\begin{document}
"""
MATH = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)


def texts() -> dict[str, str]:
    """Every bundled text that a model may read, by id."""
    questions = read_questions(CATEGORY_1)
    for file in sorted((DATA / "category_2").glob("*.yaml")):
        questions += read_questions(file)
    found = {question.id: question.question for question in questions}
    for file in sorted((DATA / "paraphrases").glob("*.yaml")):
        records = yaml.safe_load(file.read_text(encoding="utf-8"))
        found |= {f"{r['id']} (paraphrase)": r["question"] for r in records if "id" in r}
    return found


def errors_of(all_texts: dict[str, str]) -> list[str]:
    """One line for each text whose formulas LaTeX refuses; a run each only where one run fails."""
    pages = []
    for name, text in all_texts.items():
        formulas = "\n\n".join(MATH.findall(text))
        pages.append(rf"\typeout{{TEXT {name}}}" + "\n" + formulas + "\n\\clearpage\n")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "all.tex")
        source.write_text(PREAMBLE + "".join(pages) + "\\end{document}\n", encoding="utf-8")
        run = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", source.name],
            cwd=folder,
            capture_output=True,
            text=True,
            encoding="latin-1",
            check=False,
        )
    failures, current = [], ""
    for line in run.stdout.splitlines():
        if line.startswith("TEXT "):
            current = line.removeprefix("TEXT ")
        elif line.startswith("!"):
            failures.append(f"{current}: {line.removeprefix('! ')}")
    return failures


def main() -> int:
    """Print failures; exit code 1 where there is one."""
    if shutil.which("pdflatex") is None:
        print("pdflatex is not on this machine; install a TeX distribution")
        return 2
    all_texts = texts()
    failures = errors_of(all_texts)
    print("\n".join(failures) or f"{len(all_texts)} texts compile")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
