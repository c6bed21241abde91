"""The query syntax at work: what each part of it lets through, in a real index."""

from datetime import date

import pytest

from index_fixtures import paths
from rag.exceptions import QueryError, UsageError
from rag.pipelines import QueryFilters
from tables import rows

WORK = {
    "budget.md": "---\ntags: [sre/slo, draft]\ncreated: 2025-01-10\n---\n# Error budget\n\n"
    "The error budget is what reliability may cost.\n",
    "errors.md": "---\ntags: [sre]\ncreated: 2025-02-10\n---\n# Errors\n\n"
    "A budget for an error is no error-budget of ours? It is.\n\n## Alerts\n\nPage on call.\n",
    "money.md": "---\ncreated: 2025-03-10\naliases: [Holiday costs]\n---\n# Money\n\n"
    "The budget for holidays. An error in the budget was found.\n",
    "projects/Kubernetes.md": "---\ncreated: 2025-04-10\n---\n# Cluster\n\n"
    "Kubernetes restarts pods; kubectl shows them.\n\n## Dave's notes\n\nKubelets restarted.\n",
    "projects/deep/café.md": "---\ncreated: 2025-05-10\n---\n# Café visits\n\n"
    "We met at the Café Müller, RÉSUMÉ in hand.\n",
}
HOME = {
    "shopping list.md": "---\ntags: [レシピ]\ncreated: 2025-06-10\n---\n# Shopping list\n\n"
    "Eggs, flour and a budget of ten pounds.\n",
    "Projects Plan.md": "---\ncreated: 2025-07-10\n---\n# Garden\n\nPlant the roses.\n",
}
DIARY = {
    "証明書.md": "---\ntags: [運用]\ncreated: 2024-01-10\n---\n# 証明書の更新\n\n"
    "サーバー証明書の有効期限を確認し、期限が切れる前に更新する。\n",
    "花見.md": "---\ncreated: 2024-02-10\n---\n# 花見\n\n"
    "桜を見た。期限はない。ＰＤＦ出力も試した。\n",
    "あ.md": "---\ncreated: 2024-03-10\n---\n# 朝\n\n気分 を 変える。\n",
}
VAULTS = {"Work": WORK, "home": HOME, "日誌": DIARY}


@pytest.fixture(scope="module")
def respond(searching):
    """Search: `respond("query", QueryFilters(…))`."""
    return searching(VAULTS, top_k=50)


@pytest.fixture(scope="module")
def found(respond):
    """Return the file names (without `.md`) that a query finds, sorted."""

    def run(query: str, **filters) -> list[str]:
        response = respond(query, QueryFilters(**filters) if filters else None)
        return sorted(
            result.file_path.rpartition("/")[2].removesuffix(".md") for result in response.results
        )

    return run


ALL = sorted(
    path.rpartition("/")[2].removesuffix(".md") for notes in VAULTS.values() for path in notes
)


def without(*names: str) -> list[str]:
    return [name for name in ALL if name not in names]


