import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner

from contextleak_inspect.cli import main
from contextleak_inspect.weights import installed_weights
from tests.conftest import require_weights


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_plan_prints_trials_and_calls_and_draws_them(tmp_path):
    result = run(
        "plan", "--epsilon", "1", "--claimed", "4,inf", "--plot", str(tmp_path / "plan.svg")
    )
    assert result.exit_code == 0, result.output
    assert "e_process, noise integrated" in result.output
    assert "<svg" in (tmp_path / "plan.svg").read_text(encoding="utf-8")


def test_plan_for_a_heuristic_defense_has_no_claimed_epsilon():
    result = run("plan", "--epsilon", "1", "--defense", "keywords", "--misses", "0.3")
    assert result.exit_code == 0, result.output
    assert "one prompt" in result.output
    assert "paired" in result.output


def test_plan_for_randomized_labels_is_pure():
    result = run("plan", "--epsilon", "1", "--defense", "label_rr", "--claimed", "2")
    assert "δ = 0" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "-1"], "the ε to show must be positive and finite, got -1.0"),
        (["--epsilon", "1", "--claimed", "4,x"], "'4,x' is no list of numbers such as 1,4,inf"),
        (["--epsilon", "1", "--claimed", "-4"], "epsilon must be at least 0, got -4.0"),
        (["--epsilon", "1", "--false-votes", "2"], "false_votes must lie in [0, 1], got 2.0"),
        (["--epsilon", "1", "--ensemble", "0"], "m must be at least 1 shard, got 0"),
        (["--epsilon", "1", "--delta", "0"], "delta must be in (0, 1), got 0.0"),
        (["--epsilon", "9", "--claimed", "1", "--plot", "p.svg"], "there is nothing to draw"),
        (["--epsilon", "1", "--defense", "none", "--plot", "no/p.svg"], "No such file"),
        ([], "Missing option '--epsilon'"),
    ],
)
def test_plan_says_what_is_wrong(arguments, message):
    result = run("plan", *arguments)
    assert result.exit_code != 0
    assert message in result.output


def test_help_teaches():
    result = run("plan", "--help")
    assert "contextleak plan --epsilon 2 --defense rnm" in result.output
    assert "out of reach" in result.output


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"PK", "is not a GGUF file"), (b"GGUF", "holds no chat template")],
)
def test_serve_says_in_a_line_what_is_wrong_with_a_file(tmp_path, content, message):
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    result = run("serve", str(file))
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert message in result.output


def test_serve_says_that_a_port_is_taken_or_a_file_missing(tmp_path):
    file = tmp_path / "model.gguf"
    key = b"tokenizer.chat_template"
    file.write_bytes(b"GGUF" + len(key).to_bytes(8, "little") + key)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("serve", str(file), "--port", str(port))
    assert result.exit_code == 1
    assert f"Error: port {port} is taken" in result.output
    assert "does not exist" in run("serve", str(tmp_path / "none.gguf")).output


@pytest.mark.parametrize(
    "option", [("--port", "70000"), ("--threads", "0"), ("--context", "-1")], ids=lambda o: o[0]
)
def test_serve_refuses_numbers_that_nothing_could_serve(option, tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    result = run("serve", str(tmp_path / "model.gguf"), *option)
    assert f"Invalid value for '{option[0]}'" in result.output


@pytest.mark.local_model
def test_serve_answers_on_loopback_until_ctrl_c(request):
    require_weights("smollm2-135m")
    # Tests started in the background of a script ignore Ctrl-C, and so would the server.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    command = [sys.executable, "-m", "contextleak_inspect.cli", "serve"]
    file = str(installed_weights("smollm2-135m"))
    served = subprocess.Popen([*command, file], stdout=subprocess.PIPE, text=True)
    request.addfinalizer(served.kill)
    assert served.stdout
    line = served.stdout.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert address, line
    with urllib.request.urlopen(f"{address.group()}/v1/models", timeout=120) as reply:
        assert reply.status == 200
    served.send_signal(signal.SIGINT)
    rest, _ = served.communicate(timeout=120)
    assert rest.rstrip().endswith("stopped")
    assert served.returncode == 0


def test_help_names_every_command_in_a_whole_line_and_keeps_the_examples_apart():
    listed = run("--help").output.split("Commands:")[1].splitlines()[1:]
    assert len(listed) == len(main.commands)
    assert not [line for line in listed if line.endswith("...")]
    for name in main.commands:
        assert "\\b" not in run(name, "--help").output
    assert "\n  contextleak report logs --format csv\n" in run("report", "--help").output


def test_a_plan_for_perfect_answers_says_that_the_gaussian_row_is_a_bound_only_then():
    given = ("plan", "--epsilon", "2", "--claimed", "8")
    assert "gaussian: a bound only if answers never vary" in run(*given).output
    erring = run(*given, "--misses", "0.05").output
    assert "gaussian: a bound only if" not in erring
    assert "*: no bound, since answers vary" in erring
