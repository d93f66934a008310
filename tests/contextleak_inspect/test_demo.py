import pytest
from click.testing import CliRunner

from contextleak_inspect import demo
from contextleak_inspect.cli import main
from tests.conftest import require_weights


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    step = demo.OFFLINE[0]
    monkeypatch.setattr(demo, "OFFLINE", [step._replace(arguments=step.arguments | {"trials": 8})])
    monkeypatch.setitem(demo.SHORT, "trials", 2)
    monkeypatch.setitem(demo.SHORT, "n_exemplars", 2)


def run(tmp_path, model):
    return CliRunner().invoke(main, ["demo", "--model", model, "--log-dir", str(tmp_path)])


def test_without_a_real_model_it_says_why_and_shows_the_simulated_one(tmp_path):
    result = run(tmp_path, "gguf/nil")
    assert result.exit_code == 0, result.output
    assert "Without a real model: no small model 'nil' is known" in result.output
    assert "1/1 noisy votes with contextleak/simulated\n  8 trials in" in result.output
    assert "[1]  rnm" in result.output
    assert f"contextleak report {tmp_path}" in result.output


@pytest.mark.local_model
def test_a_real_model_is_audited_with_and_without_a_defense(tmp_path):
    require_weights("smollm2-135m")
    result = run(tmp_path, "gguf/smollm2-135m")
    assert result.exit_code == 0, result.output
    assert "4/4 faux secrets, completion with gguf/smollm2-135m\n  2 trials" in result.output
    assert "[3]  none          begun_completion  log-prob" in result.output
    assert "[4]  faux_secrets  begun_completion  log-prob" in result.output


def test_ctrl_c_prints_what_is_finished(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "OFFLINE", demo.OFFLINE * 2)
    runs = iter([demo.run, lambda *_, **__: []])
    monkeypatch.setattr(demo, "run", lambda *args, **options: next(runs)(*args, **options))
    result = run(tmp_path, "gguf/nil")
    assert result.exit_code == 130
    assert "2/2 noisy votes with contextleak/simulated\n  stopped" in result.output
    assert "[1]  rnm" in result.output
