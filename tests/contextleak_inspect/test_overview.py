from contextleak_inspect.audit_row import audited_rows
from contextleak_inspect.bounds import rounded_down
from contextleak_inspect.overview import Audited, overview
from tests.contextleak_inspect.audits import drawn_run


def audited(**fields) -> Audited:
    run = drawn_run(1, null_controls=0, **fields)
    return Audited("a/model", run.config, audited_rows(run))


def cells(text: str, number: int) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.startswith(f"[{number}]")]


def test_a_line_for_every_level_and_claimed_epsilon_with_the_audits_own_numbers():
    noisy, plain = audited(epsilon="1,inf", trials=60), audited(defense="none", trials=60)
    text = overview([noisy, plain])
    assert len(cells(text, 1)) == 4
    [line] = cells(text, 2)
    [row] = plain.rows
    assert row.accuracy is not None
    assert row.bound is not None
    assert row.e_process is not None
    low, high = row.accuracy.balanced_interval
    assert line[1:] == [
        *("none", "if_then_explicit", "reply", "-"),
        *(f"{row.n_in}+{row.n_out}", "1.00", f"{low:.2f}-{high:.2f}", "1.00"),
        *map(rounded_down, (row.bound.value, row.bound.ceiling, row.e_process.value)),
    ]


def test_frozen_answers_have_an_exact_value_and_no_interval():
    [line, _] = cells(overview([audited(epsilon="1", calls="frozen", temperature=0)]), 1)
    assert line[-6:] == ["-", "-", "-", "1.00", "-", "-"]


def test_audits_of_different_confidence_are_named():
    text = overview([audited(trials=20), audited(trials=20, confidence=0.9)])
    assert "with probability 90% or 95%" in text


def test_the_table_fits_a_terminal_and_names_each_model_below(tmp_path):
    query = tmp_path / "a_query_with_a_long_name.yaml"
    wide = audited(defense="output_filter", query=str(query), trials=20)
    other = audited(defense="none", membership="logprob", trials=20)._replace(model="b" * 60)
    text = overview([wide, other, wide])
    assert max(map(len, text.splitlines())) <= 130
    assert "a/model: [1] [3]" in text.splitlines()
    assert f"{'b' * 60}: [2]" in text.splitlines()
    assert "…" in cells(text, 1)[0][2]
