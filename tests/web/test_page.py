"""The parts of the page that the server makes; tests/browser/ looks at them in a browser."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from http_client import Client, serving
from rag.web.markdown import render
from tables import rows

SCRIPT = "<script>alert(1)</script>"
HANDLER = "<img src=x onerror=alert(1)>"
HOSTILE = f"""---
title: "{SCRIPT}"
tags: ['{HANDLER}', 'a"onmouseover="alert(1)']
odd"onclick="x: "{HANDLER}"
---
# {SCRIPT}

wombat {HANDLER} [one](javascript:alert(1)) [two](JaVaScRiPt:alert(1)) [three]( data:text/html,x)
[four](vbscript:x) <javascript:alert(1)> ![five](javascript:alert(1)) ![six](https://evil.example/x)
[[javascript:alert(1)]] [[x|{SCRIPT}]] ![[x.svg|{HANDLER}]] `{SCRIPT}` $<b>$ =={SCRIPT}==

[ref]: javascript:alert(1)
[ref] [seven](file:///etc/passwd) #tag"onclick="x

> [!{HANDLER}] {SCRIPT}

> [!note] {HANDLER}

```html" onclick="alert(1)
{SCRIPT}
```

| {SCRIPT} | x |
|:--|--:|
| {HANDLER} | y |
"""


class Elements(HTMLParser):
    """The elements of a text, and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, dict(attrs)))


def assert_harmless(html: str) -> None:
    for tag, attributes in Elements(html).all:
        assert tag not in ("script", "style", "iframe", "object", "embed", "form", "base", "meta")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("href", "src"):
            scheme = re.match(r"\s*([a-z][\w+.-]*):", attributes.get(name) or "", re.IGNORECASE)
            allowed = ("https", "obsidian", "vscode") if name == "href" else ()
            assert not scheme or scheme[1].lower() in allowed, attributes
        if tag == "img":
            assert (attributes["src"] or "").startswith("/page/image?")


@pytest.fixture(scope="module")
def hostile(build_index) -> Iterator[Client]:
    """A server of notes that would like to run something."""
    name = "<img src=x onerror=alert(1)>'\".md"
    with serving(build_index({"v": {name: HOSTILE}, '"><b>': {"x.md": "wombat"}})) as client:
        yield client


@rows(
    "address",
    "/page/results?query=wombat",
    "/page/results",
    "/page/note?note=wombat%20&in=v",
    "/page/note?note=" + quote("v/<img src=x onerror=alert(1)>'\".md"),
    "/page/related?note=" + quote("v/<img src=x onerror=alert(1)>'\".md"),
    "/page/filters",
    "/page/status",
    "/?q=" + quote(f'">{SCRIPT}'),
)
def test_nothing_of_a_note_runs(hostile, address):
    answer = hostile.get(address)
    if address.startswith("/?"):
        assert SCRIPT not in answer.text
    elif answer.status == 200:
        assert_harmless(answer.text)
    else:
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_runs_its_own_script_alone_and_asks_nobody_else(client):
    first, second = client.get("/"), client.get("/")
    policy = first.headers["content-security-policy"]
    nonce = re.search(r"script-src 'nonce-([\w-]+)'", policy)
    assert nonce and nonce[1] not in second.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for tag, attributes in Elements(first.text).all:
        if tag in ("script", "link") and attributes.get("type") != "application/json":
            assert (attributes.get("src") or attributes["href"] or "").startswith("/page/")
    assert "://" not in re.sub(r"http://www\.w3\.org/\S+", "", first.text)


def test_the_page_speaks_the_language_of_the_browser(client):
    assert '<html lang="en">' in client.get("/", Accept_Language="fr, en;q=0.5").text
    assert '<html lang="ja">' in client.get("/", Accept_Language="ja-JP,en;q=0.5").text
    assert "新しいノート" in client.get("/page/results", Accept_Language="ja").text


def test_what_no_note_holds_is_told_in_the_language_of_the_page(client):
    for language, told in (("en", "No note holds: xylophone"), ("ja", "どのノートにもない言葉")):
        html = client.get("/page/results?query=quokka%20xylophone", Accept_Language=language).text
        assert f'<span lang="{language}">{told}' in html


def test_a_notice_of_the_program_has_its_language_and_its_code(client):
    query = quote("`rag index`:x")
    html = client.get(f"/page/results?where={query}", Accept_Language="ja").text
    assert 'お知らせ：<span lang="en">no note has the property' in html
    assert "<code>rag index</code>" in html


def test_without_a_cookie_the_page_says_how_it_is_opened(client):
    for path in ("/", "/open?once=1.2.3"):
        answer = client.get(path, Authorization=None, Accept="text/html")
        assert answer.status == 401
        assert answer.headers["content-type"].startswith("text/html")
        assert "rag serve --http --open" in answer.text


