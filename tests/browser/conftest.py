"""The page in a real browser: Debian's chromium, steered by playwright."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from browser_tab import Tab
from http_client import Client, serving
from index_fixtures import offline
from rag.config import RAGConfig
from rag.indexing.run import IndexRun

# Read here: tests see none of the user's variables. Where `make browser` wants its pictures.
IMAGES = os.environ.get("IMAGES") and Path(os.environ["IMAGES"]).absolute()
REPO = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_QUIET = (
    *("--no-sandbox", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--disable-gpu"),
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The browser; its tests are skipped where it is not here."""
    if not IMAGES:  # playwright leaves an event loop running, which other tests would meet
        pytest.skip("the page is tried by make browser")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not here: make browser")
    if CHROMIUM is None:
        pytest.skip("chromium is not here: apt-get install chromium fonts-noto-cjk")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=[*_QUIET])
        yield started
        started.close()


@pytest.fixture(scope="session")
def sample(tmp_path_factory) -> RAGConfig:
    """The settings of an index of the sample vaults."""
    config = offline(tmp_path_factory.mktemp("sample") / "data")
    with IndexRun(config) as run:
        for vault in sorted((REPO / "vaults").iterdir()):
            run.index_vault(vault.name, vault)
        run.publish()
    return replace(config, search=replace(config.search, refresh="never"))


@pytest.fixture(scope="session")
def client(sample) -> Iterator[Client]:
    """A server of the sample vaults."""
    with serving(sample) as one:
        yield one


@pytest.fixture
def open_tab(browser) -> Iterator[Callable[..., Tab]]:
    """Open the page: `open_tab(client, width=390, dark=True, language="ja")`."""
    contexts: list[Any] = []
    tabs: list[Tab] = []

    def open_one(
        client: Client, width: int = 1280, dark: bool = False, language: str = "en"
    ) -> Tab:
        context = browser.new_context(
            viewport={"width": width, "height": 844 if width < 600 else 800},
            color_scheme="dark" if dark else "light",
            locale={"en": "en-GB", "ja": "ja-JP"}[language],
            reduced_motion="reduce",
        )
        contexts.append(context)
        tab = Tab(context.new_page(), client)
        tabs.append(tab)
        tab.page.on("request", lambda one: tab.requests.append(one.url))
        tab.page.on("pageerror", lambda error: tab.errors.append(str(error)))
        tab.page.on("dialog", tab.refuse)
        tab.page.on("console", lambda said: said.type == "error" and tab.errors.append(said.text))
        tab.page.goto(client.server.link)
        tab.page.wait_for_load_state("networkidle")
        return tab

    yield open_one
    for context in contexts:
        context.close()
    for tab in tabs:  # of every test
        assert not [one for one in tab.requests if not one.startswith(tab.base)]
        assert tab.dialogs == []
        # The page asks on where a test has ended the server.
        assert [one for one in tab.errors if "ERR_CONNECTION_REFUSED" not in one] == []


@pytest.fixture
def keep_picture() -> Callable[[Tab, str], None]:
    """Keep a picture for the documents, where some are wanted: `keep_picture(tab, "search")`."""

    def keep(tab: Tab, name: str) -> None:
        if IMAGES:
            tab.page.screenshot(path=str(IMAGES / f"{name}.png"))

    return keep
