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


def _printed(code: str) -> str:
    command = [sys.executable, "-c", _LOOK + code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_neither_the_telemetry_client_nor_the_command_line_of_httpx_is_loaded() -> None:
    names = ["posthog.client", "requests", "httpx._main", "rich"]
    assert _printed(f"print([name for name in {names} if name in sys.modules])") == "[]\n"


def test_a_library_that_is_used_after_all_is_loaded_then() -> None:
    assert "class" in _printed("import posthog; print(posthog.Posthog)")


def test_requests_are_made_without_the_command_line_of_httpx() -> None:
    assert _printed("print(httpx.Request('GET', 'http://127.0.0.1/a').url.path)") == "/a\n"
