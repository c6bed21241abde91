"""What a person does in the page."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from browser_tab import Tab
from http_client import serving
from rag.config import OllamaConfig, RAGConfig
from rag.web.gate import Limits

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from vaults import make_vault, title_query

MODELS = ["llama3.2"]
COUNT = "() => document.querySelectorAll('#results li').length"
OpenTab = Callable[..., Tab]
Keep = Callable[[Tab, str], None]
ANSWER = (
    "Holds expire after 9 minutes [1]. It used to be 15, since shoppers were squatting on Friday"
    " evenings [1]. Holds expire after 20 minutes on Sundays [1]. Zebras sleep in the marmalade of"
    " Saturn."
)
HOSTILE = """---
tags: ['<img src=x onerror=alert(1)>']
---
# <script>alert(1)</script>

<script>alert(2)</script> <img src=x onerror=alert(3)> [go](javascript:alert(4)) wombat
![far](https://evil.example/track.png) ![[draw.svg]] <svg onload=alert(5)>
<iframe src="//evil.example">

```<script>alert(6)</script>
x
```
"""
DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="alert(7)">'
    '<script>alert(8)</script><image href="https://evil.example/x.png"/>'
    '<rect width="9" height="9"/></svg>'
)


# Takes down the milliseconds from each key until its results are on the screen; a space has none.
CLOCK = """
window.waits = [];
let keys = [];
addEventListener("keydown", (event) => event.key === " " || keys.push(event.timeStamp), true);
addEventListener("painted", () => {
  const shown = keys;
  keys = [];
  requestAnimationFrame(() => setTimeout(() =>
    window.waits.push(...shown.map((key) => performance.now() - key))));
}, true);
"""


def asked(tab: Tab) -> list[str]:
    """The words that were searched for, in order."""
    urls = [urlsplit(one) for one in tab.requests]
    found = [
        parse_qs(url.query).get("query", [""])[0] for url in urls if url.path == "/page/results"
    ]
    return [words for words in found if words]


def test_words_are_searched_as_they_are_typed(open_tab, client, keep_picture):
    tab = open_tab(client)
    tab.type("when do holds expire")
    tab.wait_for("#results strong", has_text="Glossary")
    tab.page.wait_for_function("() => document.querySelector('#results mark')")
    assert asked(tab)[-1] == "when do holds expire"
    assert "1 note" in tab.page.locator("#said").inner_text() or tab.titles()[1:]
    tab.page.wait_for_url("**q=when+do+holds+expire*")
    keep_picture(tab, "page-search")


def test_results_are_on_the_screen_while_one_types(open_tab, tmp_path, config, refresh):
    """Of 10,000 notes, counted from the key: the page waits for no pause before it asks."""
    make_vault(tmp_path / "vault", 10_000, 20)
    refresh(config=config, work=tmp_path / "vault")
    with serving(config, Limits()) as client:
        tab = open_tab(client)
        tab.page.evaluate(CLOCK)
        for begin in range(0, 80, 20):  # the first round is what only first searches do
            tab.page.evaluate("window.waits = []")
            for number in range(begin, begin + 20):
                tab.page.locator("#query").press_sequentially(title_query(number), delay=120)
                tab.page.wait_for_timeout(300)
                tab.page.keyboard.press("Escape")
                tab.page.wait_for_timeout(300)
            waits = sorted(tab.page.evaluate("window.waits"))
            median, slow = waits[len(waits) // 2], waits[len(waits) * 95 // 100]
            print(f"{len(waits)} keys: median {median:.0f} ms, p95 {slow:.0f} ms")
            if begin and median < 60 and slow < 150:  # else others took the machine meanwhile
                break
    assert (median < 60, slow < 150) == (True, True)


def test_a_slow_search_keeps_no_newer_one_waiting_and_is_dropped(open_tab, client):
    tab = open_tab(client)
    held: list[Any] = []
    tab.page.route("**/page/results?query=h&*", lambda route: held.append(route))
    with tab.page.expect_event("requestfailed", lambda one: "query=h&" in one.url):
        tab.type("h")
        tab.type("olds")
    tab.wait_for("#results strong", has_text="Glossary")
    assert (asked(tab)[0], asked(tab)[-1], len(held)) == ("h", "holds", 1)


def test_a_long_text_is_searched_and_then_another(open_tab, client):
    tab = open_tab(client)
    tab.page.locator("#query").fill(("deploy rollback certificate 証明書 " * 200)[:4000])
    tab.page.wait_for_function(COUNT)
    tab.page.locator("#query").fill("holds")
    tab.wait_for("#results strong", has_text="Glossary")


def test_japanese_is_searched_once_it_is_composed(open_tab, client, keep_picture):
    tab = open_tab(client, language="ja")
    tab.page.focus("#query")
    keyboard = tab.page.context.new_cdp_session(tab.page)
    for text in ("し", "しょ", "しょうめいしょ", "証明書"):
        state = {"text": text, "selectionStart": len(text), "selectionEnd": len(text)}
        keyboard.send("Input.imeSetComposition", state)
    tab.page.wait_for_timeout(50)
    assert asked(tab) == []
    before = tab.page.url
    keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "windowsVirtualKeyCode": 229})
    assert tab.page.url == before  # Enter that ends a composition opens nothing
    keyboard.send("Input.insertText", {"text": "証明書"})
    tab.wait_for("#results mark")
    assert asked(tab) == ["証明書"]
    assert tab.page.locator("#mode-search").inner_text() == "検索"
    keep_picture(tab, "page-japanese")


def test_filters_narrow_and_the_browser_goes_back(open_tab, client):
    tab = open_tab(client).open("/?q=deploy")
    every = tab.titles()
    chip = tab.page.locator("#chips button", has_text="#runbook").first
    chip.click()
    tab.page.wait_for_function(f"{COUNT} < {len(every)}")
    assert chip.get_attribute("aria-pressed") == "true"
    assert "tag=runbook" in tab.page.url
    tab.page.go_back()
    tab.page.wait_for_function(f"{COUNT} == {len(every)}")
    assert chip.get_attribute("aria-pressed") == "false"


def test_the_keyboard_does_it_all(open_tab, client):
    tab = open_tab(client).open("/?q=rollback")
    page = tab.page
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = tab.titles()[1]
    assert second in page.evaluate("document.activeElement.innerText")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    tab.wait_for("article")
    assert page.title().startswith(second)
    page.keyboard.press("Escape")
    page.locator("#note").wait_for(state="hidden")
    assert second in page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.input_value("#query") == ""
    page.keyboard.type("holds expire")
    tab.wait_for("#results strong", has_text="Glossary")
    page.keyboard.press("Enter")
    tab.wait_for("article")


def test_a_note_opens_at_the_line_and_leads_on(open_tab, client, keep_picture):
    tab = open_tab(client).open("/?q=holds+expire+minutes")
    tab.page.locator("#results a", has_text="Glossary").first.click()
    here = tab.wait_for("article .here")
    assert "9 minutes" in here.inner_text()
    box = here.bounding_box()
    assert 0 < box["y"] < 800
    tab.wait_for(".related summary")
    assert tab.page.locator(".opens a").first.get_attribute("href").startswith("obsidian://open")
    keep_picture(tab, "page-note")
    tab.page.locator("article a", has_text="Home").first.click()
    tab.page.wait_for_function("() => document.title.startsWith('Home')")
    tab.page.go_back()
    tab.page.wait_for_function("() => document.title.startsWith('Glossary')")


@pytest.fixture
def with_model(sample, server) -> RAGConfig:
    return replace(sample, ollama=OllamaConfig(url=server.url))


def test_an_answer_shows_what_the_notes_bear_out(open_tab, with_model, server, keep_picture):
    server.say(ANSWER)
    with serving(with_model) as client:
        tab = open_tab(client).open("/?mode=ask")
        tab.type("When do holds expire?")
        tab.page.keyboard.press("Enter")
        tab.wait_for(".tally b")
        verdicts = tab.page.locator(".answer span:not(.label)").evaluate_all(
            "all => all.map(one => one.className)"
        )
        assert verdicts == ["verified", "verified", "doubtful", "struck"]
        assert "marmalade" not in tab.page.content()
        keep_picture(tab, "page-ask")
        tab.page.locator(".cite").first.click()
        tab.wait_for("article")
        assert "note=engineering%2FGlossary.md" in tab.page.url
        tab.page.keyboard.press("Escape")
        tab.type("And on Sundays?")
        tab.page.keyboard.press("Enter")
        tab.wait_for(".turn:nth-child(2)")
        tab.page.locator(".wait").wait_for(state="detached")
    sessions = [*(with_model.data_dir / "chats").iterdir()]
    assert len(sessions) == 1


def test_an_answer_can_be_stopped(open_tab, with_model, server):
    server.fail("/api/chat", "endless", seconds=0.05, times=None)
    with serving(with_model) as client:
        tab = open_tab(client).open("/?mode=ask")
        tab.type("When do holds expire?")
        tab.page.keyboard.press("Enter")
        tab.page.locator(".wait button").click()
        tab.page.locator(".wait").wait_for(state="detached")


def test_index_now_finds_what_was_written(open_tab, write_notes, config, refresh):
    folder = write_notes("vault", {"One.md": "# One\n\nwombat\n"})
    config = replace(config, search=replace(config.search, refresh="never"))
    refresh(config=config, work=folder)
    with serving(config) as client:
        tab = open_tab(client).open("/?q=wombat")
        assert tab.titles() == ["One"]
        (folder / "Two.md").write_text("# Two\n\nwombat\n", "utf-8")
        tab.page.locator("#index-now").click()
        tab.page.wait_for_function(f"{COUNT} == 2")
        assert "2 notes" in tab.page.locator("#status").inner_text()


def test_the_foot_says_what_is_so(open_tab, write_notes, config, refresh):
    """Also when another process has indexed, and when the server is gone."""
    folder = write_notes("vault", {"One.md": "# One\n\nwombat\n"})
    config = replace(config, search=replace(config.search, refresh="never"))
    refresh(config=config, work=folder)
    with serving(config) as client:
        tab = open_tab(client)
        tab.wait_for("#status .fresh")
        (folder / "Two.md").write_text("# Two\n\nwombat\n", "utf-8")
        tab.wait_for("#status .stale", has_text="1 changed since")
        refresh(config=config, work=folder)
        tab.wait_for("#status .fresh")
        assert "2 notes" in tab.page.locator("#status").inner_text()
    tab.wait_for("#status .stale", has_text="The server does not answer.")


@pytest.mark.parametrize("path", ["/?q=deploy", "/?note=engineering%2FGlossary.md", "/?mode=ask"])
@pytest.mark.parametrize("width", [390, 800, 1440])
def test_nothing_is_wider_than_the_screen(open_tab, client, width, path):
    tab = open_tab(client, width=width).open(path)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_dark_phone(open_tab, client, keep_picture):
    tab = open_tab(client, width=390, dark=True, language="ja").open("/?q=デプロイ")
    color = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in color[4:-1].split(",")) < 60
    keep_picture(tab, "page-phone")
    tab.page.locator("#results a").first.click()
    tab.wait_for("article")
    assert tab.page.locator("#results").is_hidden()
    tab.page.locator(".back").click()
    assert tab.page.locator("#results").is_visible()


def test_nothing_runs_that_a_note_holds(open_tab, build_index):
    name = "<img src=x onerror=alert(9)>.md"
    config = build_index({"v": {name: HOSTILE, "draw.svg": DRAWING}})
    with serving(config) as client:
        tab = open_tab(client).open("/?q=wombat")
        tab.page.locator("#results a").first.click()
        tab.wait_for("article img")
        tab.page.wait_for_load_state("networkidle")
        assert tab.page.locator("article script, article iframe, article svg").count() == 0
        tab.page.locator("article a", has_text="far").wait_for()
        assert tab.page.evaluate("document.querySelector('article img').naturalWidth") == 20


@pytest.mark.parametrize("dark", [False, True])
def test_no_rule_of_accessibility_is_broken(open_tab, with_model, server, dark):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    server.say(ANSWER)
    with serving(with_model) as client:
        tab = open_tab(client, dark=dark)
        for path in ("/?q=deploy", "/?q=holds&note=engineering%2FGlossary.md&line=15"):
            tab.open(path)
            assert_accessible(axe.run(tab.page))
        tab.open("/?mode=ask")
        tab.type("When do holds expire?")
        tab.page.keyboard.press("Enter")
        tab.wait_for(".tally b")
        assert_accessible(axe.run(tab.page))


def assert_accessible(results: Any) -> None:
    broken = {
        one["id"]: [node["html"][:200] for node in one["nodes"]]
        for one in results.response["violations"]
    }
    assert broken == {}
