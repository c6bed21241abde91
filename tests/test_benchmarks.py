"""The benchmarks: their vaults are the same every time, and their measures and verdicts right."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from hostile_replies import judge, rates
from hostile_replies import read as read_replies
from measuring import TooLong, measure
from peer_plots import _GAP, _apart
from peer_report import page
from reply_meaning import auc, paraphrases
from right_first import AIMS, LANGUAGES, ODD_NOTES, SHARED, Answer, Query, ask, read_set
from search_cost import steps, table
from single_words import COUNTS, choose, fold, read
from vaults import make_vault, note_path, title_query
from verdicts import verdicts


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


def search(wall: float, p95: float) -> dict[str, Any]:
    return {"search": {"wall": wall, "p95": p95, "runs": 20}}


def run(tmp_path: Path, code: str, limit: float = 30, watch: bool = False):
    return measure([sys.executable, "-c", code], dict(os.environ), tmp_path, limit, watch)


def contents(vault: Path) -> dict[Path, str]:
    return {note.relative_to(vault): note.read_text("utf-8") for note in vault.rglob("*.md")}


def test_a_smaller_vault_is_the_beginning_of_a_larger_one(tmp_path: Path):
    make_vault(tmp_path / "small", 20, 0.02)
    make_vault(tmp_path / "large", 120, 0.12)

    small, large = contents(tmp_path / "small"), contents(tmp_path / "large")
    assert len(small) == 20 and len(large) == 120
    assert small.items() <= large.items()


def test_the_query_for_a_note_is_in_it(tmp_path: Path):
    make_vault(tmp_path, 4, 0.01)

    for number in range(4):
        assert title_query(number) in (tmp_path / note_path(number)).read_text("utf-8").lower()


def test_seconds_of_the_processor_count_children(tmp_path: Path):
    busy = "import time\nwhile time.process_time() < .3: pass"
    done = run(
        tmp_path, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    )

    assert done.code == 0
    assert done.cpu >= 0.3


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
def test_memory_is_that_of_all_processes_together(tmp_path: Path):
    hold = "import time; held = b'x' * 60_000_000; time.sleep(.6)"
    both = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {hold!r}]); {hold}"

    assert run(tmp_path, both, watch=True).peak >= 120_000_000


def test_a_process_is_stopped_at_its_limit(tmp_path: Path):
    with pytest.raises(TooLong):
        run(tmp_path, "import time; time.sleep(60)", limit=0.2)


def test_a_ratio_is_held_against_what_was_demanded():
    found = verdicts(
        results(
            **{
                "rag": search(0.5, 0.6) | {"index": {"cpu": 12.0, "peak": 400e6}},
                "rag, warm": search(0.06, 0.13),
                "qmd": search(0.2, 0.3) | {"index": {"cpu": 24.0}},
            }
        )["sizes"]
    )

    by_demand = {verdict.demanded: verdict for verdict in found}
    assert [verdict.met for verdict in found[:4]] == [True, False, False, True]
    assert found[0].measured == "0.30 (0.06 s ÷ 0.2 s)"
    assert found[1].measured == "0.5 s"
    peak = by_demand["Peak memory of the first index at most 700 MB"]
    assert (peak.met, peak.measured) == (True, "400 MB")
    disk = by_demand["Disk at most 1.5 of qmd's"]
    assert (disk.met, disk.measured) == (None, "there is no figure of rag at 10,000 notes")


def test_what_is_left_out_is_named_with_its_reason():
    text = page(
        results(
            rag={"index": {"wall": 1.0, "cpu": 2.0, "peak": 5e7, "runs": 2}},
            tantivy={"given_up": {"index": "over 400 s"}},
        )
    )

    assert "**qmd** was left out: not there." in text
    assert "| **rag** | 1.00 s / 2.00 s |" in text
    assert "– tantivy at 10,000 notes: over 400 s." in text


@given(st.lists(st.floats(0, 1), max_size=12).map(sorted))
def test_names_of_lines_do_not_meet(heights: list[float]):
    moved = _apart(heights)

    assert len(moved) == len(heights)
    assert all(b - a >= _GAP * 0.999 for a, b in pairwise(moved))
    assert all(-0.001 <= height <= 1.001 for height in moved)


# -- the sets of right_first.py ----------------------------------------------------------

SETS = {name: read_set(name) for name in AIMS}
QUERIES = [query for queries in SETS.values() for query in queries]
GRAMMAR = {"how", "to", "a", "what", "is", "the", "and", "where"}


@pytest.fixture(params=LANGUAGES)
def language_and_notes(request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """A language, and the notes of its help vault and of odd-notes, by vault/path."""
    vault = SHARED / f"obsidian-help-{request.param}"
    if not vault.is_dir():
        pytest.skip(f"the vault {vault.name} is not in ../shared/data/vaults")
    return request.param, read(vault) | read(ODD_NOTES)


def test_the_sets_have_150_queries_80_words_and_60_that_are_absent():
    assert {name: len(queries) for name, queries in SETS.items()} == {
        "expert-queries": 150,
        "single-words": 80,
        "absent": 60,
    }
    assert Counter(query.language for query in SETS["single-words"]) == COUNTS
    helps = [query for query in SETS["expert-queries"] if not query.id.startswith("odd-")]
    assert Counter(query.language for query in helps) == dict.fromkeys(LANGUAGES, 15)
    assert 25 <= sum(query.hard for query in SETS["expert-queries"]) <= 35  # about a fifth


def test_an_id_stands_once_in_all_sets_and_a_query_once_in_its_set():
    assert len({query.id for query in QUERIES}) == len(QUERIES)
    for queries in SETS.values():
        assert len({(query.language, query.query) for query in queries}) == len(queries)


def test_a_query_is_judged_unless_it_is_absent():
    for query in QUERIES:
        assert bool(query.relevant) != query.id.startswith("absent-")
        assert not set(query.relevant) & set(query.partial)


def test_a_query_is_about_odd_notes_or_the_help_of_its_language():
    for query in QUERIES:
        for note in (*query.relevant, *query.partial):
            assert note.startswith(("odd-notes/", f"obsidian-help-{query.language}/"))


def test_judged_odd_notes_exist():
    named = {note for query in QUERIES for note in (*query.relevant, *query.partial)}
    assert {note for note in named if note.startswith("odd-notes/")} <= read(ODD_NOTES).keys()


def test_judged_notes_exist_in_the_help_vaults(language_and_notes: tuple[str, dict[str, str]]):
    language, notes = language_and_notes
    for query in QUERIES:
        if query.language == language:
            assert {*query.relevant, *query.partial} <= notes.keys(), query.id


def test_the_script_chooses_the_single_words_of_the_set(
    language_and_notes: tuple[str, dict[str, str]],
):
    language, notes = language_and_notes
    chosen = choose(language, notes, COUNTS[language])
    assert [(choice.word, (choice.note,)) for choice in chosen] == [
        (query.query, query.relevant)
        for query in SETS["single-words"]
        if query.language == language
    ]


def test_no_note_holds_a_word_of_an_absent_query(language_and_notes: tuple[str, dict[str, str]]):
    language, notes = language_and_notes
    text = fold("\n".join(f"{path}\n{content}" for path, content in notes.items()))
    apart = language not in ("ja", "zh")
    held = set(re.findall(r"\w+", text))
    for query in SETS["absent"]:
        if query.language == language:
            words = set(re.findall(r"\w+", fold(query.query))) - GRAMMAR
            assert not [word for word in words if (word in held if apart else word in text)]


def test_a_single_word_is_in_one_note_though_its_stem_is_in_others():
    notes = {
        "v/clock.md": "A geared movement of quince wood.",
        "v/bicycle.md": "Every gear slips. Two gears slip.",
        "v/pass.md": "Gear [[quinces|every]] `backtick` movement.",
    }
    chosen = choose("en", notes, 10)

    assert [(one.word, one.note, one.mate) for one in chosen if one.note == "v/clock.md"] in (
        [("geared", "v/clock.md", True)],
        [("quince", "v/clock.md", True)],
    )
    assert not {one.word for one in chosen} & {"movement", "every", "backtick", "gear"}


def test_a_query_is_right_when_a_relevant_note_is_first_and_an_absent_one_when_none_is():
    query = Query("q", "gear", "en", relevant=("v/a.md", "v/b.md"))
    nothing = Query("n", "numbat", "en")

    assert Answer("expert-queries", query, ("v/b.md", "v/c.md")).right
    assert not Answer("expert-queries", query, ("v/c.md", "v/b.md")).right
    assert Answer("expert-queries", query, ("v/c.md", "v/b.md")).rank == 2
    assert not Answer("expert-queries", query, ()).right
    assert Answer("absent", nothing, ()).right
    assert not Answer("absent", nothing, ("v/a.md",)).right


def test_the_queries_of_a_language_are_asked_of_an_index_of_their_own(tmp_path: Path):
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

    def test_are_240_of_which_60_are_true_and_half_each_language_and_half(self):
        assert len(self.REPLIES) == len({reply["id"] for reply in self.REPLIES}) == 240
        assert sum(reply["kind"] == "true" for reply in self.REPLIES) == 60
        for key in ("language", "half"):
            assert set(Counter(reply[key] for reply in self.REPLIES).values()) == {120}

    def test_of_a_kind_and_language_are_halved_by_their_numbers(self):
        for reply in self.REPLIES:
            assert (reply["half"] == "tune") == (int(reply["id"][-2:]) % 2 == 1)

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


class TestParaphrases:
    """True sentences in other words than their notes, and false ones on the same things."""

    SAID = paraphrases()

    def verified(self, group: str, *, true: bool) -> list[str]:
        return [s.text for s in self.SAID if s.group == group and s.true == true and s.verified]

    def test_are_twenty_true_and_ten_false_in_each_language(self):
        for group, count in Counter((said.group, said.true) for said in self.SAID).items():
            assert count == (20 if group[1] else 10)
        assert len({said.text for said in self.SAID}) == 60

    def test_words_verify_next_to_none_of_the_false_in_the_language_of_the_notes(self):
        assert self.verified("en of en notes", true=False) == []
        assert len(self.verified("ja of ja notes", true=False)) <= 1

    def test_true_ones_of_notes_in_another_language_are_verified(self):
        for group in ("en of ja notes", "ja of en notes"):
            assert len(self.verified(group, true=True)) >= 18


@pytest.mark.parametrize(
    ("true", "false", "area"),
    [([2.0], [1.0], 1.0), ([1.0], [2.0], 0.0), ([1.0], [1.0], 0.5), ([1.0, 3.0], [2.0], 0.5)],
)
def test_the_area_is_how_often_a_true_sentence_is_nearer(true, false, area):
    assert auc(true, false) == area


def test_what_no_step_of_a_search_took_is_the_rest_of_its_time(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.write_text("Python starts 10.5\nsearch 0.25\nprinting 0.125\nsearch 0.25\n", "utf-8")
    found = {"Python starts": 500, "search": 500, "printing": 125, "the rest": 875, "": 2000}
    assert steps(marks, 10.0, 12.0) == found


def test_a_table_of_steps_leaves_out_those_that_nobody_took() -> None:
    runs = [{"search": 3.0, "": 4.0}, {"search": 5.0, "": 9.0}, {"search": 4.0, "": 5.0}]
    shown = table({"cold": runs, "warm": [{"": 1.0}]}, 3)
    assert [line.split() for line in shown.splitlines()[1:]] == [
        ["search", "4.0"],
        ["in", "all", "5.0", "1.0"],
    ]
