"""What a query is taken to mean: slips of the keyboard mended, notes named outright."""

import pytest

from index_fixtures import paths
from rag.pipelines import QueryFilters
from rag.search.components.query_analyzer import understand
from rag.stores import get_document_store
from tables import rows

NOTES = {
    "backups.md": "---\ntags: [ops, a]\n---\n"
    "# Nightly copies\n\nThe backup runs at night. Encrypted archives are kept.\n",
    "deploy.md": "# Deploying\n\nKubernetes restarts the deployment; a rollback takes minutes.\n",
    "cafe.md": "# Visits\n\nCoffee with Müller, version2 of the plan.\n",
    "テンプレート.md": "# 雛形\n\nテンプレートを使うと、プラグインの設定が楽になる。\n",
    "フォルダ.md": "# 整理\n\nファイルシステムとフォルダを整理する。システマは別のもの。\n",
    "Weekly review.md": "---\naliases: [Friday ritual, 週の振り返り]\ntags: [habit]\n---\n"
    "# Looking back\n\nWhat went well.\n",
    "agenda.md": "# Agenda\n\nThe weekly review, the weekly review, and the friday ritual again."
    " Looking back at a weekly review, a ritual of its own.\n",
    "abab.md": "# Letters\n\nfrom form cold bold code\n",
}


@pytest.fixture(scope="module")
def store(build_index):
    with get_document_store(build_index({"v": NOTES})) as store:
        yield store


@pytest.fixture(scope="module")
def corrected(store):
    """Return what the words of a query are taken for."""
    return lambda query: understand(store, query).corrections


@pytest.fixture(scope="module")
def respond(searching):
    return searching({"v": NOTES})


