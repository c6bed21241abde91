"""`--transform`, `rag transform` and `[routes]` on the command line."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ollama_server import OllamaServer
from rag.config import load_config
from tables import rows

MODELS = ["nomic-embed-text", "llama3.2"]

ROUTES_DOC = Path(__file__).resolve().parents[2] / "docs" / "routes.md"
VARIANT = "rolling back a deploy"
QUERY = "undo a release"


@pytest.fixture
def server(server, library) -> OllamaServer:
    return server


@pytest.fixture
def configured(empty_home) -> Callable[[str], None]:
    """Write the settings of the working folder."""
    return lambda text: (empty_home / "rag.toml").write_text(text, "utf-8") and None


class TestSearch:
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


class TestTransform:
    def test_it_shows_what_was_understood(self, rag, library):
        ran = rag("transform", 'tag:ops "two minutes" rolback -draft')
        assert (ran.code, ran.err) == (0, 'left out: notes with "draft"\n')
        assert ran.out.splitlines() == [
            *("original: two minutes rolback", "filter: tag:ops", 'filter: "two minutes"'),
            *("filter: -draft", "corrected: rolback -> rollback"),
        ]


ROUTES = """
[routes]
classifier = "keyword"
[routes.rules.ops]
keywords = ["deploy"]
mode = "lexical"
vaults = ["work"]
"""


ROUTES_MUST = "routes.rules must be a table of routes"


class TestRoutes:
    def test_the_route_is_told(self, rag, library, configured):
        configured(ROUTES)
        assert rag("search", "a deploy", "--json").json["route"] == "ops"
        assert rag("search", "a deploy", "--explain").out.startswith("route ops\n")
        assert "route" not in rag("search", "backups", "--json").json
        assert "route ops" in rag("transform", "a deploy").out

    @rows(
        "changed, named",
        (("work", "wrok"), "routes.rules.ops: no vault named 'wrok'"),
        (('"lexical"', '"lexcal"'), ROUTES_MUST),
        (('["deploy"]', '[""]'), ROUTES_MUST),
        (('["deploy"]', '"deploy"'), ROUTES_MUST),
        (('"keyword"', '"embedding"'), ROUTES_MUST),
        (("[routes.rules.ops]", 'default = "x"\n[routes.rules.ops]'), "routes.default must be"),
        (("[routes.rules.ops]", "rules.x = 1\n[routes.rules.ops]"), ROUTES_MUST),
        (("[routes.rules.ops]", "min_similarity = 2\n[routes.rules.ops]"), "within -1 and 1"),
    )
    def test_a_mistake_is_a_configuration_error(self, rag, library, configured, changed, named):
        configured(ROUTES.replace(*changed))
        ran = rag("search", "a deploy")
        assert (ran.code, ran.out) == (2, "")
        assert named in ran.err

    def test_the_examples_of_the_documentation_are_settings(self, configured):
        examples = re.findall(r"```toml\n(.*?)```", ROUTES_DOC.read_text("utf-8"), re.DOTALL)
        assert examples
        for example in examples:
            configured(example)
            assert load_config().routes.rules
