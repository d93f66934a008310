"""The README's reading list is the layout: it names every file, and imports only go upwards."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGES = ("dprivbench_inspect", "contextleak_inspect")
SHELL_FROM = "With Inspect:"  # where the part begins that may import inspect_ai


def reading_list(package: str) -> list[str]:
    """File names of one package in reading order; the files that may use Inspect follow None."""
    text = README.split(f"`{package}/`, from top to bottom")[1].split("\n## ")[0]
    return re.findall(r"`(\w+)\.py`", text)


def core(package: str) -> list[str]:
    text = README.split(f"`{package}/`, from top to bottom")[1].split(SHELL_FROM)[0]
    return re.findall(r"`(\w+)\.py`", text)


def imports(file: Path) -> set[str]:
    """Full names of what a file imports, at its head or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def files(package: str) -> set[str]:
    return {file.stem for file in (ROOT / package).glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reading_list_names_every_file_once(package: str) -> None:
    listed = reading_list(package)
    assert len(listed) == len(set(listed))
    assert set(listed) == files(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_file_imports_only_from_files_above_it(package: str) -> None:
    above: set[str] = set()
    wrong = []
    for name in reading_list(package):
        used = {
            parts[1]
            for parts in (i.split(".") for i in imports(ROOT / package / f"{name}.py"))
            if parts[0] == package and len(parts) > 1 and parts[1] in files(package)
        }
        wrong += [f"{name} imports {other}" for other in sorted(used - above)]
        above.add(name)
    assert not wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_the_core_works_without_inspect_and_packages_without_each_other(package: str) -> None:
    (other,) = set(PACKAGES) - {package}
    wrong = [
        f"{name} imports {used}"
        for name in sorted(files(package))
        for used in sorted(imports(ROOT / package / f"{name}.py"))
        if used.split(".")[0] == other
        or (used.split(".")[0] == "inspect_ai" and name in core(package))
    ]
    assert not wrong