class TestCorrections:
    @rows(
        "typed, meant",
        ("bakcup", "backup"),  # two neighbours swapped
        ("backp", "backup"),  # a letter left out
        ("backuup", "backup"),  # one too many
        ("vackup", "backup"),  # another one
        ("Bakcup", "backup"),
        ("ｂａｋｃｕｐ", "backup"),
        ("nigt", "night"),  # four letters
        ("kubernetse", "kubernetes"),
        ("kubrenetse", "kubernetes"),  # two slips in a long word
        ("encripted", "encrypted"),
        ("müler", "müller"),
    )
    def test_a_word_that_no_note_holds_is_taken_for_the_nearest(self, corrected, typed, meant):
        assert list(corrected(typed).values()) == [meant]

    @rows(
        "typed",
        "nit",  # three letters: too short
        "backers",  # two slips in seven letters
        "bcakpu",
        "mniutse",
        "xkubrentse",  # three in a long one
        "xylophone",
        "backups",  # another form of a word of the notes
        "restarted",
        "deployments",
        "rollbacks",
        "version3",  # with a digit
        "bakcup1",
        "the",
        "teh what",
    )
    def test_others_are_left_alone(self, corrected, typed):
        assert corrected(typed) == {}

    def test_a_known_word_is_never_taken_for_a_better_known_one(self, corrected):
        assert corrected("from form cold bold") == {}

    @rows(
        "words, typed, meant",
        ("planning slanting", "slanning", "slanting"),  # the first letter is seldom wrong
        ("boggimg faggimg", "foggimg", "faggimg"),
        ("planning swanking", "slanning", "planning"),  # but one slip goes before two
        ("planning walking", "slanning", "planning"),
        ("kubernetes kubernetics", "kubernetez", "kubernetes"),  # one slip before two
        ("noted notes", "notex", "noted"),  # the first by alphabet
        ("noted notes", "notse", "notes"),
        ("copper cooper", "copoer", "cooper"),
    )
    def test_of_several_words_the_likeliest_is_taken(self, build_index, words, typed, meant):
        with get_document_store(build_index({"v": {"a.md": words}})) as store:
            assert understand(store, typed).corrections == {typed: meant}

    def test_the_name_of_a_note_goes_before_other_words(self, build_index):
        notes = {"a.md": "noted notes", "b.md": "---\naliases: [Notes]\n---\n# Else\n"}
        with get_document_store(build_index({"v": notes})) as store:
            assert understand(store, "notex").corrections == {"notex": "notes"}

    def test_fewer_slips_and_the_same_first_letter_go_before_the_name_of_a_note(self, build_index):
        notes = {"a.md": "kubernetes", "b.md": "---\naliases: [Kubernetics]\n---\n# Else\n"}
        with get_document_store(build_index({"v": notes})) as store:
            assert understand(store, "kubernetez").corrections == {"kubernetez": "kubernetes"}
        notes = {"a.md": "faggimg", "b.md": "---\naliases: [Boggimg]\n---\n# Else\n"}
        with get_document_store(build_index({"v": notes})) as store:
            assert understand(store, "foggimg").corrections == {"foggimg": "faggimg"}

    def test_a_doubled_letter_is_a_slip_though_another_language_has_the_word(self, build_index):
        with get_document_store(build_index({"v": {"a.md": "Names and aliases."}})) as store:
            understood = understand(store, "aliasses")  # Portuguese
        assert understood.corrections == {"aliasses": "aliases"}

    @rows(
        "written, typed",
        ("light", "flight"),
        ("turning", "tuning"),
        ("instance", "insurance"),
        ("break", "bread"),
        ("password", "passport"),
        ("native", "naïve"),
        ("passport", "passwort"),  # German
    )
    def test_a_common_word_is_not_taken_for_a_slip_but_said_to_be_missing(
        self, build_index, written, typed
    ):
        notes = {"a.md": f"The {written} of the zebra.", "b.md": f"{written}s"}
        with get_document_store(build_index({"v": notes})) as store:
            understood = understand(store, f"{typed} zebra")
        assert understood.corrections == {}
        assert [*understood.missing] == [typed]
        near = understood.missing[typed]
        assert near is None or (near.word.startswith(written), near.notes) == (True, 2)

    @rows(
        "query, missing",
        *(("量子力学入門", ["量子力学"]), ("証明書の入門", []), ("猫の証明書", ["猫"])),
        *(("10月の証明書", []), ("何の証明書ですか", []), ("如何重置证书", ["如何重置证书"])),
        ("여권 갱신", ["여권"]),
    )
    def test_of_a_script_without_spaces_what_no_note_holds_is_missing(
        self, build_index, query, missing
    ):
        text = "証明書を入門者が更新する。\n\n인증서 갱신 방법.\n"
        with get_document_store(build_index({"v": {"a.md": text}})) as store:
            assert [*understand(store, query).missing] == missing

    def test_only_a_word_that_the_filters_let_through_is_meant(self, build_index):
        notes = {"v": {"a.md": "the rollback\n"}, "w": {"b.md": "a rollbeck, #x\n"}}
        with get_document_store(build_index(notes)) as store:
            for vault, meant in (("v", "rollback"), ("w", "rollbeck")):
                found = understand(store, "rollbuck", QueryFilters(vaults=[vault]))
                assert found.corrections == {"rollbuck": meant}
            assert understand(store, "rollbuck vault:w -tag:x").corrections == {}

    @rows(
        "typed, meant",
        ("テンプレト", "テンプレート"),
        ("ﾃﾝﾌﾟﾚﾄ", "テンプレート"),
        ("テンプレトの作り方", "テンプレート"),
        ("プラグイソ", "プラグイン"),
    )
    def test_loan_words_of_japanese_are_mended_too(self, corrected, typed, meant):
        assert list(corrected(typed).values()) == [meant]

    @rows(
        "typed",
        "テンプレ",  # part of a longer one
        "ファイル",
        "システム",
        "テンプレート",
        "フォル",
        "雛型の設計",  # no loan word
        "タコス",
    )
    def test_other_japanese_is_left_alone(self, corrected, typed):
        assert corrected(typed) == {}

    @rows("query", '"bakcup"', '"the bakcup" night', "bakcup*", "night -bakcup")
    def test_words_of_phrases_prefixes_and_exclusions_are_meant_as_they_stand(
        self, corrected, query
    ):
        assert corrected(query) == {}

    def test_the_note_that_holds_the_word_meant_is_found(self, respond):
        response = respond("bakcup")
        assert paths(response) == ["backups.md"]
        assert response.corrections == {"bakcup": "backup"}
        assert set(response.searched.split()) == {"backup"}
        assert paths(respond("テンプレトの作り方"))[0] == "テンプレート.md"

    def test_a_word_guessed_counts_less_than_a_word_typed(self, respond):
        typed, guessed = (
            respond(query, explained=True).results[0].explanation for query in ("backup", "bakcup")
        )
        # the word itself, and nothing of words that only begin like it
        assert guessed.fields.keys() == {"words", "exact"}
        assert guessed.fields["words"] == pytest.approx(0.8 * typed.fields["words"])
        assert guessed.total < typed.total


