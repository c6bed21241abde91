"""What the program does not load, though libraries import it."""

from __future__ import annotations

import subprocess
import sys

_LOOK = """
import sys
from rag.daemon.unused_libraries import leave_out_unused
leave_out_unused()
import haystack, httpx
"""
_RUN = """
@haystack.component
class Twice:
    @haystack.component.output_types(text=str)
    def run(self, text: str):
        return {"text": text * 2}

pipeline = haystack.Pipeline()
for name in ("first", "second"):
    pipeline.add_component(name, Twice())
pipeline.connect("first.text", "second.text")
found = pipeline.run({"first": {"text": "a"}})
"""


def _printed(code: str) -> str:
    command = [sys.executable, "-c", _LOOK + code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_neither_the_telemetry_client_nor_the_command_line_of_httpx_is_loaded() -> None:
    names = ["posthog", "requests", "httpx._main", "rich"]
    assert _printed(f"print([name for name in {names} if name in sys.modules])") == "[]\n"


def test_a_library_that_is_used_after_all_is_loaded_then() -> None:
    assert "class" in _printed("import posthog; print(posthog.Posthog)")


def test_requests_are_made_without_the_command_line_of_httpx() -> None:
    assert _printed("print(httpx.Request('GET', 'http://127.0.0.1/a').url.path)") == "/a\n"


def test_a_pipeline_is_run_without_what_pipelines_seldom_need() -> None:
    names = ["numpy", "pydantic", "yaml", "jsonschema", "haystack.tools", "networkx.algorithms"]
    look = f"print(found, [name for name in {names} if name in sys.modules])"
    assert _printed(_RUN + look) == "{'second': {'text': 'aaaa'}} []\n"


def test_a_pipeline_is_written_as_yaml() -> None:
    assert "sender: first.text" in _printed(_RUN + "print(pipeline.dumps())")


def test_the_order_of_a_pipeline_is_found_with_all_of_networkx() -> None:
    order = "print(pipeline._topological_sort(), 'networkx.algorithms' in sys.modules)"
    assert _printed(_RUN + order) == "{'first': 0, 'second': 1} True\n"


def test_a_tool_is_not_copied_with_the_inputs_of_a_component() -> None:
    copied = """
from haystack.core.pipeline.utils import _deepcopy_with_exceptions as copy
from haystack.tools import Tool
tool = Tool("name", "what it does", {"type": "object"}, print)
print(copy([tool])[0] is tool)
"""
    assert _printed(copied) == "True\n"