class TestPhrases:
    def test_words_must_stand_in_a_row_in_that_order(self, found):
        assert found("error budget") == ["budget", "errors", "money", "shopping list"]
        assert found('"error budget"') == ["budget", "errors"]
        assert found('"budget error"') == []

    @rows(
        "phrase, expected",
        ("ERROR Budget", ["budget", "errors"]),
        ("error-budget", ["budget", "errors"]),
        ("error, budget!", ["budget", "errors"]),
        ("of ours it is", ["errors"]),  # over a question mark
        ("CAFÉ Müller résumé", ["café"]),
        ("Ｃａｆé ｍüｌｌｅｒ", ["café"]),
        ("pods kubectl", ["Kubernetes"]),
        ("Dave notes", ["Kubernetes"]),
        ("Dave’s notes", ["Kubernetes"]),
    )
    def test_case_width_and_punctuation_do_not_matter(self, found, phrase, expected):
        assert found(f'"{phrase}"') == expected

    def test_words_of_a_phrase_stand_as_they_are_written(self, found):
        assert found('"errors budget"') == []

    def test_a_phrase_of_the_title_is_found_in_every_chunk(self, found, respond):
        assert found('"café visits"') == ["café"]
        assert found('"café visits" -"we met"') == []

    @rows(
        "phrase, expected",
        ("証明書の更新", ["証明書"]),
        ("有効期限", ["証明書"]),
        ("期限", ["花見", "証明書"]),
        ("効期", ["証明書"]),  # any part of a run
        ("期限有効", []),
        ("桜を見た", ["花見"]),
        ("PDF出力", ["花見"]),
        ("pdf 出力", ["花見"]),
        ("出力", ["花見"]),
        ("確認し、期限", ["証明書"]),
        ("ｻｰﾊﾞｰ証明書", ["証明書"]),
    )
    def test_japanese_phrases_are_found_inside_longer_runs(self, found, phrase, expected):
        assert found(f'"{phrase}"') == expected

    def test_a_lone_hiragana_character_counts_inside_a_run_too(self, found):
        assert found('"ぬ"') == []
        assert found('"を"') == ["あ", "花見", "証明書"]  # in the first alone, in the others not
        assert found('"を" 桜') == ["あ", "花見", "証明書"]
        assert found('-"ぬ" vault:日誌') == ["あ", "花見", "証明書"]
        assert found('-"た" vault:日誌') == ["あ", "証明書"]
        assert found("-た vault:日誌") == ["あ", "証明書"]

    @rows(
        "phrase",
        *("money holiday", "costs the budget", "errors alerts", "cluster dave", "花見桜"),
        "更新サー",
    )
    def test_a_phrase_does_not_run_from_one_part_of_a_note_into_another(self, found, phrase):
        assert found(f'"{phrase}"') == []
        assert found(f'-"{phrase}"') == ALL

    def test_every_phrase_must_be_there(self, found):
        assert found('"error budget" "reliability may cost"') == ["budget"]
        assert found('"error budget" "page on call"') == ["errors"]  # in different chunks
        assert found('"error budget" "plant the roses"') == []

    def test_a_phrase_filters_and_plain_words_rank(self, respond):
        results = respond('"error budget" alerts').results
        assert [result.file_path for result in results] == ["errors.md", "budget.md"]

    def test_words_of_a_phrase_are_whole(self, found):
        assert found('"error budge"') == []
        assert found('"rror budget"') == []

    @rows("phrase", "cafe muller", "Cafe Müller")
    def test_accents_do(self, found, phrase):
        assert found(f'"{phrase}"') == []

    def test_of_a_single_word_no_other_form_counts(self, found):
        assert found("restarting") == ["Kubernetes"]
        assert found('"restarting"') == []
        assert found('"restart"') == []
        assert found('"restarts"') == ["Kubernetes"]


class TestFileNames:
    """The words of a file name that the note's title does not hold are words of the note."""

    def test_its_words_find_the_note(self, found):
        assert found("projects") == ["Projects Plan"]
        assert found("roses projects eggs") == ["Projects Plan", "shopping list"]
        assert found("vault:home -projects") == ["shopping list"]

    @rows(
        "query, expected",
        ('"projects plan"', ["Projects Plan"]),
        ('"PROJECTS, plan"', ["Projects Plan"]),
        ('"plan projects"', []),
        ('"plan garden"', []),  # the name ends where the title begins
        ('"projects plan" roses', ["Projects Plan"]),
        ('vault:home -"projects plan"', ["shopping list"]),
    )
    def test_a_phrase_may_stand_in_it(self, found, query, expected):
        assert found(query) == expected

    def test_a_japanese_one_is_found_by_any_part_of_it(self, searching):
        notes = {"引き継ぎ資料.md": "# 雛形\n\n本文。\n", "b.md": "# 別\n\n他のこと。\n"}
        find = searching({"v": notes})
        for query in ('"継ぎ資"', "title:資料", "資料"):
            assert [result.file_path for result in find(query).results] == ["引き継ぎ資料.md"]


