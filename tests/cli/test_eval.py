"""`rag eval`: how well the search answers a set of questions, and whether it became worse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

QUESTIONS = [
    {"id": "r", "query": "rolling back a deploy", "relevant": ["runbooks/Rollback.md"]},
    {"id": "b", "query": "restore script", "relevant": ["Backups.md"], "category": "ops"},
    {"id": "c", "query": "証明書の更新", "relevant": ["work/証明書.md"], "category": "ops"},
]


@pytest.fixture
def questions(tmp_path) -> Callable[..., Path]:
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

    def test_questions_of_one_side_alone_are_told_and_left_out(
        self, rag, trees, baseline, questions
    ):
        kept = [{"id": w, "query": w, "relevant": [f"of {w[0]}.md"]} for w in self.WORDS[:6]]
        kept[0]["query"] = "another"
        new = {"id": "new", "query": "maple", "relevant": ["of m.md"]}
        ran = rag("eval", questions(*kept, new), "--compare", baseline)
        assert ran.err.splitlines() == [
            "left out, not the same in the baseline: 4 questions (alder, larch, maple, …)",
            "only 5 questions to compare: trust the interval little",
        ]
        assert "5 questions in both" in ran.out
