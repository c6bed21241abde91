"""The documents are true: examples run, and the tests that they name are there."""

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TEST = re.compile(r"\[(test_\w+)\]\(([\w./]+)\)")
_LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
_SECONDS = re.compile(r"\(\d+\.\d s\)")
_SCORE = re.compile(r"\b0\.\d\d\b")
_PAGES = sorted([*DOCS.glob("*.md"), *Path(__file__).parent.glob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    """Return the code of a page, block by block."""
    return [code for name, code in _BLOCK.findall(page.read_text("utf-8")) if name == language]


def anchors(page: Path) -> set[str]:
    """Return what a link to a heading of a page ends with."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", [page for page in _PAGES if ">>> " in page.read_text("utf-8")], ids=lambda p: p.stem
)
def test_examples_run(page):
    """All of a page in order, as one session."""
    parser, told = doctest.DocTestParser(), []
    runner = doctest.DocTestRunner()
    session: dict[str, object] = {}
    for number, code in enumerate(blocks(page, "python"), 1):
        if ">>> " in code:
            test = parser.get_doctest(code, session, f"{page.name} {number}", str(page), 0)
            runner.run(test, out=told.append, clear_globs=False)
            session = test.globs
    assert "".join(told) == ""
    assert runner.summarize(verbose=False).attempted > 0


@pytest.mark.parametrize(
    "page", [page for page in _PAGES if _TEST.search(page.read_text("utf-8"))], ids=lambda p: p.stem
)
def test_the_tests_that_are_named_are_there(page):
    named = _TEST.findall(page.read_text("utf-8"))
    gone = [
        name
        for name, file in named
        if f"def {name}(" not in (page.parent / file).read_text("utf-8")
    ]
    assert gone == []


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The documents as a site; a link that leads nowhere is an error."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(build, cwd=DOCS.parent, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_the_site_has_every_page(site):
    assert {page.stem for page in DOCS.glob("*.md")} <= {page.stem for page in site.glob("*.html")}


def test_a_page_of_the_site_loads_nothing_from_elsewhere(site):
    loads = re.compile(r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*//""")
    assert [
        page.name for page in site.glob("*.html") if loads.search(page.read_text("utf-8"))
    ] == []
    styles = re.compile(r"@import|url\([\"']?(?:https?:)?//")
    assert [
        file.name for file in site.rglob("*.css") if styles.search(file.read_text("utf-8"))
    ] == []


def test_links_of_the_pages_for_newcomers_lead_somewhere():
    root, lost = DOCS.parent, []
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in _LINK.findall((root / name).read_text("utf-8")):
            path, _, anchor = target.partition("#")
            file = root / (path or name)
            if not file.exists() or (anchor and anchor not in anchors(file)):
                lost.append(f"{name}: {target}")
    assert lost == []


def test_the_page_of_benchmarks_is_made_of_their_results(monkeypatch):
    monkeypatch.syspath_prepend(DOCS.parent / "benchmarks")
    from peer_report import page

    results = json.loads((DOCS / "benchmarks.json").read_text("utf-8"))
    assert page(results) == (DOCS / "benchmarks.md").read_text("utf-8")


def test_the_plug_in_of_the_query_page_is_found_by_name(install):
    from rag.query import QueryBundle, create_classifier, create_transformer, transformer_names

    page = DOCS / "query.md"
    [project] = [tomllib.loads(code) for code in blocks(page, "toml")]
    [source] = [code for code in blocks(page, "python") if ">>> " not in code]
    install("rag-acronyms", project["project"]["entry-points"], rag_acronyms=source)

    assert transformer_names()[-1] == "acronyms"
    made = create_transformer("acronyms").transform(QueryBundle(query_str="renew TLS"))
    assert [query.query_str for query in made] == ["renew TLS", "renew transport layer security"]
    assert create_classifier("shouting").classify(QueryBundle(query_str="TLS")) == "shouting"


@pytest.mark.slow  # the sample vaults are embedded: half a minute of a processor
def test_the_session_is_what_is_printed(tmp_path):
    root = DOCS.parent
    [session] = [text for text in blocks(DOCS / "search.md", "console") if "$ rag search" in text]
    surroundings = {k: v for k, v in os.environ.items() if not k.startswith(("RAG_", "XDG_"))}
    surroundings |= {"HOME": str(tmp_path), "RAG_OLLAMA__ENABLED": "false", "NO_COLOR": "1"}
    surroundings["RAG_DATA_DIR"] = str(tmp_path / "data")

    def printed(command: str) -> str:
        said = subprocess.run(
            [sys.executable, "-m", "rag", *shlex.split(command, comments=True)[1:]],
            cwd=root,
            env=surroundings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ).stdout
        return _SECONDS.sub("(0.1 s)", said.replace(str(root), "…")).rstrip()

    printed("rag index")
    commands = [step.strip().partition("\n") for step in session.split("$ rag ")[1:]]
    found = [printed(f"rag {line}") for line, _, _ in commands]
    expected = [said for _, _, said in commands]
    assert [_SCORE.sub("0.??", said) for said in found] == [
        _SCORE.sub("0.??", said) for said in expected
    ]
    # Another processor adds up the numbers of a model in another order.
    scores = [
        [float(score) for score in _SCORE.findall(" ".join(said))] for said in (found, expected)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