def test_matches_are_marked_and_lead_to_their_line(client):
    html = client.get("/page/results?query=restore%20script").text
    assert "<mark>restore script</mark>" in html or "<mark>restore</mark>" in html
    assert "/?note=work%2FBackups.md&amp;line=13" in html


def test_a_note_shows_its_links_backlinks_and_places_to_open_it(client):
    html = client.get("/page/note?note=work/runbooks/Rollback 100%25.md".replace(" ", "%20")).text
    assert "/?note=work%2FBackups.md&amp;line=13" in html  # it links here
    assert 'href="obsidian://open?path=' in html and 'href="vscode://file/' in html
    named = client.get("/page/note?note=Backups%23Restore&in=work").text
    assert 'data-line="11"' in named and "We keep backups" in named


def test_pictures_come_from_the_vault_alone(client):
    def picture(name: str) -> tuple[int, str]:
        answer = client.get(f"/page/image?note=work/Backups.md&name={name}")
        return answer.status, answer.headers["content-type"]

    assert picture("plan.png") == (200, "image/png")
    for name in ("secret.txt", "link.png", "../outside.png", "%2e%2e/outside.png", "Backups.md"):
        assert picture(name) == (404, "application/json")


@rows("name", "thrown.png", ".trash/thrown.png")
def test_a_picture_in_a_hidden_folder_is_not_shown(client, name):
    assert client.get(f"/page/image?note=work/Backups.md&name={name}").status == 404


def test_an_svg_is_a_picture_and_no_document(client):
    answer = client.get("/page/image?note=work/Backups.md&name=drawing.svg")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert answer.headers["content-disposition"] == "attachment"
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy and "default-src 'none'" in policy


@rows(
    "source, expected",
    (
        "> [!tip] Do *this*\n> now",
        '<strong class="callout-title">Do <em>this</em></strong>\nnow</p>',
    ),
    ("> [!tip] **Do**", '<strong class="callout-title"><strong>Do</strong></strong></p>'),
    ("> [!tip]", '<strong class="callout-title">Tip</strong></p>'),
    ("- [x] done", '<li class="task done" data-line="1">done</li>'),
    ("- [X] done", '<li class="task done" data-line="1">done</li>'),
    ("| a |\n|--:|\n| b |", '<td class="right">b</td>'),
    ("$a_b$ and 5$ or 6$", '<code class="math">a_b</code> and 5$ or 6$'),
    ("[[Note#Part]]", '<a href="/?note=Note%23Part&amp;in=v" class="wiki">Note › Part</a>'),
    ("[x](../b%20c.md)", '<a href="/?note=v%2Fb+c.md&amp;in=v" class="wiki">x</a>'),
    ("==seen== %%hidden%%.", "<mark>seen</mark> ."),
    ("# 見出し\n\n本文 #運用", '<a href="/?tag=%E9%81%8B%E7%94%A8" class="tag">#運用</a>'),
    ("a <b>bold</b>", "a &lt;b&gt;bold&lt;/b&gt;"),
)
def test_what_obsidian_writes_is_shown(source, expected):
    assert expected in render(source.split("\n"), "v", "folder/note.md")[0]


@rows("source", "https://far.example/x.png", "//far.example/x.png")
def test_a_picture_from_elsewhere_is_a_link_to_it(source):
    shown = Elements(render([f"![far]({source})"], "v", "note.md")[0]).all
    assert [(tag, named.get("href")) for tag, named in shown] == [("p", None), ("a", source)]


def test_lines_are_those_of_the_file():
    html, fields = render(["---", "status: done", "---", "", "# One", "", "text"], "v", "n.md")
    assert '<h1 data-line="5">One</h1>' in html
    assert fields == {"status": "done"}
    assert '<p data-line="7">text</p>' in html


def test_every_text_of_the_page_is_in_both_languages():
    folder = Path(__file__).resolve().parents[2] / "src/rag/web/page"
    texts = json.loads((folder / "texts.json").read_text("utf-8"))
    assert texts["en"].keys() == texts["ja"].keys()
    code = "".join(
        file.read_text("utf-8")
        for file in (folder / "app.js", folder / "index.html", folder / "parts.html")
    )
    used = set(re.findall(r"\b(?:texts|t)\.(\w+)|\{\{(\w+)\}\}", code))
    used = {name for names in used for name in names if name} - {"nonce", "texts", "items"}
    assert used - {"json", "name"} <= texts["en"].keys()
    left = {name for name in texts["en"] if not re.search(rf"\b{name}\b", code)}
    assert left == set()


def test_the_foot_says_how_many_files_are_not_indexed_and_why(client):
    foot = client.get("/page/status").text
    assert "4 files not indexed" in foot and "2 no reader" in foot and "hidden" not in foot
