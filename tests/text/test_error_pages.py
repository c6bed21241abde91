"""What is told of the body of an answer with an error: one short line, and of a page its title."""

import httpx
from hypothesis import given
from hypothesis import strategies as st

from rag.clients.http_client import explain, refusal_of
from rag.clients.servers import Endpoint
from rag.text.messages import brief_reply
from tables import rows

PAGE = """<!DOCTYPE html>
<html><head>
<title>502 Bad Gateway &amp; so on</title>
</head><body><center><h1>502 Bad Gateway</h1></center><hr>nginx/1.25</body></html>
"""
TITLE = "502 Bad Gateway & so on"


@rows(
    "said, told",
    (PAGE, TITLE),
    (f"\ufeff\n{PAGE}", TITLE),
    (PAGE.replace("<!DOCTYPE html>", "<!-- a proxy -->"), TITLE),
    (PAGE.replace("<title>", '<TITLE lang="en">\n'), TITLE),
    ("<html><h1>Bad gateway</h1></html>", ""),
    ("<html><title>a\x1b[31m\nb</title>", "a [31m b"),
    ("upstream <html> is down", "upstream <html> is down"),
    ("<unk> is no token", "<unk> is no token"),
)
def test_of_a_page_only_the_title_is_told(said, told):
    assert brief_reply(said) == told


@given(st.text(max_size=500), st.sampled_from(["", "<html>", "<html><title>"]))
def test_it_is_one_line_of_at_most_200_characters(said, before):
    told = brief_reply(before + said)
    assert len(told) <= 200 and told.isprintable() and "<html" not in told[: len(before)]


def test_an_error_has_the_title_of_a_proxy_s_page():
    refusal = refusal_of(None, PAGE, "", httpx.Response(502))
    assert str(refusal) == f"502: {TITLE}"
    for api, model in (("ollama", "bge-m3"), ("openai", "llama3.2")):
        error = explain(refusal, Endpoint(api, "chat", "http://127.0.0.1:9", model)).error
        assert (error.message, error.details) == (
            "http://127.0.0.1:9 answered with error 502",
            TITLE,
        )