class TestWordsThatAreGone:
    @pytest.fixture
    def index_again(self, config, refresh, write_notes):
        """Index a vault that holds these notes now: `index_again(a="text")` opens its store."""

        def index(**notes: str):
            folder = write_notes("v", {f"{name}.md": text for name, text in notes.items()})
            for file in folder.glob("*.md"):
                if file.stem not in notes:
                    file.unlink()
            refresh(v=folder)
            return get_document_store(config)

        return index

    @rows(
        "notes, meant",
        ({"a": "walrus", "b": "zebra"}, ["walrus"]),
        ({"b": "zebra"}, []),  # its last note was deleted
        ({"a": "walrus", "b": "walruses waldus"}, ["walrus"]),  # there is a new one
        ({"a": "gone", "b": "waldrsu"}, ["waldrsu"]),  # edited: the next nearest is offered
    )
    def test_a_word_is_offered_while_a_note_holds_it(self, index_again, notes, meant):
        with index_again(**notes) as store:
            assert [*understand(store, "walrsu").corrections.values()] == meant


class TestNamedNotes:
    @rows(
        "query",
        "Looking back",
        "looking  BACK",
        "friday ritual",
        "週の振り返り",
        "weekly review",  # the file name
        "ＷＥＥＫＬＹ　ＲＥＶＩＥＷ",
        '"Friday ritual"',
        'title:"looking back"',
        "friday ritual tag:habit",
        "friday ritual -xylophone",
        "fridya ritual",
        "loking bakc",
    )
    def test_the_note_of_that_title_alias_or_file_name_comes_first(self, respond, query):
        best = respond(query, explained=True).results[0]
        assert best.file_path == "Weekly review.md"
        assert best.explanation.bonus > 0

    def test_the_others_follow(self, respond):
        response = respond("weekly review", explained=True)
        assert paths(response)[:2] == ["Weekly review.md", "agenda.md"]
        assert response.results[1].explanation.bonus == 0

    @rows("query", "review weekly", "weekly reviews", "weekly", "my friday ritual")
    def test_a_name_must_be_whole_and_exact(self, respond, query):
        response = respond(query, explained=True)
        assert all(result.explanation.bonus == 0 for result in response.results)

    def test_filters_hold_for_it(self, respond):
        assert "Weekly review.md" not in paths(respond("friday ritual -tag:habit"))
        assert "Weekly review.md" not in paths(respond("weekly review path:agenda"))
        found = respond("weekly review", QueryFilters(tags=["nowhere"]))
        assert found.results == []

    def test_a_note_is_found_by_a_file_name_that_no_note_says(self, searching):
        notes = {"2025-W07.md": "# Notes\n\nNothing.\n", "b.md": "# B\n\nOther.\n"}
        response = searching({"v": notes})("2025-w07")
        assert paths(response) == ["2025-W07.md"]
        assert 0 < response.results[0].score < 1

    @pytest.fixture(scope="class")
    @classmethod
    def odd(cls, searching):
        """Search notes with odd names."""
        notes = {
            "!!!.md": "---\ntags: [loud]\n---\n# Loud\n\nText.\n",
            "bakcup.md": "---\naliases: [nigt crane, テンプレト]\n---\n# Cranes\n\nNothing.\n",
            "b.md": "# B\n\nA backup of each テンプレート at night.\n",
        }
        return searching({"v": notes})

    @rows(
        "query, expected",
        ("!!!", ["!!!.md"]),
        ("！！！", ["!!!.md"]),
        ("!!! tag:loud", ["!!!.md"]),
        ("!!! -tag:loud", []),
        ("!! tag:loud", ["!!!.md"]),  # a listing
        ("!!", []),
    )
    def test_a_name_without_words_is_found_too(self, odd, query, expected):
        assert paths(odd(query)) == expected

    @rows("query", "bakcup", "BAKCUP", "nigt crane", "テンプレト")
    def test_a_name_that_looks_like_a_slip_is_found_as_it_is_typed(self, odd, query):
        response = odd(query)
        assert paths(response)[0] == "bakcup.md"
        assert (response.corrections, response.searched) == ({}, query)


class TestUnderstood:
    @rows(
        "query, titles",
        ('"weekly review"', ["Agenda", "Looking back"]),  # the one in its file name
        ('"the weekly review"', ["Agenda"]),
        ('"が楽に"', ["雛形"]),
        ('"る"', ["整理", "雛形"]),
        ("title:ookin", ["Looking back"]),
        ("title:ritual -tag:habit", ["Looking back"]),  # the filters are another matter
        ('title:gend "kubernetes"', ["Agenda", "Deploying"]),
        ('weekly -"weekly review" -title:agenda', []),
    )
    def test_notes_with_a_phrase_or_a_title_are_matched(self, store, query, titles):
        matched = understand(store, query).matched
        documents = store.filter_documents(
            {"field": "meta.file_id", "operator": "in", "value": matched}
        )
        assert len(set(matched)) == len(matched)
        assert sorted({document.meta["title"] for document in documents}) == titles
