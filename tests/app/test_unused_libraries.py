"""What the program does not load, though libraries import it."""

import subprocess
import sys

_PIPELINE = """
import sys
from rag.app.unused_libraries import leave_out_unused
leave_out_unused()
import haystack, httpx

@haystack.component
class Twice:
    @haystack.component.output_types(text=str)
    def run(self, text: str):
        return {"text": text * 2}

pipeline = haystack.Pipeline()
for name in ("first", "second"):
    pipeline.add_component(name, Twice())
pipeline.connect("first.text", "second.text")
found = pipeline.run({"first": {"text": "a"}})["second"]["text"]
"""
_UNUSED = [
    *("posthog", "requests", "httpx._main", "rich", "numpy", "pydantic", "yaml", "jsonschema"),
    *("haystack.tools", "networkx.algorithms"),
]
_TOOL = """
from haystack.core.pipeline.utils import _deepcopy_with_exceptions as copy
from haystack.tools import Tool
tool = Tool("name", "what it does", {"type": "object"}, print)
print(copy([tool])[0] is tool)
"""


# What is run after that pipeline, and what it prints.
_CASES = {
    f"print(found, [n for n in {_UNUSED} if n in sys.modules])": "aaaa []",
    "import posthog; print(posthog.Posthog.__name__)": "Posthog",
    "print(httpx.Request('GET', 'http://127.0.0.1/a').url.path)": "/a",
    "print('sender: first.text' in pipeline.dumps())": "True",
    "print(pipeline._topological_sort())": "{'first': 0, 'second': 1}",
    "import numpy; d = haystack.Document; print(d('a', embedding=[1.0]) == d('a'))": "False",
    _TOOL: "True",
}
# Each in a copy of the process, which has loaded what the pipeline loads and no more.
_EACH = """
import os
for code in sys.argv[1:]:
    if not (child := os.fork()):
        exec(code)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_a_pipeline_runs_without_them_and_what_is_used_is_loaded():
    command = [sys.executable, "-c", _PIPELINE + _EACH, *_CASES]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == [*_CASES.values()]
