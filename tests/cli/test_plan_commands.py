"""`--plan`, `--no-plan`, `rag plan` and `planner.plan` on the command line."""

import pytest

QUERY = "rolling back tagged ops since 2025-06"
LINE = "#ops · since 2025-06-01 · rolling back"
WAY_BACK = "(--no-plan searches the words as typed)"


@pytest.fixture(autouse=True)
def no_audit(library, monkeypatch) -> None:
    """The index is that of all tests."""
    monkeypatch.setenv("RAG_PLANNER__AUDIT", "false")


def places(ran) -> list[str]:
    return [result["path"] for result in ran.json["results"]]


def test_a_plan_says_what_a_search_filters_by_only_where_it_is_told_to(rag, monkeypatch):
    assert "--plan" not in rag("plan", QUERY).err
    monkeypatch.setenv("RAG_PLANNER__PLAN", "never")
    assert "with --plan it filters so" in rag("plan", QUERY).err


class TestSearch:
    def test_what_was_understood_is_said_off_the_results(self, rag):
        ran = rag("search", QUERY)
        assert ran.err == f"{LINE} {WAY_BACK}\n"
        assert ran.out.splitlines()[0].split()[:3] == ["1", "Rolling", "back"]

    def test_no_plan_searches_the_words_as_typed(self, rag):
        ran = rag("search", QUERY, "--no-plan", "--json")
        assert "plan" not in ran.json
        assert ran.err.splitlines() == [
            f'no note holds "{word}"' for word in ("tagged", "ops", "since")
        ]

    def test_a_plain_query_is_not_planned_unless_that_is_asked_for(self, rag):
        assert "plan" not in rag("search", "rolling back", "--json").json
        ran = rag("search", "rolling back", "--json", "--plan")
        assert ran.json["plan"]["narrows"] is False
        assert ran.err == "no filters were recognised in the query\n"

    def test_what_fits_nothing_is_let_go_and_said(self, rag):
        ran = rag("search", "証明書 #ops", "--json")
        assert (ran.code, places(ran)) == (0, ["証明書.md"])
        assert ran.json["plan"]["relaxed"] is True
        assert "searched without those filters" in ran.err


class TestPlan:
    def test_it_shows_everything_and_searches_nothing(self, rag):
        ran = rag("plan", QUERY, "-v", "work")
        assert ran.code == 0 and ran.out.splitlines()[0] == f"work vault · {LINE}"
        rows = dict(line.split(None, 1) for line in ran.out.splitlines()[1:])
        assert rows["vault"] == "work" and rows["tag"] == "#ops" and rows["words"] == "rolling back"
        assert rows["time"] == "created since 2025-06-01"
        assert rows["model"] == "none: read by rules"

    def test_it_asks_the_model_and_no_model_does_not(self, rag, server):
        final = {"action": "final", "transformed_query": "undo it", "confidence": 0.9}
        server.say(final, "A note.")
        shown = rag("plan", QUERY, "--json").json
        assert shown["models"] and shown["metadata"]["tags"] == ["ops"]
        asked = len(server.requests("/api/chat"))
        assert rag("plan", QUERY, "--json", "--no-model").json["models"] == {}
        assert len(server.requests("/api/chat")) == asked > 0


def test_an_index_of_an_older_version_says_so(rag, write_notes, monkeypatch, tmp_path):
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "data"))
    with monkeypatch.context() as older:
        older.setattr("rag.index.manifest.SCHEMA_VERSION", 2)
        assert rag("index", "-q", write_notes("work", {"a.md": "A note. #ops"})).code == 0
    for command in (["search", "note #ops"], ["plan", "note #ops"]):
        ran = rag(*command)
        assert ran.code == 3 and "`rag index` brings the index up to date." in ran.err
    assert rag("index", "-q").code == 0
    assert rag("search", "note #ops").code == 0
