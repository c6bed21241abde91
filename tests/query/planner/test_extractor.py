"""Plans that need no model: filters from the words of a query, and what is left to rank by."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from plan_table import CATALOGUE, ROWS, TODAY, Row
from property_examples import examples
from rag.query.planner.names import StaticCatalogue
from rag.query.planner.plan import Extraction, MetadataExtraction
from rag.query.planner.rules import extract
from rag.query.syntax import parse_query
from tables import rows

FLOOR = 0.9  # of rows that are right in every part
BEYOND = {  # what the rules do not understand
    "tag: recipe soup ideas",  # recipe/soup is a tag too
    "what did Alice say about the roof in October",  # questions ask about months, too
    "春のお花見のメモを先月分から",  # "from" the notes of last month, not since
}


def read(query: str, **more: Any) -> Extraction:
    return extract(query, CATALOGUE, today=TODAY, **more)


def filters(metadata: MetadataExtraction) -> dict[str, Any]:
    """What differs from a query without filters, in the form of the table."""
    told = metadata.model_dump(
        exclude_defaults=True, exclude={"time_window", "event_keyword", "logical_reasoning"}
    )
    window = metadata.time_window
    return told if window.is_open else {**told, "window": (window.first, window.last, window.field)}


def route(got: Extraction) -> str:
    return "hybrid_both" if got.text or not got.metadata.filters_anything else "metadata_only"


def is_right(row: Row) -> bool:
    got = read(row.query)
    return (filters(got.metadata), got.text, route(got)) == row[1:]


LISTS = StaticCatalogue(
    vaults=("work", "health", "仕事", "家"), tags=("ops", "rust", "旅行", "ops/backup")
)


@rows(
    "query, known, unknown",
    ("notes tagged both ops and zyx", ["ops"], ["zyx"]),
    ("notes tagged either ops or zyx", ["ops"], ["zyx"]),
    ("tagged ops/backup", ["ops/backup"], []),
    ("仕事と幻の保管庫の予算", ["仕事"], ["幻"]),
    ("旅行と幻のタグが付いたノート", ["旅行"], ["幻"]),
)
def test_of_a_list_the_unknown_is_named_and_the_rest_kept(query, known, unknown):
    got = extract(query, LISTS, today=TODAY)
    assert [*got.metadata.vaults, *got.metadata.tags] == known
    assert [slot.words for slot in got.open] == unknown


class TestTheTable:
    def test_plans_are_what_a_person_expects(self):
        """`pytest -s` prints those that are not."""
        wrong = [row for row in ROWS if not is_right(row)]
        for row in wrong:
            got = read(row.query)
            print(f"\n{row.query}\n  expected {row.filters} {row.text!r}")
            print(f"  but got  {filters(got.metadata)} {got.text!r}")
        assert {row.query for row in wrong} <= BEYOND
        assert len(ROWS) - len(wrong) >= FLOOR * len(ROWS)


KNOWN = ("docker", "helm", "rust", "python", "travel", "gtd")
UNKNOWN = ("bitcoin", "zebra", "quasar")
JA_KNOWN = ("会議", "旅行", "料理", "健康", "設計")
JA_UNKNOWN = ("ビットコイン", "シマウマ", "クエーサー")


def lists(known: tuple[str, ...], unknown: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    """Names in any order, at least one of which the index has."""
    names = st.lists(st.sampled_from([*known, *unknown]), min_size=1, max_size=5, unique=True)
    return names.filter(lambda listed: bool({*listed} & {*known}))


def is_sorted_out(query: str, listed: list[str], known: tuple[str, ...]) -> None:
    """Check that a list keeps the known names and reports the unknown, both in their order."""
    got = read(query)
    assert got.metadata.tags == [name for name in listed if name in known]
    missing = [name for name in listed if name not in known]
    assert [(named.kind, named.words) for named in got.open] == [("tag", name) for name in missing]
    assert all(name in got.text for name in missing)
    assert not any(name in got.text for name in listed if name in known)


class TestLists:
    @given(
        lists(KNOWN, UNKNOWN),
        st.sampled_from([" and ", " or ", " & "]),
        st.sampled_from(["notes tagged {}", "tagged {} from last week"]),
    )
    def test_joined_by_words(self, listed, joint, frame):
        is_sorted_out(frame.format(joint.join(listed)), listed, KNOWN)

    @given(
        lists(JA_KNOWN, JA_UNKNOWN),
        st.sampled_from(["と", "または", "や"]),
        st.sampled_from(["タグ{}のノート"]),
    )
    def test_japanese_quoted(self, listed, joint, frame):
        quoted = joint.join(f"「{name}」" for name in listed)
        is_sorted_out(frame.format(quoted), listed, JA_KNOWN)

    @rows(
        "query, tags, excluded, vaults, missing",
        ("notes tagged docker but not bitcoin", ["docker"], [], [], []),
        ("notes not tagged bitcoin or rust", [], ["rust"], [], ["bitcoin"]),
        ("#docker ビットコインタグを除くノート", ["docker"], [], [], ["ビットコイン"]),
        ("#bitcoin and #docker", ["docker"], [], [], ["bitcoin"]),
        ("「ノープ」保管庫と「仕事」保管庫", [], [], ["仕事"], ["ノープ"]),
        ("notes tagged python except those tagged rust", ["python"], ["rust"], [], []),
    )
    def test_what_is_not_there_is_reported(self, query, tags, excluded, vaults, missing):
        got = read(query)
        assert (got.metadata.tags, got.metadata.excluded_tags) == (tags, excluded)
        assert got.metadata.vaults == vaults
        assert [named.words for named in got.open] == missing


class TestSlots:
    @rows(
        "query, kind, words",
        ("notes tagged quantum physics from last week", "tag", "quantum physics"),
        ("先週の #量子 のメモ", "tag", "量子"),
        ("タグ量子のノート", "tag", "量子"),
        ("tagged docker and blockchain", "tag", "blockchain"),
        ("budget in my finance vault", "vault", "finance"),
        ("財務保管庫の予算", "vault", "財務"),
        ('the note called "Quarterly goals"', "title", "Quarterly goals"),
        ("「秘密計画」というノート", "title", "秘密計画"),
    )
    def test_what_the_index_does_not_have_stays_open_and_in_the_text(self, query, kind, words):
        got = read(query)
        assert [(n.kind, n.words, n.name) for n in got.open] == [(kind, words, "")]
        assert words in got.text

    def test_an_open_slot_closes_when_the_settings_give_its_words_a_name(self):
        query = "notes tagged moby whale about images"
        assert read(query).open
        got = read(query, aliases={"moby whale": "docker"})
        assert (got.metadata.tags, got.text, got.open) == (["docker"], "images", [])

    def test_a_field_that_is_said_to_hold_two_values_filters_by_none(self):
        got = read("status: draft or status: done")
        assert filters(got.metadata) == {"fields": ["status"]}

    def test_of_two_tags_one_excluded_the_other_is_all_there_is(self):
        got = read("#docker or #Docker but not #rust").metadata
        assert (got.tags, got.tag_match, got.excluded_tags) == (["docker"], "all", ["rust"])

    def test_when_something_is_due_is_not_when_its_note_was_written(self):
        for query in ("reports due last week", "締切が先週の課題"):
            got = read(query)
            assert (filters(got.metadata), got.text) == ({"fields": ["due"]}, query)

    @rows(
        "query, words",
        ("notes from around Christmas", "Christmas"),
        ("正月に書いたメモ", "正月"),
        ("what I wrote the other day", "the other day"),
    )
    def test_a_time_that_no_rule_can_tell_is_a_slot_of_its_own(self, query, words):
        assert (read(query).time_slot, read(query).text) == (words, query)

    def test_without_notes_beside_it_such_a_time_is_a_topic(self):
        assert read("christmas cookies").time_slot == ""


class TestTheRest:
    @rows(
        "query, text",
        ("#docker release notes", "release notes"),
        ("deploy　#docker　rollback", "deploy　rollback"),
        ("デプロイの#docker手順", "デプロイ手順"),
        ("The Hobbit #book", "The Hobbit"),
        ("#book The Hobbit", "The Hobbit"),
        ("show me the #docker notes that mention the cache, please", "the cache"),
        ("私が先週書いた料理のメモを探してください", "料理"),
        ("昨日のメモについて教えて", ""),
        ("昨日のメモに関して教えて", ""),
        ("昨日のメモに料理", "料理"),
        ("what did I write about tea last week?", "tea"),
    )
    def test_words_that_only_lead_to_others_go_and_nothing_else(self, query, text):
        assert read(query).text == text

    def test_what_a_long_query_goes_on_to_say_stays(self):
        query = "#docker " + "word " * 2_000 + "#rust"
        got = read(query)
        assert (got.metadata.tags, got.text) == (["docker"], query.removeprefix("#docker "))


class TestTheSyntax:
    @rows(
        "kept", "tag:docker", "-tag:docker", 'title:"Daily note"', "-helm", "kube*", '"last week"'
    )
    def test_its_conditions_are_left_to_it(self, kept):
        got = read(f"{kept} rollback #rust")
        assert (got.metadata.tags, got.text) == (["rust"], f"{kept} rollback")
        assert parse_query(kept).fields == parse_query(got.text).fields


class TestOtherIndexes:
    def test_an_empty_index_filters_by_time_only(self):
        got = extract("#docker in my work vault last week", StaticCatalogue(), today=TODAY)
        assert filters(got.metadata).keys() == {"window"}
        assert {n.words for n in got.open} == {"docker", "work"}

    def test_words_for_a_field_mean_the_one_that_the_index_has(self):
        catalogue = StaticCatalogue(fields={"締切": ["2026-12-01"], "状態": ["済"]})
        got = extract("deadline is 2026-12-01 status: 済", catalogue, today=TODAY).metadata
        assert got.values == {"締切": "2026-12-01", "状態": "済"}

    def test_the_longest_name_wins(self):
        catalogue = StaticCatalogue(tags=["machine", "machine-learning"])
        got = extract("tagged machine learning basics", catalogue)
        assert (got.metadata.tags, got.text) == (["machine-learning"], "basics")


# -- any text -----------------------------------------------------------------------------

_PIECES = (
    "#|#docker|tagged |タグ|の|と|か|vault|保管庫|「|」|\"|'|last week|先週|since |2024|"
    "-|/|5月|3日|前|まで|から|〜|between |and |or |not |without |status| is |:|draft|"
    "ノート|note |called |Deploy checklist|work|仕事| |　|という|映画|以外|\ud800|\x00|"
    "\x1f|\x1e|\u200b|ﾀﾞ|İ|ß|\u0301|\n|９|の付いた|due |by |tomorrow|modified |更新した|"
    "について|三|十|年|月|日"
)
PIECES = st.sampled_from(_PIECES.split("|"))
TEXTS = st.text(max_size=60) | st.lists(PIECES, max_size=25).map("".join)


def is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(char in rest for char in part)


def check(query: str) -> None:
    got, typed = read(query), query.encode("utf-8", "replace").decode()
    metadata = got.metadata
    assert {*metadata.tags, *metadata.excluded_tags} <= {*CATALOGUE.tags()}
    assert {*metadata.vaults} <= {*CATALOGUE.vaults()}
    assert all(CATALOGUE.titled(title) for title in metadata.titles)
    assert all(value in CATALOGUE.values(name) for name, value in metadata.values.items())
    assert {*metadata.values} <= {*metadata.fields} <= {*CATALOGUE.fields()}
    assert is_subsequence(got.text, typed)
    assert metadata.filters_anything or got.text == typed
    assert all(named.words in typed for named in [*got.found, *got.open])
    assert read(query) == got


@settings(max_examples=examples(150))
@given(TEXTS)
def test_any_text_is_read_and_nothing_leaves_the_index(query):
    check(query)


@settings(max_examples=examples(25))
@given(st.lists(PIECES, min_size=1, max_size=4).map("".join))
def test_a_hundred_kilobytes_are_read_too(piece):
    check((piece * 100_000)[:100_000])


@rows(
    "make",
    *(lambda n: "#x" * n, lambda n: "tagged kubernets " * n, lambda n: "「" * n),
    *(lambda n: "last " * n, lambda n: "notes about " * n + "x"),
    *(lambda n: "のノート" * n + "x #docker", lambda n: "the " * n + "#docker"),
    *(lambda n: " " * n + "#docker", lambda n: "between march and " * n),
)
def test_repetition_costs_no_more_than_its_length(make):
    check(make(2_000))
