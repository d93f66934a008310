"""The settings under tasks/small_model are ones that the tasks take."""

import pathlib
import runpy

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[1]
FILES = sorted((ROOT / "tasks" / "small_model").glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_file_makes_a_task_for_the_pinned_model(file: pathlib.Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert f"inspect eval --run-config tasks/small_model/{file.name}" in text
    settings = yaml.safe_load(text)
    path, name = settings["task"]["task"].split("@")
    assert runpy.run_path(str(ROOT / path))[name](**settings["task"].get("args", {})).dataset
    assert settings["model"]["model"] == "gguf/smollm2-135m"
