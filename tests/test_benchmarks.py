"""The benchmarks: their vaults are the same every time, and their measures and verdicts right."""

import re
import sys
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from hostile_replies import judge, paraphrases, rates
from hostile_replies import read as read_replies
from peer_report import page
from right_first import AIMS, LANGUAGES, ODD_NOTES, SHARED, Answer, Query, ask, read_set


def fold(text: str) -> str:
    """Fold case and width."""
    return normalize("NFKC", text).casefold()


def results(**programs: dict[str, Any]) -> dict[str, Any]:
    """Return results of 10,000 notes."""
    size = {
        "megabytes": 43.0,
        "limit": 400,
        "rounds": 2,
        "missing": {"qmd": "not there"},
        "programs": programs,
    }
    return {
        "machine": {"system": "Linux", "cores": 2, "memory_gib": 24, "python": "3.11.7"},
        "versions": dict.fromkeys(programs, "1.0"),
        "reads": {name: ["en", "ja"] for name in programs},
        "queries": 20,
        "warm_rounds": 5,
        "indexing": 30,
        "sizes": {"10000": size},
    }


def test_what_is_left_out_is_named_with_its_reason():
    text = page(
        results(
            rag={"index": {"wall": 1.0, "cpu": 2.0, "peak": 5e7, "runs": 2}},
            tantivy={"given_up": {"index": "over 400 s"}},
        )
    )

    assert "**qmd** was left out: not there." in text
    assert "| **rag** | 1.00/2.00 s |" in text
    assert "– tantivy at 10,000 notes: over 400 s." in text


# -- the sets of right_first.py ----------------------------------------------------------

SETS = {name: read_set(name) for name in AIMS}
QUERIES = [query for queries in SETS.values() for query in queries]
GRAMMAR = {"how", "to", "a", "what", "is", "the", "and", "where"}


@pytest.fixture(params=LANGUAGES)
def language_and_notes(request) -> tuple[str, dict[str, str]]:
    """A language, and the notes of its help vault and of odd-notes, by vault/path."""
    vault = SHARED / f"obsidian-help-{request.param}"
    if not vault.is_dir():
        pytest.skip(f"the vault {vault.name} is not in ../shared/data/vaults")
    return request.param, {
        f"{folder.name}/{file.relative_to(folder)}": file.read_text("utf-8")
        for folder in (vault, ODD_NOTES)
        for file in folder.rglob("*.md")
    }


def test_judged_notes_exist_in_the_help_vaults(language_and_notes):
    language, notes = language_and_notes
    for query in QUERIES:
        if query.language == language:
            assert {*query.relevant, *query.partial} <= notes.keys(), query.id


def test_no_note_holds_a_word_of_an_absent_query(language_and_notes):
    language, notes = language_and_notes
    text = fold("\n".join(f"{path}\n{content}" for path, content in notes.items()))
    apart = language not in ("ja", "zh")
    held = set(re.findall(r"\w+", text))
    for query in SETS["absent"]:
        if query.language == language:
            words = set(re.findall(r"\w+", fold(query.query))) - GRAMMAR
            assert not [word for word in words if (word in held if apart else word in text)]


def test_a_query_is_right_when_a_relevant_note_is_first_and_an_absent_one_when_none_is():
    query = Query("q", "gear", "en", relevant=("v/a.md", "v/b.md"))
    nothing = Query("n", "numbat", "en")

    assert Answer("expert-queries", query, ("v/b.md", "v/c.md")).right
    assert not Answer("expert-queries", query, ("v/c.md", "v/b.md")).right
    assert Answer("expert-queries", query, ("v/c.md", "v/b.md")).rank == 2
    assert not Answer("expert-queries", query, ()).right
    assert Answer("absent", nothing, ()).right
    assert not Answer("absent", nothing, ("v/a.md",)).right


def test_the_queries_of_a_language_are_asked_of_an_index_of_their_own(tmp_path):
    help_vault = tmp_path / "obsidian-help-de"
    help_vault.mkdir()
    (help_vault / "Schnellauswahl.md").write_text("Öffnet Notizen.", "utf-8")

    answers = {answer.query.query: answer for answer in ask("de", [help_vault, ODD_NOTES])}

    assert len(answers) == sum(query.language == "de" for query in QUERIES)
    assert answers["Schnellauswahl"].found == ("obsidian-help-de/Schnellauswahl.md",)
    assert answers["Kündigungsfrist Wohnung"].right
    assert not answers["Lesezeichen-Gruppen"].right


class TestHostileReplies:
    """Scripted replies of a model with labels, and what the checker makes of them."""

    REPLIES = read_replies()

    def test_are_judged_well_enough_on_a_fixed_sample(self):
        """Two of each hostile kind and language, and twelve that are true: sixty."""
        sample = [
            reply
            for reply in self.REPLIES
            if int(reply["id"][-2:]) <= (12 if reply["kind"] == "true" else 2)
        ]
        assert len(sample) == 60
        judged = [sentence for reply in sample for sentence in judge(reply)]
        assert rates(judged).pass_rate <= 0.03
        assert rates(judged).strike_rate <= 0.05
        assert not rates(s for s in judged if s.kind == "planted").passed


def test_words_verify_no_false_paraphrase_of_notes_in_its_language_and_true_ones_of_another():
    verified = {
        (group, label): sum(s.verified for s in said if s.true == label)
        for group, said in paraphrases().items()
        for label in (True, False)
    }
    assert verified["en of en notes", False] == 0
    assert verified["ja of ja notes", False] <= 1
    assert min(verified["en of ja notes", True], verified["ja of en notes", True]) >= 18
