"""Callbacks watch a run; they cannot break it, and cannot change it."""

import asyncio
from typing import Any

import pytest

from context_parts import Shelf, Words, contents, item
from rag.context import ContextPipeline, PipelineStep, QueryBundle, retriever_step
from tables import rows

EVENTS = ("on_pipeline_start", "on_step_start", "on_step_end", "on_step_error", "on_pipeline_end")


class Watcher:
    """Notes each event with what came with it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        if name not in EVENTS:
            raise AttributeError(name)
        return lambda *given: self.seen.append((name, given))


def fail(items, query):
    raise OSError("gone")


def pipeline(*callbacks: object, on_error: str = "skip") -> ContextPipeline:
    made = ContextPipeline(tokenizer=Words()).add_step(retriever_step("r", Shelf(item("a"))))
    made.add_step(PipelineStep("bad", fail, on_error=on_error))  # type: ignore[arg-type]
    for callback in callbacks:
        made.add_callback(callback)
    return made


@rows("asynchronous", False, True)
def test_each_event_is_told_in_order(asynchronous):
    watcher = Watcher()
    made = pipeline(watcher)
    asyncio.run(made.abuild("q")) if asynchronous else made.build("q")
    assert [name for name, _ in watcher.seen] == [
        *("on_pipeline_start", "on_step_start", "on_step_end", "on_step_start", "on_step_error"),
        "on_pipeline_end",
    ]


def test_each_event_comes_with_what_it_is_about():
    watcher = Watcher()
    result = pipeline(watcher).build("q")
    start, before, after, _, error, end = (given for _, given in watcher.seen)
    assert start == (QueryBundle(query_str="q"),)
    assert before == ("r", [])
    assert (after[0], contents(after[1])) == ("r", ["a"])
    assert after[2] >= 0
    assert (error[0], type(error[1])) == ("bad", OSError)
    assert end == (result,)


def test_a_step_that_ends_the_run_is_told_of_too():
    watcher = Watcher()
    with pytest.raises(Exception, match="'bad' failed"):
        pipeline(watcher, on_error="raise").build("q")
    assert [name for name, _ in watcher.seen][-1] == "on_step_error"


@pytest.mark.parametrize("event", EVENTS)
def test_a_callback_that_fails_breaks_nothing_and_is_logged(event, caplog):
    def broken(*given):
        raise RuntimeError("boom")

    class Broken:
        def __repr__(self):
            raise RuntimeError("no repr either")

    setattr(Broken, event, broken)
    watcher = Watcher()
    result = pipeline(Broken(), watcher).build("q")
    assert contents(result.window.items) == ["a"]
    assert len(watcher.seen) == 6
    assert f"{event} of Broken failed" in caplog.text
    assert {record.levelname for record in caplog.records if event in record.message} == {"WARNING"}


def test_a_callback_cannot_change_the_items():
    class Changing:
        def on_step_start(self, name, items):
            items.append(item("planted"))

        def on_step_end(self, name, items, time_ms):
            items.clear()

    assert contents(pipeline(Changing()).build("q").window.items) == ["a"]