class TestExclusions:
    def test_a_note_that_holds_the_word_is_left_out(self, found):
        assert found("budget -error") == ["shopping list"]

    def test_the_word_may_stand_in_another_chunk(self, found):
        assert found('"error budget" -page') == ["budget"]

    def test_the_word_may_stand_in_the_title_an_alias_or_a_heading(self, found):
        assert found("budget -errors -money") == ["shopping list"]
        assert found("budget -holiday") == ["budget", "errors", "shopping list"]
        assert found('"error budget" -alerts') == ["budget"]

    @rows("form", "restart", "restarts", "restarted", "RESTARTING")
    def test_other_forms_of_the_word_count(self, found, form):
        assert found(f"kubectl -{form}") == []

    def test_a_phrase_is_excluded_as_a_whole(self, found):
        assert found('budget -"error budget"') == ["money", "shopping list"]
        assert found('budget -"budget error"') == found("budget")

    def test_a_phrase_in_another_chunk_or_in_the_title_counts(self, found):
        assert found('budget -"page on call"') == ["budget", "money", "shopping list"]
        assert found('roses -"garden"') == []

    @rows(
        "excluded, expected",
        *(("桜", ["証明書"]), ("有効", ["花見"]), ("期限", []), ("吹雪", ["花見", "証明書"])),
    )
    def test_japanese(self, found, excluded, expected):
        assert found(f"期限 -{excluded}") == expected

    def test_only_exclusions_list_the_rest(self, found):
        assert found("-budget") == without("budget", "errors", "money", "shopping list")
        assert found('-"error budget" -期限') == without("budget", "errors", "花見", "証明書")

    def test_one_word_wanted_and_excluded_finds_nothing(self, found):
        assert found("budget -budget") == []


class TestTags:
    @rows(
        "query, expected",
        ("tag:sre", ["budget", "errors"]),
        ("tag:sre/slo", ["budget"]),
        ("tag:#SRE", ["budget", "errors"]),
        ("TAG:sre", ["budget", "errors"]),
        ("tag：sre", ["budget", "errors"]),
        ('tag:"sre"', ["budget", "errors"]),
        ("tag:sre tag:draft", ["budget"]),
        ("tag:sre -tag:draft", ["errors"]),
        ("tag:sre -tag:sre", []),
        ("-tag:sre -tag:レシピ -tag:運用", without("budget", "errors", "shopping list", "証明書")),
        ("-tag:draft", without("budget")),
        ("tag:レシピ", ["shopping list"]),
        ("tag:nowhere", []),
        ("-tag:nowhere", ALL),
        ("tag:draft error", ["budget"]),
        ("-tag:sre error", ["money"]),
    )
    def test_only_such_notes(self, found, query, expected):
        assert found(query) == expected


class TestVaults:
    @rows(
        "query, expected",
        ("vault:home", ["Projects Plan", "shopping list"]),
        ("vault:HOME", ["Projects Plan", "shopping list"]),
        ("vault:work budget", ["budget", "errors", "money"]),
        ("vault:home vault:日誌", ["Projects Plan", "shopping list", "あ", "花見", "証明書"]),
        ("-vault:work -vault:日誌", ["Projects Plan", "shopping list"]),
        ("-vault:Home budget", ["budget", "errors", "money"]),
        ("vault:home -vault:home", []),
    )
    def test_notes_of_any_of_them(self, found, query, expected):
        assert found(query) == expected

    @rows("query", "vault:wrok", "-vault:wrok budget", "budget vault:wrok")
    def test_an_unknown_one_is_a_usage_error_with_the_nearest(self, found, query):
        with pytest.raises(UsageError, match="wrok") as raised:
            found(query)
        assert "Work" in raised.value.hint


