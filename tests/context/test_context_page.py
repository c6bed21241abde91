"""The plug-in that docs/context.md shows is one."""

import re
import tomllib
from pathlib import Path

from context_parts import contents, item
from rag.context import ContextPipeline, find_step

PAGE = Path(__file__).resolve().parents[2] / "docs" / "context.md"


def test_the_plug_in_of_the_context_page_is_found_by_name(tmp_path, monkeypatch):
    text = PAGE.read_text("utf-8").partition("## Your own, by name")[2]
    declared, source = re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:2]
    project = tomllib.loads(declared)["project"]
    info = tmp_path / "site" / "rag_extras-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rag-extras\nVersion: 1.0\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    (info.parent / "rag_extras.py").write_text(source)
    monkeypatch.syspath_prepend(info.parent)

    pipeline = ContextPipeline().add_step(find_step("no-drafts"))
    items = [item("a"), item("b", metadata={"tags": ["draft"]}), item("c")]
    result = pipeline.build("q", items)
    assert contents(result.window.items) == ["a", "c"]
