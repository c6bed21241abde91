"""Steps that plug-ins bring: the one that docs/context.md shows, and what is none."""

import re
import tomllib
from pathlib import Path

import pytest

from context_parts import contents, item
from rag.context import ContextPipeline, find_step
from rag.exceptions import RAGError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "context.md"


def test_the_plug_in_of_the_context_page_is_found_by_name(install):
    text = PAGE.read_text("utf-8").partition("## Your own, by name")[2]
    declared, source = re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:2]
    groups = tomllib.loads(declared)["project"]["entry-points"]
    install("rag-extras", groups, rag_extras=source)

    pipeline = ContextPipeline().add_step(find_step("no-drafts"))
    items = [item("a"), item("b", metadata={"tags": ["draft"]}), item("c")]
    result = pipeline.build("q", items)
    assert contents(result.window.items) == ["a", "c"]


def test_a_plugin_that_makes_something_else_is_an_error(install):
    install("extra", {"rag.steps": {"nothing": "no_step:make"}}, no_step="def make(): pass")
    with pytest.raises(RAGError, match="made a NoneType, which is no PipelineStep"):
        find_step("nothing")
