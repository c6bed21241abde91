"""`rag eval`: how well the search answers a set of questions, and whether it became worse."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIGURES = {
    "ndcg_5",
    "ndcg_10",
    "mrr",
    "hit_1",
    "hit_3",
    "hit_5",
    "recall_10",
    "latency_ms_p50",
    "queries",
}
QUESTIONS = [
    {"id": "r", "query": "rolling back a deploy", "relevant": ["runbooks/Rollback.md"]},
    {"id": "b", "query": "restore script", "relevant": ["Backups.md"], "category": "ops"},
    {"id": "c", "query": "証明書の更新", "relevant": ["work/証明書.md"], "category": "ops"},
]


@pytest.fixture
def questions(tmp_path: Path) -> Callable[..., Path]:
    """Write a question set: `questions({…}, …)`; without arguments the one of this module."""

    def write(*lines: dict[str, Any], name: str = "questions.jsonl") -> Path:
        file = tmp_path / name
        text = "".join(json.dumps(line) + "\n" for line in lines or QUESTIONS)
        file.write_text(text, "utf-8")
        return file

    return write


class TestFigures:
    def test_a_table_has_a_row_for_each_category_and_one_for_all(self, rag, library, questions):
        ran = rag("eval", questions())
        head, *rows = [line.split() for line in ran.out.splitlines()]
        assert (ran.code, ran.err) == (0, "")
        assert head == [
            *("mode", "lexical", "queries", "nDCG@5", "nDCG@10", "MRR"),
            *("hit@1", "hit@3", "hit@5", "recall@10", "ms", "p50"),
        ]
        assert [row[:-1] for row in rows] == [
            ["ops", "2", *["1.000"] * 7],
            ["all", "3", *["1.000"] * 7],
        ]

    def test_the_table_fits_a_terminal_of_80_columns(self, rag, library, questions):
        assert all(len(line) <= 80 for line in rag("eval", questions()).out.splitlines())

    def test_questions_may_come_from_stdin(self, rag, library, monkeypatch):
        text = json.dumps(QUESTIONS[0]).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert rag("eval", "-", "--json").json["overall"]["queries"] == 1

    def test_no_stdin_is_a_set_without_questions(self, rag, library, monkeypatch):
        monkeypatch.setattr(sys, "stdin", None)
        ran = rag("eval", "-")
        assert ran.code == 2
        assert "stdin holds no questions" in ran.err

    def test_notes_that_are_not_in_the_index_are_misses_and_told(self, rag, library, questions):
        gone = [{"query": "backups", "relevant": [f"gone {n}.md"]} for n in range(4)]
        ran = rag("eval", questions(*gone), "--json")
        assert (ran.code, ran.json["overall"]["recall_10"]) == (0, 0)
        assert ran.err == (
            "4 questions name notes that are not in the index: "
            "1 (gone 0.md), 2 (gone 1.md), 3 (gone 2.md), …\n"
        )

    def test_a_vault_restricts_the_search_and_what_a_bare_path_means(
        self, rag, indexed, write_notes, questions
    ):
        rag("index", "-q", write_notes("home", {"Backups.md": "# Backups\n\nbackups of photos\n"}))
        file = questions({"query": "restore script", "relevant": ["Backups.md"]})
        assert rag("eval", file, "--json", "-v", "work").json["overall"]["hit_1"] == 1
        ran = rag("eval", file, "--json", "-v", "home")
        assert ran.json["overall"]["hit_1"] == 0
        assert ran.err == ""
        assert "not in vault home" in rag("eval", questions(), "-v", "home").err

    def test_notes_of_other_vaults_take_no_rank(self, rag, indexed, write_notes, questions):
        notes = {"Restore script.md": "restore script restore script\n"}
        rag("index", "-q", write_notes("home", notes))
        file = questions({"query": "restore script", "relevant": ["Backups.md"]})
        assert rag("eval", file, "--json").json["overall"]["mrr"] == 0.5
        assert rag("eval", file, "--json", "-v", "work").json["overall"]["mrr"] == 1

    def test_it_says_when_the_index_is_stale_and_quiet_keeps_silent(self, rag, indexed, questions):
        (indexed / "new.md").write_text("new")
        assert "1 note changed since" in rag("eval", questions()).err
        assert rag("eval", questions(), "-q").err == ""

    def test_quiet_still_tells_of_notes_that_are_not_in_the_index(self, rag, library, questions):
        ran = rag("eval", questions({"query": "backups", "relevant": ["gone.md"]}), "-q")
        assert ran.err == "1 question names notes that are not in the index: 1 (gone.md)\n"


class TestModes:
    @pytest.mark.parametrize(("modes", "code"), [("dense", 3), ("lexical,hybrid", 3), ("x", 2)])
    def test_a_mode_that_cannot_be_served_gives_the_code_of_search(
        self, rag, library, questions, modes, code
    ):
        ran = rag("eval", questions(), "--modes", modes)
        assert (ran.code, ran.out) == (code, "")

    @pytest.mark.parametrize("modes", ["", ",", "lexical,"])
    def test_an_empty_mode_is_a_usage_error(self, rag, library, questions, modes):
        assert rag("eval", questions(), "--modes", modes).code == 2

    def test_the_setting_holds_where_no_mode_is_given(self, rag, library, questions, monkeypatch):
        monkeypatch.setenv("RAG_SEARCH__MODE", "dense")
        assert rag("eval", questions()).code == 3


class TestCompare:
    """The index first finds eight notes by their words; then the words are taken away."""

    WORDS = ("alder", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple")

    @pytest.fixture
    def trees(self, rag, write_notes) -> Path:
        notes = {f"of {word[0]}.md": f"about the {word}\n" for word in self.WORDS}
        root = write_notes("trees", notes)
        assert rag("index", "-q", root).code == 0
        return root

    @pytest.fixture
    def asked(self, questions) -> Path:
        return questions(
            *({"id": w, "query": w, "relevant": [f"of {w[0]}.md"]} for w in self.WORDS)
        )

    @pytest.fixture
    def baseline(self, rag, trees, asked, tmp_path) -> Path:
        file = tmp_path / "before.json"
        assert rag("eval", asked, "--save", file).code == 0
        return file

    def spoil(self, rag: Callable[..., Any], trees: Path, count: int) -> None:
        for word in self.WORDS[:count]:
            (trees / f"of {word[0]}.md").write_text("about nothing\n")
        assert rag("index", "-q").code == 0

    def test_a_drop_gives_1_and_says_so_in_words(self, rag, trees, asked, baseline):
        self.spoil(rag, trees, 6)
        ran = rag("eval", asked, "--compare", baseline)
        assert ran.code == 1
        assert "\nWorse than the baseline: nDCG@10 changed by -0.7500 (95 %: " in ran.out
        (row,) = (line.split() for line in ran.out.splitlines() if line.startswith("MRR"))
        assert row[:4] == ["MRR", "1.0000", "0.2500", "-0.7500"]

    def test_a_drop_in_one_question_may_be_chance_and_gives_0(self, rag, trees, asked, baseline):
        self.spoil(rag, trees, 1)
        ran = rag("eval", asked, "--compare", baseline)
        assert ran.code == 0
        assert "\nNot worse than the baseline: nDCG@10 changed by -0.1250" in ran.out
        assert "which may be chance" in ran.out

    def test_a_rise_is_called_better(self, rag, trees, asked, baseline, tmp_path):
        self.spoil(rag, trees, 6)
        rag("eval", asked, "--save", tmp_path / "low.json")
        for word in self.WORDS:
            (trees / f"of {word[0]}.md").write_text(f"about the {word}\n")
        rag("index", "-q")
        ran = rag("eval", asked, "--compare", tmp_path / "low.json")
        assert ran.code == 0
        assert "\nBetter than the baseline: nDCG@10 changed by +0.7500" in ran.out

    def test_nothing_changed_is_the_same(self, rag, trees, asked, baseline):
        ran = rag("eval", asked, "--compare", baseline)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.endswith("The same as the baseline: nDCG@10 did not change.\n")

    def test_questions_of_one_side_alone_are_told_and_left_out(
        self, rag, trees, baseline, questions
    ):
        kept = [{"id": w, "query": w, "relevant": [f"of {w[0]}.md"]} for w in self.WORDS[:6]]
        kept[0]["query"] = "another"
        new = {"id": "new", "query": "maple", "relevant": ["of m.md"]}
        ran = rag("eval", questions(*kept, new), "--compare", baseline)
        assert ran.err.splitlines() == [
            "left out, only in the baseline: 2 questions (larch, maple)",
            "left out, not in the baseline: 1 question (new)",
            "left out, not the same in the baseline: 1 question (alder)",
            "only 5 questions to compare: trust the interval little",
        ]
        assert "5 questions in both" in ran.out

    def test_a_baseline_of_another_mode_is_told(self, rag, trees, asked, baseline):
        text = baseline.read_text().replace('"modes": {"lexical"', '"modes": {"dense"')
        baseline.write_text(text)
        ran = rag("eval", asked, "--compare", baseline)
        assert "mode lexical is compared with mode dense of the baseline" in ran.err

    def test_a_run_can_be_kept_over_the_baseline_it_was_compared_with(
        self, rag, trees, asked, baseline
    ):
        self.spoil(rag, trees, 6)
        assert rag("eval", asked, "--compare", baseline, "--save", baseline).code == 1
        assert rag("eval", asked, "--compare", baseline).code == 0

    def test_a_set_that_shares_no_question_gives_2(self, rag, trees, baseline, questions):
        ran = rag("eval", questions(*QUESTIONS, name="other.jsonl"), "--compare", baseline)
        assert (ran.code, ran.out) == (2, "")
        assert "share no question" in ran.err

    @pytest.mark.parametrize("text", ["no JSON", '{"schema": 1}', '{"schema": 9, "kind": 1}'])
    def test_a_file_of_another_kind_gives_2_as_json_when_asked(self, rag, asked, tmp_path, text):
        (tmp_path / "odd.json").write_text(text)
        ran = rag("eval", asked, "--compare", tmp_path / "odd.json", "--json")
        assert (ran.code, ran.err) == (2, "")
        assert "is no baseline" in ran.json["error"]["message"]
        assert "--save" in ran.json["error"]["hint"]


class TestMistakes:
    def test_a_bad_line_is_named_with_file_line_and_cause(self, rag, library, questions):
        file = questions(QUESTIONS[0], {"query": "x"})
        ran = rag("eval", file)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            f"rag: {file}, line 2: 'relevant' is missing\n"
            'One object a line: {"query": "rolling back", "relevant": ["folder/note.md"]}\n'
        )

    @pytest.mark.parametrize(
        ("query", "message", "hint"),
        [
            ("x" * 4001, "the query has 4,001 characters, more than 4,000", "fewer words"),
            ("backups vault:wrok", "no vault named 'wrok'", "work"),
        ],
    )
    def test_a_question_that_is_refused_is_named(
        self, rag, library, questions, query, message, hint
    ):
        file = questions(QUESTIONS[0], {"id": "odd", "query": query, "relevant": ["Backups.md"]})
        ran = rag("eval", file)
        assert (ran.code, ran.out) == (2, "")
        said, advice = ran.err.splitlines()
        assert said.startswith(f"rag: question odd: {message}")
        assert hint in advice

    def test_a_place_that_cannot_be_written_gives_2_before_anything_is_asked(
        self, rag, library, questions, tmp_path
    ):
        ran = rag("eval", questions(), "--save", tmp_path / "none" / "run.json")
        assert (ran.code, ran.out) == (2, "")
        assert "its folder does not exist" in ran.err
