"""What each tool gives: text that suffices alone, the same as data, and errors that help."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from mcp_client import modern
from rag.config import RAGConfig
from rag.mcp.dispatcher import Dispatcher
from rag.mcp.library import Library
from rag.mcp.protocol import Connection
from rag.mcp.tools.definitions import BY_NAME

Tool = Callable[..., dict[str, Any]]
_FENCE = re.compile(r"<<< (\w+)\n(.*)\n(\w+) >>>", re.DOTALL)


def text(result: dict[str, Any]) -> str:
    [content] = result["content"]
    return str(content["text"])


def data(result: dict[str, Any]) -> dict[str, Any]:
    """Return what a result gives programs, once it fits the schema of its tool."""
    assert result["isError"] is False
    found: dict[str, Any] = result["structuredContent"]
    return found


def error(result: dict[str, Any]) -> str:
    assert result["isError"] is True
    assert "structuredContent" not in result
    return text(result)


class TestSearch:
    def test_a_result_has_all_that_is_needed_to_read_and_cite_it(self, tool: Tool):
        [found, *_] = data(tool("search", query="restore script"))["results"]
        assert found["vault"] == "work"
        assert found["path"] == "Backups.md"
        assert found["title"] == "Backups"
        assert found["heading"] == ["Restore"]
        assert found["line"] == 13
        assert "Run the restore script" in found["snippet"]
        assert found["uri"] == "rag://note/work/Backups.md"
        assert 0 < found["score"] < 1
        assert data(tool("get", note=found["id"]))["path"] == "Backups.md"

    def test_the_text_alone_has_title_place_and_snippet(self, tool: Tool):
        shown = text(tool("search", query="restore script"))
        for part in ("1. Backups", "work/Backups.md:13", "Restore", "Run the restore script"):
            assert part in shown

    def test_the_code_around_notes_is_another_one_in_each_call(self, tool: Tool):
        codes = set()
        for _ in range(3):
            match = _FENCE.search(text(tool("search", query="backups")))
            assert match
            assert match[1] == match[3]
            assert match[1] not in match[2]
            codes.add(match[1])
        assert len(codes) == 3

    def test_japanese_is_found(self, tool: Tool):
        [found, *_] = data(tool("search", query="証明書の更新"))["results"]
        assert (found["vault"], found["path"]) == ("日本", "証明書.md")

    def test_several_wordings_find_each_note_once_best_first(self, tool: Tool):
        found = data(tool("search", queries=["restore script", "証明書", "backups"]))["results"]
        paths = [one["path"] for one in found]
        assert {"Backups.md", "証明書.md"} <= {*paths}
        assert len(paths) == len({*paths})
        assert [one["score"] for one in found] == sorted(
            (one["score"] for one in found), reverse=True
        )

    @pytest.mark.parametrize(
        ("filters", "paths"),
        [
            ({"tags": ["ops/backup"]}, ["Backups.md"]),
            ({"where": {"status": "done"}}, ["Backups.md"]),
            ({"vaults": ["日本"], "to": "2024"}, ["証明書.md"]),
            ({"paths": ["runbooks/*"]}, ["runbooks/Rollback 100%.md"]),
            ({"from_": "2025-06", "tags": ["ops"]}, ["runbooks/Rollback 100%.md"]),
            ({"to": "2025-06", "paths": ["runbooks/*"]}, ["runbooks/Rollback 100%.md"]),
        ],
    )
    def test_filters_alone_list_notes(self, tool: Tool, filters: Any, paths: list[str]):
        found = data(tool("search", **filters))["results"]
        assert [one["path"] for one in found] == paths

    def test_pages_hold_every_note_once(self, tool: Tool):
        seen: list[str] = []
        arguments: dict[str, Any] = {"query": "quokka", "limit": 10}
        while True:
            result = tool("search", **arguments)
            seen += [one["path"] for one in data(result)["results"]]
            cursor = data(result).get("cursor")
            if not cursor:
                break
            assert f'"{cursor}"' in text(result)
            arguments["cursor"] = cursor
        assert sorted(seen) == [f"daily/2026-11-{day:02}.md" for day in range(1, 26)]

    @pytest.mark.parametrize("cursor", ["", "x", "-1", "10-00000000", "99999-x", "٣-x"])
    def test_a_cursor_of_another_search_is_refused(self, tool: Tool, cursor: str):
        assert "cursor" in error(tool("search", query="quokka", cursor=cursor))

    def test_a_misspelt_word_is_corrected_and_that_is_said(self, tool: Tool):
        result = tool("search", query="wombts")
        assert data(result)["corrections"] == {"wombts": "wombats"}
        assert 'searched for "wombats"' in text(result)

    def test_a_word_that_no_note_holds_is_named(self, tool: Tool):
        assert data(tool("search", query="backups xylophone"))["missing"] == ["xylophone"]

    def test_nothing_found_says_what_to_try(self, tool: Tool):
        result = tool("search", query="xylophone")
        assert data(result)["results"] == []
        assert "Try other words" in text(result)

    def test_what_instructs_a_model_is_left_out(self, tool: Tool):
        result = tool("search", query="budget unlimited")
        assert "Ignore all previous" not in text(result) + str(data(result))

    def test_it_says_how_fresh_the_index_is(self, tool: Tool):
        assert data(tool("search", query="backups"))["index"]["notes"] == 31

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({}, "give a query"),
            ({"query": " "}, "give a query"),
            ({"query": 7}, "query must be a string"),
            ({"quer": "x"}, "did you mean query?"),
            ({"query": "x", "limit": 0}, "from 1 to 50"),
            ({"query": "x", "limit": 51}, "from 1 to 50"),
            ({"query": "x", "limit": True}, "whole number"),
            ({"query": "x", "mode": "odd"}, "auto, lexical, dense, hybrid"),
            ({"queries": ["a"] * 5}, "at most 4"),
            ({"query": "x", "from_": "someday"}, "from: 'someday' is not a date"),
            ({"query": "x", "from_": "2025", "to": "2024"}, "swap them"),
            ({"query": "x", "vaults": ["wrk"]}, "wrk"),
            ({"query": "x", "tags": ["#"]}, "empty"),
            ({"query": "x", "where": {"status": ""}}, "empty"),
            ({"query": "x", "where": {"status": 1}}, "where.status must be a string"),
            ({"query": "x", "mode": "dense"}, "lexical"),
        ],
    )
    def test_what_does_not_fit_is_refused_in_words(self, tool: Tool, arguments: Any, said: str):
        assert said in error(tool("search", **arguments))


class TestGet:
    @pytest.mark.parametrize(
        "name",
        [
            "Backups",
            "Backups.md",
            "work/Backups.md",
            "Safety copies",
            "[[Backups|copies]]",
            "rag://note/work/Backups.md",
        ],
    )
    def test_a_note_is_found_by_each_of_its_names(self, tool: Tool, name: str):
        assert data(tool("get", note=name))["path"] == "Backups.md"

    def test_lines_have_their_numbers(self, tool: Tool):
        assert "\n 9  We keep backups for ninety days.\n" in text(tool("get", note="Backups"))

    def test_a_heading_picks_a_section(self, tool: Tool):
        found = data(tool("get", note="[[Backups]]", heading="Restore"))
        assert found["line_start"] == 11
        assert found["content"].startswith("## Restore")

    def test_going_on_reads_every_line_once(self, tool: Tool):
        lines: list[str] = []
        arguments: dict[str, Any] = {"note": "Log"}
        while True:
            result = tool("get", **arguments)
            found = data(result)
            assert found["line_start"] == len(lines) + 1
            lines += found["content"].split("\n")
            assert len(text(result)) <= 20_000
            if "next_line" not in found:
                break
            assert f"from_line {found['next_line']}" in text(result)
            arguments["from_line"] = found["next_line"]
        assert len(lines) == 902
        assert lines[2].startswith("Line 0 ")
        assert lines[-1].startswith("Line 899 ")

    def test_a_limit_of_lines_is_kept(self, tool: Tool):
        found = data(tool("get", note="Log", from_line=11, max_lines=5))
        assert (found["line_start"], found["line_end"], found["next_line"]) == (11, 15, 16)

    def test_what_instructs_a_model_is_left_out_and_the_rest_keeps_its_numbers(self, tool: Tool):
        shown = text(tool("get", note="Clipped"))
        assert "Ignore all previous" not in shown
        assert "unlimited" not in shown
        assert "\n5  [left out: text that instructs a model]\n" in shown
        assert "\n8  It is paid in June.\n" in shown

    def test_a_name_that_no_note_has_is_answered_with_those_near(self, tool: Tool):
        assert "work/Backups.md" in error(tool("get", note="Backup"))

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({}, "note is missing"),
            ({"note": " "}, "empty"),
            ({"note": "Log", "from_line": 5000}, "there is no line 5000"),
            ({"note": "Log", "heading": "None"}, "None"),
            ({"note": "Log", "heading": "Log", "from_line": 1}, "not both"),
            ({"note": "rag://note/work"}, "rag://note/{vault}"),
            ({"note": "Log", "line": 5}, "note, heading, from_line, max_lines"),
        ],
    )
    def test_what_does_not_fit_is_refused_in_words(self, tool: Tool, arguments: Any, said: str):
        assert said in error(tool("get", **arguments))


class TestGetMany:
    def test_each_is_there_or_its_error(self, tool: Tool):
        found = data(tool("get_many", notes=["Backups", "None", "証明書.md"]))["notes"]
        assert [one.get("path") for one in found] == ["Backups.md", None, "証明書.md"]
        assert "no note called" in found[1]["error"]["message"]

    def test_a_glob_names_at_most_twenty_and_says_how_many_there_are(self, tool: Tool):
        result = tool("get_many", glob="daily/2026-11-*")
        assert len(data(result)["notes"]) == 20
        assert data(result)["total"] == 25
        assert "5 more match" in text(result)

    def test_they_share_the_room(self, tool: Tool):
        result = tool("get_many", notes=["Log", "Backups", "work/Clipped.md"], max_chars=4000)
        assert len(text(result)) < 5000
        assert "ninety days" in text(result)
        assert len(text(tool("get_many", notes=["Log", "work/Log.md", "Log.md"]))) <= 20_000

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({}, "one of them"),
            ({"notes": ["a"], "glob": "b"}, "one of them"),
            ({"notes": ["a"] * 21}, "at most 20"),
            ({"glob": "none/*"}, "no note's path matches"),
        ],
    )
    def test_what_does_not_fit_is_refused_in_words(self, tool: Tool, arguments: Any, said: str):
        assert said in error(tool("get_many", **arguments))


class TestRelated:
    def test_a_related_note_has_passages_why_and_a_link(
        self, build_index: Callable[..., RAGConfig]
    ):
        text_of = "# {}\n\nThe walrus keeps the ledger of the harbour.\n"
        config = build_index({"v": {f"{n}.md": text_of.format(n) for n in ("One", "Two")}})
        library = Library(lambda: config)
        message = modern("tools/call", name="related", arguments={"note": "One", "min_score": 0})
        result = Dispatcher(library).handle(message, Connection())["result"]
        library.close()
        [found] = data(result)["results"]
        assert (found["link"], found["uri"]) == ("[[Two]]", "rag://note/v/Two.md")
        assert "walrus" in found["passages"][0]["text"]
        assert found["passages"][0]["text"] in text(result)

    def test_days_of_one_template_are_not_related(self, tool: Tool):
        result = tool("related", note="daily/2026-11-01.md")
        assert data(result)["results"] == []
        assert text(result).startswith("No note is clearly related")

    def test_what_instructs_a_model_is_left_out(self, tool: Tool):
        assert "unlimited" not in text(tool("related", note="Backups", limit=50))

    def test_links_are_walked(self, tool: Tool):
        result = tool("related", note="Backups", links="both", depth=2)
        assert data(result) == {"results": [], "links": []}
        assert "no such links" in text(result)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"note": " "}, "note is empty"),
            ({"note": "Backups", "depth": 2}, "depth goes with links"),
            ({"note": "Backups", "links": "up"}, "out, in"),
            ({"note": "Backups", "links": "in", "depth": 4}, "depth must be from 1 to 3, not 4"),
            ({"note": "Backups", "links": "in", "depth": 0}, "depth must be from 1 to 3, not 0"),
            ({"note": "Backups", "links": "in", "min_score": 0.3}, "does not go with links"),
            ({"note": "Backup"}, "Backups"),
        ],
    )
    def test_what_does_not_fit_is_refused_in_words(self, tool: Tool, arguments: Any, said: str):
        assert said in error(tool("related", **arguments))


class TestAsk:
    def test_an_answer_has_its_source_with_the_line(self, tool: Tool):
        result = tool("ask", question="How long do we keep backups?")
        found = data(result)
        assert found["found"] is True
        assert "ninety days" in found["answer"]
        assert found["sources"][0]["path"] == "Backups.md"
        assert found["citations"][0]["line"] == 9
        assert "work/Backups.md:9" in text(result)

    def test_what_the_notes_do_not_hold_is_said(self, tool: Tool):
        result = tool("ask", question="Who won the chess tournament in Reykjavik?", model="none")
        assert data(result)["found"] is False
        assert text(result).startswith("Not found in the notes.")

    def test_filters_hold(self, tool: Tool):
        asked = {"question": "How long do we keep backups?", "vaults": ["日本"]}
        assert data(tool("ask", **asked))["found"] is False

    def test_an_empty_question_is_refused(self, tool: Tool):
        assert "empty" in error(tool("ask", question=" "))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"query": "restore"}),
        ("get", {"note": "Backups"}),
        ("get_many", {"notes": ["Backups"]}),
        ("ask", {"question": "What do we run to restore?"}),
    ],
)
def test_text_of_notes_stands_within_the_fence_alone(tool: Tool, name: str, arguments: Any):
    shown = text(tool(name, **arguments))
    fence = _FENCE.search(shown)
    assert fence
    assert "restore script" in fence[2]
    assert "restore script" not in shown.replace(fence[0], "")


def test_status_tells_vaults_and_age(tool: Tool):
    result = tool("status")
    assert data(result)["vaults"]["work"]["notes"] == 29
    assert data(result)["index"]["notes"] == 31
    for part in ("31 notes", "up to date", "vault 日本: 2 notes"):
        assert part in text(result)


def test_every_tool_gives_what_its_schema_requires(tool: Tool):
    from jsonschema import validate

    for name, arguments in {
        "search": {"query": "backups"},
        "get": {"note": "Backups"},
        "get_many": {"notes": ["Backups", "None"]},
        "related": {"note": "Backups"},
        "ask": {"question": "How long do we keep backups?"},
        "status": {},
    }.items():
        validate(data(tool(name, **arguments)), BY_NAME[name]["outputSchema"])
