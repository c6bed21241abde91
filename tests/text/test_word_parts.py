"""Words inside words in mixed case."""

from rag.text.matches import word_parts
from tables import rows


def parts(text: str) -> list[str]:
    return [part.text for part in word_parts(text)]


@rows(
    "word, found",
    ("OOMKilled", ["oom", "killed"]),
    ("JavaScript", ["java", "script"]),
    ("getHTTPResponse", ["get", "gethttp", "http", "httpresponse", "response"]),
)
def test_a_part_begins_with_a_capital(word, found):
    assert parts(word) == found


def test_neighbouring_parts_are_found_together_but_not_the_whole():
    found = parts("the CrashLoopBackOff state")
    assert {"backoff", "crashloop", "loopback", "loop"} <= set(found)
    assert "crashloopbackoff" not in found


@rows("text", "plain words", "Title Case", "UPPER", "x86", "NaCl", "", "日本語Text", "éA")
def test_words_in_one_case_have_none_and_neither_have_short_ones(text):
    assert parts(text) == []


def test_base64_has_none():
    assert parts("aGVsbG8gV29ybGQhIFRoaXMgaXMgYmFzZTY0") == []
