"""What the context pipeline costs: milliseconds to assemble 200 items that were found already.

    python benchmarks/context.py [--items 200]

The plain way sorts the same texts by priority and score and joins them. Each case runs many
times; the best time counts. The aim is less than 2 ms, tokens counted and all.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Callable, Iterator

from rag.context import (
    ContextItem,
    ContextPipeline,
    MemoryManager,
    SourceType,
    default_rag_budget,
    find_formatter,
    formatter_names,
)

AIM = 2.0  # milliseconds
_ROUNDS = 50
_ROOM = 100_000  # tokens; all fits, and so all is formatted
_SENTENCES = (
    "Roll back without asking anyone if more than 1 % of booking requests fail for 5 minutes. ",
    "証明書は毎年三月に更新する。残りの9枚だけ人の手がいる。",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=200)
    items = _items(parser.parse_args().items)
    counted = ContextPipeline(_ROOM).build("q", items).window.items
    print(f"{len(items)} items of {sum(len(item.content) for item in items):,} characters")
    plain = _best(lambda: _plainly(items))
    print(f"{'':42}{'ms':>8}{'ratio':>8}")
    print(f"{'sorted and joined, nothing else':42}{plain:8.3f}{1:8.0f}")
    times = []
    for name, run in _cases(items, counted):
        times.append(_best(run))
        print(f"{name:42}{times[-1]:8.3f}{times[-1] / plain:8.0f}")
    met = "met" if max(times) < AIM else "missed"
    print(f"at most {max(times):.2f} ms; the aim of {AIM:g} ms is {met}")


def _cases(
    items: list[ContextItem], counted: list[ContextItem]
) -> Iterator[tuple[str, Callable[[], object]]]:
    bare = ContextPipeline(_ROOM)
    yield "tokens given", lambda: bare.build("q", counted)
    yield "tokens counted", lambda: bare.build("q", items)
    loop = asyncio.new_event_loop()
    yield "tokens given, async", lambda: loop.run_until_complete(bare.abuild("q", counted))
    yield "tokens counted, async", lambda: loop.run_until_complete(bare.abuild("q", items))
    loop.close()
    budgeted = ContextPipeline(_ROOM, budget=default_rag_budget(_ROOM))
    yield "tokens counted, budget", lambda: budgeted.build("q", items)
    small = ContextPipeline(_ROOM // 20, budget=default_rag_budget(_ROOM // 20))
    yield "tokens counted, budget, most left out", lambda: small.build("q", items)
    remembering = ContextPipeline(_ROOM).with_memory(_memory())
    yield "tokens counted, memory", lambda: remembering.build("q", items)
    for name in formatter_names():
        yield f"tokens counted, {name}", _formatted(name, items)


def _formatted(name: str, items: list[ContextItem]) -> Callable[[], object]:
    pipeline = ContextPipeline(_ROOM, budget=default_rag_budget(_ROOM)).with_memory(_memory())
    pipeline.add_system_prompt(_SENTENCES[0]).with_formatter(find_formatter(name))
    return lambda: pipeline.build("q", items)


def _items(count: int) -> list[ContextItem]:
    chosen = random.Random(0)
    return [
        ContextItem(
            content=f"{number} " + chosen.choice(_SENTENCES) * chosen.randint(2, 5),
            source=SourceType.RETRIEVAL,
            score=chosen.random(),
            priority=chosen.randint(4, 6),
        )
        for number in range(count)
    ]


def _memory() -> MemoryManager:
    memory = MemoryManager()
    for number in range(5):
        memory.add_user_message(f"{number} {_SENTENCES[0]}")
        memory.add_assistant_message(f"{number} {_SENTENCES[1]}")
        memory.add_fact(f"{number} {_SENTENCES[0]}")
    return memory


def _plainly(items: list[ContextItem]) -> str:
    best = sorted(items, key=lambda item: (-item.priority, -item.score))
    return "\n\n".join(item.content for item in best)


def _best(run: Callable[[], object]) -> float:
    """Return the milliseconds of the fastest of many runs."""
    times = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times) * 1000


if __name__ == "__main__":
    main()
