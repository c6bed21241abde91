"""From chunks to notes: how parts add up, which notes come first, which ones say the same."""

from itertools import pairwise

import pytest
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy
from hypothesis import given
from hypothesis import strategies as st

from rag.search.components.note_ranker import NoteLoader, rank_notes
from rag.search.query import Hit, Query, Retrieval
from rag.stores import QdrantEdgeDocumentStore
from rag.stores.base.points import Candidate

LONG = (
    "The harbour office keeps a ledger of every vessel that enters before sunrise, with the name"
    " of its captain, the weight of its cargo and the berth it was given. Copies go to customs,"
    " to the pilot station and to the archive on the hill, where they stay for eleven years."
)


def chunk(identity: str, note: str, score: float, section: int = 0) -> Candidate:
    return Candidate(identity, note, section, score)


def ranked(candidates, named=(), chunks=False) -> list[Hit]:
    return rank_notes(candidates, Query("words", "words", named=[*named], chunks=chunks))


def weighed(hit: Hit) -> list[tuple[str, float, float]]:
    return [(part.id, part.weight, part.score) for part in hit.parts]


class TestRanking:
    def rank(self, *candidates: Candidate, named=None, chunks=False) -> list[Hit]:
        return ranked(candidates, named or [], chunks)

    def test_a_note_counts_its_three_best_sections_with_falling_weight(self):
        scores = [4.0, 8.0, 2.0, 1.0]
        (hit,) = self.rank(*(chunk(str(n), "a", s, section=n) for n, s in enumerate(scores)))
        assert weighed(hit) == [("1", 1.0, 8.0), ("0", 0.3, 4.0), ("2", 0.1, 2.0)]
        assert hit.score == pytest.approx(8 + 0.3 * 4 + 0.1 * 2)
        assert (hit.id, hit.note, hit.bonus) == ("1", "a", 0.0)

    def test_of_the_parts_of_one_section_the_best_counts(self):
        (hit,) = self.rank(
            chunk("x", "a", 5, section=1),
            chunk("y", "a", 6, section=1),
            chunk("z", "a", 2, section=2),
        )
        assert weighed(hit) == [("y", 1.0, 6), ("z", 0.3, 2)]

    def test_a_long_note_does_not_beat_a_much_better_one(self):
        many = [chunk(f"b{n}", "b", 4, section=n) for n in range(20)]
        assert self.rank(chunk("a1", "a", 6), *many)[0].id == "a1"

    def test_equal_scores_are_in_the_order_of_ids(self):
        hits = self.rank(chunk("y", "b", 1), chunk("x", "a", 1))
        assert [hit.id for hit in hits] == ["x", "y"]


class TestNamedNotes:
    rank = TestRanking.rank

    def test_a_named_note_comes_first_however_little_it_says(self):
        first, second = self.rank(chunk("x", "a", 9), chunk("y", "b", 0.5), named=["b"])
        assert (first.note, second.note) == ("b", "a")

    def test_its_score_is_its_bonus_and_the_weighted_scores_of_its_parts(self):
        first, second = self.rank(
            chunk("x", "a", 9), chunk("y", "b", 2, 0), chunk("z", "b", 1, 1), named=["b"]
        )
        assert first.bonus == 1 + 9  # the best of all that was found
        assert first.score == pytest.approx(10 + 2 + 0.3)
        assert (second.bonus, second.score) == (0.0, 9)

    def test_several_named_notes_are_ranked_among_each_other(self):
        hits = self.rank(
            chunk("x", "a", 9), chunk("y", "b", 1), chunk("z", "c", 2), named=["b", "c"]
        )
        assert [(hit.note, hit.score) for hit in hits] == [("c", 12), ("b", 11), ("a", 9)]

    def test_a_named_note_alone_has_a_score_above_0_though_it_holds_no_word(self):
        (hit,) = self.rank(chunk("x", "a", 0.0), named=["a"])
        assert (hit.score, hit.bonus) == (1.0, 1.0)

    def test_a_note_that_only_its_file_name_finds_stands_above_the_best_of_the_others(self):
        hits = self.rank(chunk("a", "a", 9), chunk("b", "b", 0.0), named=["b"])
        assert [hit.note for hit in hits] == ["b", "a"]
        assert hits[0].score > hits[1].score


