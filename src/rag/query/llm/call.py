"""One question to a chat generator, of whatever kind, within a time."""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from haystack.dataclasses import ChatMessage

from rag.config import AUTO
from rag.exceptions import RAGError
from rag.query.transforms.prompts import Prompt
from rag.text.messages import brief
from rag.text.surrogates import without_halves

T = TypeVar("T")


class Asked(NamedTuple):
    """What came of it: the reply, or why there is none; and the model's name."""

    reply: str
    model: str
    failure: str = ""


def ask(generator: Any, prompt: Prompt, schema: dict[str, Any], seconds: float) -> Asked:
    """Let a generator answer a prompt; a failure of it is told, not raised.

    :param generator: anything with the `run` of a Haystack chat generator.
    :param schema: of the reply; given to a `run` that takes a `response_format`.
    """
    messages = [ChatMessage.from_system(prompt.system), ChatMessage.from_user(prompt.user)]

    def run() -> Any:
        if hasattr(generator, "warm_up"):
            generator.warm_up()
        takes_schema = "response_format" in inspect.signature(generator.run).parameters
        given = {"response_format": schema} if takes_schema else {}
        return generator.run(messages=messages, **given)["replies"]

    name = name_of(generator)
    try:
        replies = within(seconds, run)
        if not replies:
            return Asked("", name, f"{name} gave no reply")
        [reply, *_] = replies
        text = without_halves(reply.text or "")
        return Asked(text, str(reply.meta.get("model") or name))
    except TimeoutExpired:
        return Asked("", name, f"{name} gave no reply within {seconds:g} s")
    except RAGError as error:
        return Asked("", name, brief(error.message))
    except Exception as error:
        return Asked("", name, brief(f"{name} failed: {error or type(error).__name__}"))


class TimeoutExpired(Exception):
    """The time is over, and what was to be done is not."""


def within(seconds: float, function: Callable[[], T]) -> T:
    """Return what a function returns, or raise what it raises.

    A function that takes longer is left to itself, in a thread that does not keep the program
    from ending.

    :raises TimeoutExpired: when the time is over.
    """
    outcome: list[Callable[[], T]] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            made = context.run(function)
            outcome.append(lambda: made)
        except BaseException as error:  # Ctrl-C too is the caller's
            outcome.append(_raising(error))

    thread = threading.Thread(target=run, name="rag-transform", daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutExpired
    return outcome[0]()


def _raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def name_of(generator: Any) -> str:
    """Return the name of a chat generator's model, as far as it says."""
    configured = getattr(getattr(generator, "config", None), "chat_model", "")
    name = getattr(generator, "model", "") or configured
    return str(name) if name and name != AUTO else "the model"
