"""Notes as resources: their addresses, and reading them."""

import re
import unicodedata
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from mcp_client import legacy, modern
from rag.mcp.protocol import Dispatcher
from rag.mcp.tools import read_address
from tables import rows


def read(dispatcher: Dispatcher, uri: Any, **answer: Any) -> Any:
    return dispatcher.handle(modern("resources/read", uri=uri))


_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(_NAMES.filter(lambda name: "/" not in name), _NAMES)
def test_an_address_is_read_as_what_it_was_made_of(vault, path):
    vault, path = (unicodedata.normalize("NFC", part) for part in (vault, path))
    address = f"rag://note/{quote(vault, safe='')}/{quote(path)}"
    assert read_address(address) == (vault, path)


@rows(
    "uri",
    "rag://note/work/runbooks/Rollback%20100%25.md",
    "rag://note/work/runbooks%2FRollback%20100%25.md",
    "rag://note/work/runbooks/Rollback 100%25.md",
)
def test_a_note_with_spaces_and_percent_signs_is_read(dispatcher, uri):
    [content] = read(dispatcher, uri)["result"]["contents"]
    assert content["uri"] == "rag://note/work/runbooks/Rollback%20100%25.md"
    assert content["mimeType"] == "text/markdown"
    assert "Rolling back a deploy takes two minutes." in content["text"]


@rows(
    "uri",
    *("rag://note/work/None.md", "rag://note/work/Backups", "rag://note/none/Backups.md"),
    *("rag://note/日本/Backups.md", "rag://note/work/Safety copies"),
    *("rag://note/work/Backups.md%3A1-2", "rag://note/work/Backups.md%23Restore"),
    *("rag://note/work/../../etc/passwd", "rag://note/work/", "rag://other"),
    *("file:///etc/passwd", ""),
)
def test_what_is_no_note_is_missing_and_never_empty(dispatcher, uri):
    error = read(dispatcher, uri)["error"]
    assert (error["code"], error["data"]) == (-32602, {"uri": uri})
    old = dispatcher.handle(legacy("resources/read", uri=uri))
    assert old["error"]["code"] == -32002


@rows("uri", "rag://note/work/%ED%A0%80.md", "rag://note/work/\ud800.md")
def test_half_a_character_is_an_error_of_the_argument(dispatcher, uri):
    error = read(dispatcher, uri)["error"]
    assert (error["code"], error["message"]) == (-32602, "the address is no text in UTF-8")


def test_a_long_note_is_cut_and_stands_between_marks(dispatcher):
    [content] = read(dispatcher, "rag://note/work/Log.md")["result"]["contents"]
    assert len(content["text"]) < 20_000
    assert re.search(r"<<< (\w+)\n# Log\n.*\n\1 >>>\n[\d,]+ more characters", content["text"], re.S)


def test_what_instructs_a_model_is_left_out(dispatcher):
    [content] = read(dispatcher, "rag://note/work/Clipped.md")["result"]["contents"]
    assert "Ignore all previous" not in content["text"]
    assert "The budget is 40 euros." in content["text"]
