"""Small models in ONNX, in folders as sentence-transformers and optimum write them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = (
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "bread", "flour", "oven", "train", "rail", "ticket"),
    "query",
)
DIMENSION = 8


def tokenizer(folder: Path) -> None:
    """Write `tokenizer.json`: a token a word of `WORDS`."""
    made = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.save(str(folder / "tokenizer.json"))


def embedder(
    folder: Path, rows: np.ndarray | None = None, inputs: tuple[str, ...] = ("input_ids",)
) -> Path:
    """Write a model that looks each token up, and return its path.

    :param rows: `(len(WORDS), DIMENSION)`; by default words of baking and of travel lie apart.
    :param inputs: what it takes; of others than `input_ids` nothing becomes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if rows is None:
        rows = np.full((len(WORDS), DIMENSION), 0.01, np.float32)
        rows[4:7, :4], rows[7:10, 4:] = 1, 1
        rows[:, 0] += np.arange(len(WORDS)) / 50
    nodes = [helper.make_node("Gather", ["rows", "input_ids"], ["last_hidden_state"])]
    return _write(folder, nodes, {"rows": rows}, inputs, "last_hidden_state", 3)


def cross_encoder(folder: Path) -> Path:
    """Write a model that counts tokens that the query and the passage both have, and return its
    path."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = np.eye(len(WORDS), dtype=np.float32)
    weights[:4] = 0
    nodes = [
        helper.make_node("Gather", ["rows", "input_ids"], ["one_hot"]),
        helper.make_node("Cast", ["token_type_ids"], ["kind"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["kind", "last"], ["second"]),
        helper.make_node("Sub", ["one", "second"], ["first"]),
        *(
            node
            for part in ("first", "second")
            for node in (
                helper.make_node("Mul", ["one_hot", part], [f"of_{part}"]),
                helper.make_node("ReduceMax", [f"of_{part}", "middle"], [f"in_{part}"], keepdims=0),
            )
        ),
        helper.make_node("Mul", ["in_first", "in_second"], ["both"]),
        helper.make_node("ReduceSum", ["both", "middle"], ["logits"], keepdims=1),
    ]
    given = {
        "rows": weights,
        "last": np.array([-1]),
        "middle": np.array([1]),
        "one": np.array([[[1]]], np.float32),
    }
    names = ("input_ids", "attention_mask", "token_type_ids")
    return _write(folder, nodes, given, names, "logits", 2)


def say(folder: Path, name: str, **facts: Any) -> None:
    """Write a file of settings beside a model."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(facts))


def _write(
    folder: Path,
    nodes: list[onnx.NodeProto],
    given: dict[str, np.ndarray],
    inputs: tuple[str, ...],
    output: str,
    axes: int,
) -> Path:
    shape = ["texts", "tokens"]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [None] * axes)],
        [numpy_helper.from_array(array, name) for name, array in given.items()],
    )
    path = folder / "model.onnx"
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    tokenizer(folder)
    return path
