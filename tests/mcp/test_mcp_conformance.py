"""The protocol's own conformance suite, against the server as a client starts it.

It speaks HTTP alone, so a bridge stands between. `make integration` starts it by npx, which Node 22
or later must run. Many scenarios want a server made for
them, with tools such as `test_simple_text`, or what ours does not declare: they are named below.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_client import Server
from mcp_http_bridge import bridge

# Read here: tests see none of the user's RAG_*.
SUITE = os.environ.get("RAG_TEST_CONFORMANCE", "").split()
PASSED = {
    *("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
    *("server-sse-multiple-streams", "server-sse-polling", "dns-rebinding-protection"),
}
OF_ITS_OWN_TOOLS = {
    *("tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-error"),
    *("tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-with-logging"),
    *("tools-call-with-progress", "tools-call-sampling", "tools-call-elicitation"),
    *("json-schema-2020-12", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"),
}
OF_ITS_OWN_PROMPTS = {
    *("prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource"),
    *("prompts-get-with-image", "completion-complete"),
}
OF_ITS_OWN_RESOURCES = {"resources-read-text", "resources-read-binary", "resources-templates-read"}
NOT_DECLARED = {"logging-set-level", "resources-subscribe", "resources-unsubscribe"}


def suite() -> list[str]:
    """Return what starts the suite; skip where it is not here."""
    if not SUITE:
        pytest.skip("RAG_TEST_CONFORMANCE names no conformance suite: make integration")
    tried = subprocess.run([*SUITE, "--version"], capture_output=True, text=True)
    if tried.returncode:
        said = [line for line in tried.stderr.splitlines() if "rror" in line]
        pytest.skip(f"the conformance suite, for Node 22 or later, does not start: {said[:1]}")
    return [*SUITE, "server", "--suite", "all"]


@pytest.mark.integration
def test_the_scenarios_that_need_no_server_made_for_them_pass(
    start_server: Callable[[], Server], tmp_path: Path
) -> None:
    command = suite()
    with bridge(start_server) as address:
        run = subprocess.run(
            [*command, "--url", address, "--output-dir", str(tmp_path)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
    found = dict(re.findall(r"^[✓✗] (\S+): \d+ passed, (\d+) failed$", run.stdout, re.MULTILINE))
    assert found.keys() == (
        PASSED | OF_ITS_OWN_TOOLS | OF_ITS_OWN_PROMPTS | OF_ITS_OWN_RESOURCES | NOT_DECLARED
    )
    assert {name for name, failed in found.items() if failed == "0"} == PASSED
