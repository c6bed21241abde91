"""The very word before other forms of it, and what is found beside the text of a note."""

from collections.abc import Callable

import pytest

from rag.pipelines import SearchResponse
from rag.search.query import Query
from rag.text.bm25 import query_terms
from rag.text.matches import find_matches
from tables import rows

PAD = "It says a few words more, so that its length is that of a note. "
NOTES = {
    "gear.md": "# Gear\n\nGear, gears and more gear: the gear of all gears.\n\n## Gears\n\nGear.",
    "wheel.md": f"# Wheel\n\nThe wheel is geared. {PAD * 8}",
    "beds.md": f"# Planting\n\nPlants: planted, planting, plants. {PAD}",
    "tree.md": f"# Tree\n\nOne may plant it. {PAD * 8}",
    "view.md": "# Footnotes view\n\nLists them in the sidebar.",
    "filters.md": "# Filters\n\nFootnotes, footnotes and `footnotes` for footnotes.",
    "old.md": "# Release 2.3.10\n\nIn 2.3.10 and 3.1, 2 of 3 items and 1 more.",
    "new.md": f"# Notes of a release\n\nWhat came with 2.3.1 is here. {PAD * 4}",
    "pods.md": f"# Pods\n\nA pod is OOMKilled or goes into CrashLoopBackOff. {PAD}",
    "fox.md": "# Allotments\n\nSeen today: 🦊 and two cubs.",
    "hund.md": "# Große Hunde\n\nSie brauchen Platz.",
    "елка.md": "# Ёлка\n\nЗимой во дворе поставили ёлку.",
    "щи.md": "# Щи из кислой капусты\n\nВарить два часа.",
    "maren.md": "---\ncompany: Fossa Industries\ncuisine: French\n---\n# Maren\n\nShe buys it.",
    "industries.md": f"# Industries\n\nOf industries and other industries. {PAD}",
    "releases.md": "# Directory\n\n## Release\n\nA release.\n\n## One\n\nThe release of it.\n\n"
    "## Two\n\nThat release too.",
    "links.md": f"# Reading\n\nSee [this](https://example.com/walrus) and "
    f"[Zed](mailto:zed@tundra.org). {PAD}",
    "部品.md": "# コアプラグイン\n\n相手に無線で送る。打撲に注意。",
}

Find = Callable[..., SearchResponse]


@pytest.fixture(scope="module")
def find(searching) -> Find:
    return searching({"v": NOTES}, top_k=10)


def first(response: SearchResponse) -> str:
    return next((result.file_path for result in response.results), "")


@rows(
    "query, note",
    *(("geared", "wheel.md"), ("gear", "gear.md"), ("plant", "tree.md")),
    *(("footnotes", "view.md"), ("2.3.1", "new.md"), ("2.3.10", "old.md"), ("OOM", "pods.md")),
    *(("BackOff", "pods.md"), ("🦊", "fox.md"), ("grosse", "hund.md"), ("елка", "елка.md")),
    *(("кислая капуста", "щи.md"), ("Fossa Industries", "maren.md")),
    *(("cuisine: French", "maren.md"), ("example.com", "links.md")),
    *(("zed@tundra.org", "links.md"), ("walrus", "links.md")),
)
def test_the_note_that_holds_it_comes_first(find, query, note):
    assert first(find(query)) == note


def test_the_very_word_comes_first_however_many_chunks_have_other_forms(searching):
    others = {f"{n}.md": "# Gears\n\nGear, gears, gear." for n in range(150)}
    notes = {**others, "one.md": f"# Wheel\n\nThe wheel is geared. {PAD * 8}"}
    assert first(searching({"v": notes})("geared")) == "one.md"


def test_the_very_word_counts_once_for_a_note_with_many_sections(find):
    hit = next(r for r in find("release", explained=True).results if r.file_path == "releases.md")
    exact = [t for c in hit.explanation.chunks for t in c.terms if t.field == "exact"]
    assert len(hit.explanation.chunks) > 1
    assert len(exact) == 1


@rows("phrase", '"Fossa Industries"', '"company: Fossa"', '"French"')
def test_a_phrase_may_stand_in_the_front_matter(find, phrase):
    assert first(find(phrase)) == "maren.md"


def test_what_is_excluded_may_stand_in_the_front_matter(find):
    assert first(find("buys")) == "maren.md"
    assert not find("buys -French").results


def test_the_line_of_an_address_is_named(find):
    (hit, *_) = find("example.com/walrus").results
    assert "example.com" in hit.content.split("\n")[hit.line - hit.line_start]


@rows("query", "%%", "![[", "---", "==")
def test_marks_alone_find_nothing(find, query):
    assert not find(query).results


def test_what_is_sought_beside_the_text_gives_meaning_no_weight():
    terms = query_terms("fossa industries")
    asked = Query("fossa industries", "fossa industries").weight
    assert asked == sum(t.weight for t in terms if t.field not in ("properties", "addresses"))
    assert asked < sum(t.weight for t in terms)


class TestExplanations:
    def terms(self, find: Find, query: str) -> dict[tuple[str, str], tuple[str, ...]]:
        explained = find(query, explained=True).results[0].explanation
        return {(t.field, t.term): t.forms for chunk in explained.chunks for t in chunk.terms}

    def test_the_form_that_matched_is_named(self, find):
        terms = self.terms(find, "footnote")
        assert terms[("words", "footnote")] == ("footnotes",)

    def test_what_is_beside_the_text_is_named(self, find):
        assert ("properties", "fossa") in self.terms(find, "Fossa Industries")
        assert ("addresses", "walrus") in self.terms(find, "walrus")


class TestWhatIsNotThere:
    @rows("query", "相撲", "コアラの飼育", "三味線", "gearbox numbat", "熊猫", "Wheelbarrow")
    def test_pieces_of_words_and_equal_beginnings_are_not_found(self, find, query):
        assert not find(query).results

    def test_another_form_of_a_word_is_found(self, find):
        assert first(find("plantings")) == "beds.md"

    @rows("word", "abc999", "qqq123zzz", "48550")
    def test_words_with_digits_are_missing_and_never_corrected(self, find, word):
        response = find(f"geared {word}")
        assert response.missing == [word]
        assert response.corrections == {}


def test_the_line_of_a_part_of_a_word_is_named_and_so_is_the_part(find):
    (hit, *_) = find("BackOff").results
    assert "CrashLoopBackOff" in hit.content.split("\n")[hit.line - hit.line_start]
    assert [m.start for m in find_matches("in CrashLoopBackOff", "backoff")] == [12]