class TestChunksMode:
    rank = TestRanking.rank

    def test_every_chunk_is_a_hit_with_its_own_score(self):
        hits = self.rank(chunk("x", "a", 2), chunk("y", "a", 3), chunk("z", "b", 1), chunks=True)
        assert [(hit.id, hit.score) for hit in hits] == [("y", 3), ("x", 2), ("z", 1)]
        assert all(weighed(hit) == [(hit.id, 1.0, hit.score)] for hit in hits)

    def test_chunks_of_a_named_note_come_first(self):
        hits = self.rank(
            chunk("x", "a", 5), chunk("y", "b", 1), chunk("z", "b", 2), chunks=True, named=["b"]
        )
        assert [hit.id for hit in hits] == ["z", "y", "x"]


scored = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.7])
    ),
    max_size=20,
)
names = st.lists(st.sampled_from("abcde"), max_size=3)


@given(scored, names, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(scored, named, chunks, random):
    candidates = [chunk(f"{n:03}", *of, at) for n, (*of, at) in _swapped(scored)]
    shuffled = random.sample(candidates, len(candidates))
    assert ranked(candidates, named, chunks) == ranked(shuffled, named[::-1], chunks)


@given(scored, names, st.booleans())
def test_hits_fall_and_add_up_and_no_note_is_lost(scored, named, chunks):
    candidates = [chunk(f"{n:03}", *of, at) for n, (*of, at) in _swapped(scored)]
    hits = ranked(candidates, named, chunks)
    assert all(above.score >= below.score for above, below in pairwise(hits))
    for hit in hits:
        total = hit.bonus + sum(part.weight * part.score for part in hit.parts)
        assert hit.score == pytest.approx(total)
        assert (hit.bonus > 0) == (hit.note in named)
        assert hit.id == hit.parts[0].id
    firsts = [hit.score for hit in hits if hit.bonus]
    others = [hit.score for hit in hits if not hit.bonus]
    assert not firsts or min(firsts) >= 1 + max(others, default=0)
    expected = [c.id for c in candidates] if chunks else {c.note for c in candidates}
    found = [hit.id if chunks else hit.note for hit in hits]
    assert sorted(found) == sorted(expected)


def _swapped(scored):
    return enumerate((note, score, section) for note, section, score in scored)


@pytest.fixture
def store(tmp_path):
    with QdrantEdgeDocumentStore(str(tmp_path / "index")) as store:
        yield store


@pytest.fixture
def load(store):
    """Write texts, rank them in that order, and load them: `load("one", "two", top_k=1)`.

    Returns pairs of the texts' numbers: those shown, and the duplicates of each.
    """

    def run(*texts: str, scores=None, named=(), top_k=10) -> list[tuple[int, list[int]]]:
        ids = [f"{n:03}" for n in range(len(texts))]
        store.write_documents(
            [
                Document(id=i, content=text, meta={"file_id": i})
                for i, text in zip(ids, texts, strict=True)
            ],
            DuplicatePolicy.OVERWRITE,
        )
        scores = scores or [2.0] * len(texts)
        candidates = [chunk(i, i, score) for i, score in zip(ids, scores, strict=True)]
        query = Query("words", "words", named=[ids[number] for number in named], top_k=top_k)
        output = NoteLoader(store).run(Retrieval(query, candidates))
        shown = output["retrieval"].hits
        assert [(h.id, h.score) for h in shown] == [(d.id, d.score) for d in output["documents"]]
        return [(int(hit.id), [int(same.id) for same in hit.duplicates]) for hit in shown]

    return run


def different(number: int) -> str:
    return " ".join(f"word{number}x{n}" for n in range(60))


class TestNearDuplicates:
    def test_a_long_text_of_two_notes_is_shown_once_and_the_other_listed(self, load):
        assert load(LONG, LONG) == [(0, [1])]

    def test_many_words_do(self, load):
        other = LONG.replace("captain", "owner").replace("cargo", "crew").replace("hill", "quay")
        other = other.replace("harbour", "station").replace("customs", "police")
        assert load(LONG, other) == [(0, []), (1, [])]

    def test_short_texts_that_are_the_same_stay_apart(self, load):
        assert load("Water the plants.", "Water the plants.") == [(0, []), (1, [])]

    def test_long_japanese_texts_count_too(self, load):
        text = (
            "港の事務所は、日の出前に入るすべての船について、船長の名と積荷の重さを帳面に記す。" * 3
        )
        assert load(text, text.replace("船長", "船主", 1)) == [(0, [1])]

    def test_a_text_that_holds_the_other_and_much_more_is_another(self, load):
        assert load(LONG, f"{LONG} {different(1)}") == [(0, []), (1, [])]

    def test_texts_whose_scores_are_far_apart_are_not_compared(self, load):
        assert load(LONG, LONG, scores=[2.0, 1.9]) == [(0, []), (1, [])]
        assert load(LONG, LONG, scores=[2.0, 1.95]) == [(0, [1])]

    def test_all_that_say_the_same_are_listed_in_their_order(self, load):
        assert load(LONG, "else", LONG, LONG) == [(0, [2, 3]), (1, [])]

    def test_the_list_is_filled_up_with_other_notes(self, load):
        texts = [LONG] * 7 + [different(n) for n in range(4)]
        assert load(*texts, top_k=3) == [(0, [1, 2, 3, 4, 5, 6]), (7, []), (8, [])]

    def test_a_duplicate_beside_the_last_one_shown_is_still_listed(self, load):
        assert load(LONG, LONG, different(1), LONG, top_k=2) == [(0, [1, 3]), (2, [])]

    def test_a_note_named_exactly_is_never_set_aside(self, load):
        assert load(LONG, LONG, named=[0, 1]) == [(0, []), (1, [])]


class TestWholeSearches:
    @pytest.fixture(scope="class")
    @classmethod
    def find(cls, searching):
        work = {
            "Ledger.md": f"# Ledger of vessels\n\n{LONG}\n",
            "tide.md": "# Tides\n\nWhen a vessel enters the harbour, see the ledger of tides.\n",
        }
        home = {
            "copy.md": f"# Ledger of vessels\n\n{LONG.replace('eleven', 'twelve')}\n",
            "mooring.md": "# Mooring\n\nThe harbour has rings for mooring.\n",
        }
        return searching({"work": work, "home": home})

    def test_a_duplicate_is_named_with_its_vault(self, find):
        best = find("pilot station and customs").results[0]
        assert {f"{best.vault}/{best.file_path}", *best.duplicates} == {
            "work/Ledger.md",
            "home/copy.md",
        }

    def test_two_notes_named_exactly_are_both_shown_though_they_say_the_same(self, find):
        found = find("ledger of vessels").results
        assert {result.file_path for result in found[:2]} == {"Ledger.md", "copy.md"}
        assert all(result.duplicates == [] for result in found)

    def test_top_k_counts_results_not_duplicates(self, find):
        found = find("pilot station harbour", top_k=3)
        assert (len(found.results), found.total) == (3, 3)
        assert sum(len(result.duplicates) for result in found.results) == 1

    def test_one_of_the_two_filtered_away_there_is_no_duplicate(self, find):
        found = find("pilot station vault:home")
        assert [(r.file_path, r.duplicates) for r in found.results] == [("copy.md", [])]
