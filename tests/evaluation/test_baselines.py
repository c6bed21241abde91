"""Files of runs: what is written is what is read, and anything else is refused with its cause."""

import json
from pathlib import Path

import pytest

from rag.evaluation.comparison import check_writable, choose_run, load_runs, save_runs
from rag.evaluation.run import METRICS, Outcome, Question, Run
from rag.exceptions import UsageError
from tables import rows

QUESTION = Question("七", "更新", ("a.md",), ("b.md",), "ops")
RUN = Run("lexical", [Outcome(QUESTION, ["work/a.md"], dict.fromkeys(METRICS, 1 / 3), 1.25)])


@pytest.fixture
def saved(tmp_path) -> Path:
    file = tmp_path / "run.json"
    save_runs(file, [RUN])
    return file


def test_what_was_saved_is_read_to_the_last_digit(saved):
    assert load_runs(saved) == {"lexical": RUN}


def test_the_file_says_how_each_question_went(saved):
    run = json.loads(saved.read_text("utf-8"))["modes"]["lexical"]
    assert run["overall"]["queries"] == run["categories"]["ops"]["queries"] == 1
    assert run["questions"][0]["ranked"] == ["work/a.md"]
    assert run["questions"][0]["metrics"]["mrr"] == 1 / 3


@rows(
    "text, cause",
    ("", "not JSON"),
    ("[" * 100_000, "not JSON"),
    ("[]", "it must be an object"),
    ('{"schema": 2, "kind": "rag eval", "modes": {}}', "schema must be 1"),
    ('{"schema": 1, "kind": "rag eval"}', "modes is missing"),
    (
        '{"schema": 1, "kind": "rag eval", "modes": {"lexical": {"questions": [1]}}}',
        "modes.lexical.questions.0",
    ),
)
def test_a_file_of_another_kind_is_refused_with_its_cause(tmp_path, text, cause):
    (tmp_path / "run.json").write_text(text, "latin-1")
    with pytest.raises(UsageError, match=r"run\.json") as caught:
        load_runs(tmp_path / "run.json")
    assert cause in str(caught.value)
    assert "--save" in caught.value.hint


def test_a_run_is_compared_with_that_of_the_same_mode():
    dense = Run("dense")
    assert choose_run({"lexical": RUN, "dense": dense}, "dense") is dense


def test_a_baseline_of_several_other_modes_is_refused():
    with pytest.raises(UsageError, match=r"no run of mode hybrid \(it has: lexical, dense\)"):
        choose_run({"lexical": RUN, "dense": Run("dense")}, "hybrid")


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    for place in (tmp_path, tmp_path / "none" / "run.json"):
        with pytest.raises(UsageError, match="cannot write"):
            check_writable(place)
        with pytest.raises(UsageError, match="cannot write"):
            save_runs(place, [RUN])
