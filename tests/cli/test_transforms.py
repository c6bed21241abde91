"""`--transform`, `rag transform` and `[routes]` on the command line."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ollama_server import OllamaServer, refused
from rag.config import load_config

MODELS = ["nomic-embed-text", "llama3.2"]

ROUTES_DOC = Path(__file__).resolve().parents[2] / "docs" / "routes.md"
VARIANT = "rolling back a deploy"
QUERY = "undo a release"


@pytest.fixture
def server(server: OllamaServer, library: Path) -> OllamaServer:
    return server


@pytest.fixture
def configured(empty_home: Path) -> Callable[[str], None]:
    """Write the settings of the working folder."""
    return lambda text: (empty_home / "rag.toml").write_text(text, "utf-8") and None


class TestSearch:
    def test_variants_find_what_the_query_does_not(self, rag, server):
        assert rag("search", QUERY).code == 1
        server.say({"queries": [VARIANT]})
        ran = rag("search", QUERY, "--transform", "multi-query")
        assert ran.code == 0 and "Rolling back" in ran.out

    def test_json_tells_the_variants_and_who_found_what(self, rag, server):
        server.say({"queries": [VARIANT]}, {"question": "keep backups"})
        arguments = ("--transform", "multi-query", "--transform", "step_back", "--json")
        found = rag("search", QUERY, *arguments).json
        assert found["variants"] == [
            {
                "label": label,
                "transform": label,
                "text": text,
                "weight": 0.25,
                "sides": ["words", "meaning"],
                "fallback": "",
            }
            for label, text in (("multi-query", VARIANT), ("step-back", "keep backups"))
        ]
        by = {result["title"]: result["found_by"] for result in found["results"]}
        assert by["Rolling back"] == ["multi-query"] and by["Backups"] == ["step-back"]

    def test_explain_shows_them(self, rag, server):
        server.say({"queries": [VARIANT]})
        out = rag("search", QUERY, "--transform", "multi-query", "--explain").out
        assert out.startswith(f"multi-query (0.50): {VARIANT}\ntransforms took ")
        assert "found by multi-query\n" in out and "of it variants " in out

    def test_without_a_model_it_is_said_once(self, rag, library):
        arguments = ("--transform", "multi-query", "--transform", "hyde")
        ran = rag("search", "rolling", *arguments, "--transform", "step-back")
        assert ran.code == 0 and "Rolling back" in ran.out
        assert ran.err.count("searched without multi-query, step-back: ") == 1
        assert ran.err.count("hyde has no effect") == 1
        found = rag("search", "rolling", *arguments, "--json").json
        assert len(found["notices"]) == 2

    def test_when_nothing_listens_it_is_said_once(self, rag, library, monkeypatch):
        monkeypatch.setenv("RAG_OLLAMA__ENABLED", "true")
        with refused() as url:
            monkeypatch.setenv("RAG_OLLAMA__URL", url)
            ran = rag("search", "rolling", "--transform", "multi-query")
        assert ran.code == 0
        assert ran.err.count("Ollama does not answer") == 1

    def test_a_model_that_fails_midway_is_said(self, rag, server):
        server.fail("/api/chat", times=None)
        ran = rag("search", "How is rolling done?", "--transform", "multi-query")
        assert ran.code == 0 and ran.err.startswith("multi-query: ")

    def test_an_unknown_name_is_a_usage_error(self, rag, library):
        ran = rag("search", "rolling", "--transform", "step-bak")
        assert (ran.code, ran.out) == (2, "")
        assert "step-bak" in ran.err and "step-back" in ran.err

    def test_configured_ones_are_used_and_none_switches_them_off(self, rag, server, configured):
        configured('[search]\ntransforms = ["multi-query"]\n[ask]\ntransforms = ["decompose"]\n')
        server.say({"queries": [VARIANT]})
        assert rag("search", QUERY).code == 0
        assert rag("search", QUERY, "--transform", "none").code == 1
        assert rag("search", QUERY, "--transform", "none", "--transform", "hyde").code == 2
        assert len(server.requests("/api/chat")) == 1


def test_ask_searches_with_variants(rag, server):
    server.say({"questions": [VARIANT]})
    found = rag("ask", "How do I undo it?", "--no-model", "--transform", "decompose", "--json")
    assert "searched without decompose" in found.json["notices"][0]
    server.api.queue.clear()
    server.say({"questions": [VARIANT]}, "Rolling back a deploy takes two minutes. [1]")
    found = rag("ask", "Undo it?", "--transform", "decompose", "--json").json
    assert [one["text"] for one in found["variants"]] == [VARIANT]
    assert found["sources"][0]["title"] == "Rolling back"


def test_chat_searches_with_variants(rag, server, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("Undo it?\n"))
    server.say({"questions": [VARIANT]}, "Rolling back a deploy takes two minutes. [1]")
    ran = rag("chat", "--transform", "decompose", "--json")
    assert [one["text"] for one in ran.json["variants"]] == [VARIANT]


def test_eval_measures_a_transform(rag, server, empty_home):
    (empty_home / "q.jsonl").write_text(
        '{"query": "undo a release", "relevant": ["runbooks/Rollback.md"]}\n'
    )
    assert rag("eval", "q.jsonl", "--json").json["overall"]["hit_1"] == 0
    server.say({"queries": [VARIANT]})
    found = rag("eval", "q.jsonl", "--json", "--transform", "multi-query").json
    assert found["overall"]["hit_1"] == 1


class TestExplainedAnswers:
    def test_show_the_variants_and_who_found_what(self, rag, server):
        arguments = ("ask", QUERY, "--transform", "multi-query", "--explain")
        server.say({"queries": [VARIANT]}, "NOT_FOUND")
        err = rag(*arguments).err
        assert f"\nmulti-query (0.50): {VARIANT}\nshown to llama3.2" in err
        assert "(work/runbooks/Rollback.md), found by multi-query\n" in err
        server.say({"queries": [VARIANT]}, "NOT_FOUND")
        window = rag(*arguments, "--json").json["context"]["window"]
        notes = {item["label"]: item.get("found_by") for item in window}
        assert notes["Rolling back (work/runbooks/Rollback.md)"] == ["multi-query"]
        assert notes["the rules"] is None

    def test_show_the_route_though_no_model_is_asked(self, rag, library, configured):
        configured(ROUTES)
        err = rag("ask", "a deploy", "--no-model", "--explain").err
        assert "\nroute ops\nno window was built" in err


class TestTransform:
    def test_it_shows_the_query_and_its_variants(self, rag, server):
        server.say({"queries": [VARIANT, "revert"]}, {"document": "Undo it."})
        ran = rag("transform", QUERY, "--transform", "multi-query", "--transform", "decompose")
        assert ran.code == 0
        assert ran.out.splitlines()[:3] == [
            "original       1.00  undo a release",
            f"multi-query 1  0.17  {VARIANT}",
            "multi-query 2  0.17  revert",
        ]

    def test_it_shows_what_was_understood(self, rag, library):
        ran = rag("transform", 'tag:ops "two minutes" rolback -draft')
        assert (ran.code, ran.err) == (0, 'left out: notes with "draft"\n')
        assert ran.out.splitlines() == [
            "original   1.00  two minutes rolback",
            "filter     tag:ops",
            'filter     "two minutes"',
            "filter     -draft",
            "corrected  rolback -> rollback",
        ]

    def test_a_fallback_is_shown(self, rag, server):
        server.fail("/api/chat", times=None)
        ran = rag("transform", "How is rolling back done?", "--transform", "multi-query")
        assert (
            ran.code == 0
            and "(made without a model: " in ran.out
            and ran.err.startswith("multi-query: ")
        )

    def test_it_needs_no_index(self, rag, empty_home):
        ran = rag("transform", "tag:ops undo", "--transform", "multi-query")
        assert ran.code == 0 and ran.out.startswith("original  1.00  undo\n")
        assert "searched without multi-query" in ran.err

    def test_without_the_option_it_does_as_search_does(self, rag, server, configured):
        configured('[search]\ntransforms = ["step-back"]\n')
        server.say({"question": "releases"})
        assert "step-back  0.50  releases" in rag("transform", QUERY).out

    def test_a_dash_reads_the_query_from_stdin(self, rag, library, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.StringIO("two minutes\n"))
        assert rag("transform", "-").out == "original  1.00  two minutes\n"

    def test_without_an_index_too_the_route_is_told(self, rag, empty_home, configured):
        configured(ROUTES)
        out = rag("transform", "a deploy").out
        assert "route     ops" in out and "filter    vault:work" in out
        assert "vault:work" not in rag("transform", "a deploy vault:home").out


ROUTES = """
[routes]
classifier = "keyword"
[routes.rules.ops]
keywords = ["deploy"]
mode = "lexical"
vaults = ["work"]
"""


class TestRoutes:
    def test_the_route_is_told(self, rag, library, configured):
        configured(ROUTES)
        assert rag("search", "a deploy", "--json").json["route"] == "ops"
        assert rag("search", "a deploy", "--explain").out.startswith("route ops\n")
        assert "route" not in rag("search", "backups", "--json").json
        assert "route     ops" in rag("transform", "a deploy").out

    def test_config_shows_them(self, rag, library, configured):
        configured(ROUTES)
        assert "routes.classifier" in rag("config").out
        assert rag("config", "--json").code == 0

    @pytest.mark.parametrize(
        ("changed", "named"),
        [
            (("work", "wrok"), "routes.rules.ops: no vault named 'wrok'"),
            (('"lexical"', '"lexcal"'), "routes.rules.ops.mode must be one of"),
            (('["deploy"]', '[""]'), "routes.rules.ops.keywords must be"),
            (('["deploy"]', '"deploy"'), "routes.rules.ops.keywords must be"),
            (('"keyword"', '"embedding"'), "routes.rules must hold one with examples"),
            (("[routes.rules.ops]", 'default = "x"\n[routes.rules.ops]'), "routes.default must be"),
            (("[routes.rules.ops]", "rules.x = 1\n[routes.rules.ops]"), "rules.x must be a table"),
            (("[routes.rules.ops]", "min_similarity = 2\n[routes.rules.ops]"), "within -1 and 1"),
        ],
    )
    def test_a_mistake_is_a_configuration_error(self, rag, library, configured, changed, named):
        configured(ROUTES.replace(*changed))
        ran = rag("search", "a deploy")
        assert (ran.code, ran.out) == (2, "")
        assert named in ran.err

    @pytest.mark.parametrize(
        ("changed", "named"),
        [
            (("mode =", "colour ="), "routes.rules.ops.colour is unknown"),
            (('"keyword"', '"nosuch"'), "no classifier is named 'nosuch'"),
            (('mode = "lexical"', 'transforms = ["hide"]'), "no transform is named 'hide'"),
        ],
    )
    def test_so_is_one_that_may_be_a_plug_in_once_the_file_is_trusted(
        self, rag, library, configured, trust, empty_home, changed, named
    ):
        configured(ROUTES.replace(*changed))
        ran = rag("search", "a deploy")
        assert ran.code == 0 and "left out routes.classifier, routes.rules" in ran.err
        trust(empty_home)
        ran = rag("search", "a deploy")
        assert (ran.code, ran.out) == (2, "")
        assert named in ran.err

    def test_the_examples_of_the_documentation_are_settings(self, configured):
        examples = re.findall(r"```toml\n(.*?)```", ROUTES_DOC.read_text("utf-8"), re.DOTALL)
        assert len(examples) == 2
        for example in examples:
            configured(example)
            assert load_config().routes.rules