class TestPaths:
    @pytest.fixture(scope="class")
    @classmethod
    def odd(cls, searching):
        """Search notes with odd names; return their paths, sorted."""
        notes = {"odd*\\ end.md": "odd", "plain.md": "plain", "a[b.md": "bracket"}
        find = searching({"v": notes})
        return lambda query: sorted(result.file_path for result in find(query).results)

    @rows(
        "query, expected",
        ("path:projects/", ["Kubernetes", "café"]),
        ("path:PROJECTS", ["Kubernetes", "Projects Plan", "café"]),
        ("path:deep", ["café"]),
        ("path:Work/projects/K", ["Kubernetes"]),
        ('path:"shopping list"', ["shopping list"]),
        ("path:cafe\u0301", ["café"]),
        ("path:cafe", ["café"]),
        ("path:CAFÉ", ["café"]),
        ("path:ＣＡＦÈ", ["café"]),
        ("-path:cafe path:projects/", ["Kubernetes"]),
        ("path:日誌/花", ["花見"]),
        ("path:証明", ["証明書"]),
        ("path:nowhere", []),
        ("path:projects path:deep", ["café"]),
        ("path:projects/*.md", ["Kubernetes"]),
        ("path:projects/**", ["Kubernetes", "café"]),
        ("path:*list.md", ["shopping list"]),
        ("path:home/*.md", ["Projects Plan", "shopping list"]),
        ("path:m?ney.md", ["money"]),
        ("path:[ab]*.md -path:nothing", ["budget"]),
        ("-path:projects vault:work", ["budget", "errors", "money"]),
        ("-path:projects/* vault:work", ["budget", "café", "errors", "money"]),
        ("-path:*.md", []),
        ("path:projects restart", ["Kubernetes"]),
    )
    def test_a_fragment_or_a_glob(self, found, query, expected):
        assert found(query) == expected

    @rows(
        "query, expected",
        ("path:*\\", ["odd*\\ end.md"]),
        ("path:D*\\", ["odd*\\ end.md"]),
        ("-path:*\\", ["a[b.md", "plain.md"]),
        ("-path:x*\\", ["a[b.md", "odd*\\ end.md", "plain.md"]),
        ("path:a[b", ["a[b.md"]),
        ("-path:[z-a]", ["a[b.md", "odd*\\ end.md", "plain.md"]),
    )
    def test_a_glob_that_is_none_is_a_fragment(self, odd, query, expected):
        assert odd(query) == expected

    def test_so_is_a_range_that_runs_backwards(self, found):
        with pytest.raises(QueryError, match="not a path pattern"):
            found("budget", paths=["[z-a]"])


class TestTitles:
    @rows(
        "query, expected",
        ("title:error", ["budget", "errors"]),
        ('title:"Error budget"', ["budget"]),
        ("title:holiday", ["money"]),  # an alias
        ("title:ERRO", ["budget", "errors"]),  # the beginning of a word
        ("title:証明書", ["証明書"]),
        ("title:cafe", ["café"]),
        ("title:CAFÉ", ["café"]),
        ('title:"ｃａｆè ｖｉｓｉｔｓ"', ["café"]),
        ("path:projects/ -title:cafe", ["Kubernetes"]),
        ("title:kubernetes", ["Kubernetes"]),  # a file name
        ('title:"Projects Plan"', ["Projects Plan"]),
        ("title:ects", ["Projects Plan"]),  # but no folder's name
        ("vault:home -title:plan", ["shopping list"]),
        ("title:error title:budget", ["budget"]),
        ("budget -title:error", ["money", "shopping list"]),
        ("budget -title:holiday", ["budget", "errors", "shopping list"]),
        ("vault:work -title:error -title:c", []),
        ("vault:work -title:rror -title:af", ["Kubernetes", "money"]),
        ("title:ror", ["budget", "errors"]),  # inside a word
        ("title:ror -title:budget", ["errors"]),
        ("title:ror page", ["budget", "errors"]),
        ("title:olid", ["money"]),  # of an alias
    )
    def test_only_notes_whose_title_alias_or_file_name_holds_it(self, found, query, expected):
        assert found(query) == expected


class TestPrefixes:
    def test_words_that_begin_so_are_found(self, found, respond):
        assert found("kube*") == ["Kubernetes"]
        assert found("relia*") == ["budget"]
        searched = respond("kube*").searched.split()
        assert searched == ["kube", "kubectl", "kubelets", "kubernetes"]

    def test_what_was_typed_counts_more_than_what_it_stands_for(self, respond):
        typed = respond("kubernetes").results[0].scores["lexical"]
        meant = respond("kubernete*").results[0].scores["lexical"]
        assert 0 < meant < typed

    @rows(
        "query, expected",
        ("vault:work -kube*", ["budget", "café", "errors", "money"]),
        ("vault:work -restar*", ["budget", "café", "errors", "money"]),
        ("vault:work -xylo*", ["Kubernetes", "budget", "café", "errors", "money"]),
        ("vault:日誌 -サー*", ["あ", "花見"]),
        ("vault:日誌 -証明*", ["あ", "花見"]),
        ("vault:日誌 -ーバー*", ["あ", "花見"]),  # in the middle of a run too
        ("vault:日誌 -期限*", ["あ"]),
        ("vault:日誌 -PDF出*", ["あ", "証明書"]),
        ("vault:日誌 -吹雪*", ["あ", "花見", "証明書"]),
        ("vault:work －ＫＵＢＥ＊", ["budget", "café", "errors", "money"]),
        ("vault:work -restar* -ali*", ["budget", "café", "errors", "money"]),
        ("-kube*", without("Kubernetes")),
    )
    def test_with_a_minus_no_word_may_begin_so(self, found, query, expected):
        assert found(query) == expected


class TestWithFlags:
    def test_both_must_hold(self, found):
        assert found("tag:sre", tags=["draft"]) == ["budget"]
        assert found("budget -error", vaults=["Work"]) == []
        assert found("vault:work budget", vaults=["home"]) == []
        assert found("budget vault:work", paths=["m*.md"]) == ["money"]
        assert found("path:projects", paths=["**/deep/**"]) == ["café"]
        assert found('"error budget"', date_from=date(2025, 2, 1)) == ["errors"]
        assert found("-budget", date_to=date(2024, 2, 28)) == ["花見", "証明書"]


class TestFiltersOnly:
    def test_notes_are_listed_the_newest_first(self, respond):
        assert paths(respond("vault:work")) == [
            *("projects/deep/café.md", "projects/Kubernetes.md", "money.md", "errors.md"),
            "budget.md",
        ]
        assert [r.created for r in respond("-vault:work").results] == [
            *("2025-07-10", "2025-06-10", "2024-03-10", "2024-02-10", "2024-01-10")
        ]

    def test_each_is_shown_by_its_beginning_and_has_no_score(self, respond):
        response = respond("vault:work tag:sre")
        assert all(result.position == 0 for result in response.results)
        assert [result.score for result in response.results] == [0.0, 0.0]
        assert response.searched == ""

    def test_top_k_takes_the_newest(self, respond):
        expected = ["Projects Plan.md", "shopping list.md", "projects/deep/café.md"]
        assert paths(respond("-tag:nowhere", top_k=3)) == expected
        assert respond("-tag:nowhere", top_k=3).total == 3

    def test_the_first_of_many_notes_of_one_day_are_those_of_a_longer_list(self, searching):
        notes = {f"{n}.md": f"---\ncreated: 2024-01-01\n---\nnote {n}\n" for n in range(300)}
        find = searching({"v": notes})
        few, many = (paths(find("vault:v", top_k=k)) for k in (4, 300))
        assert few == many[:4]

    def test_a_long_note_does_not_hide_the_others(self, searching):
        sections = "\n\n".join(f"## Part {n}\n\nNumber {n}.\n" for n in range(150))
        notes = {f"{n}.md": f"---\ncreated: 2024-01-0{n}\n---\nnote {n}\n" for n in range(1, 4)}
        notes["long.md"] = f"---\ncreated: 2025-01-01\n---\n# Long\n\n{sections}"
        find = searching({"v": notes})
        for top_k in (1, 2, 4, 9):
            found = paths(find("vault:v", top_k=top_k))
            assert found == ["long.md", "3.md", "2.md", "1.md"][:top_k]

    def test_notes_that_say_the_same_are_listed_each(self, searching):
        same = " ".join(f"word{n}" for n in range(60))
        notes = {f"{n}.md": f"---\ncreated: 2025-01-0{n}\n---\n{same}\n" for n in range(1, 5)}
        notes["old.md"] = "---\ncreated: 2024-01-01\n---\nold\n"
        find = searching({"v": notes})
        two, all_of_them = (find("vault:v", top_k=top_k) for top_k in (2, 9))
        assert paths(two) == ["4.md", "3.md"]
        assert paths(all_of_them) == ["4.md", "3.md", "2.md", "1.md", "old.md"]
        assert all(result.duplicates == [] for result in all_of_them.results)
