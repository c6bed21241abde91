"""What the chat models of the test server say: scripted replies, and the default one."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ollama_models import pieces

_SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?](?=[\s\"')\]]|\Z)|[。！？])")


@dataclass(frozen=True)
class Reply:
    """One answer of a chat model.

    :param chunks: what each line of a stream carries, instead of a token of `text` each.
    :param done_reason: `stop`, or `length` for an answer that ended too early.
    """

    text: str = ""
    thinking: str = ""
    chunks: Sequence[str] | None = None
    done_reason: str = "stop"

    def parts(self) -> list[str]:
        """Return the text as a stream carries it."""
        return pieces(self.text) if self.chunks is None else list(self.chunks)


Says = str | Mapping[str, Any] | Reply
Script = Callable[[dict[str, Any]], Says]


def as_reply(says: Says) -> Reply:
    """Return a text, or a mapping that is sent as JSON, as a `Reply`."""
    if isinstance(says, Reply):
        return says
    text = says if isinstance(says, str) else json.dumps(says, ensure_ascii=False)
    return Reply(text)


def default_reply(request: dict[str, Any], prompt: str, last: str) -> Reply:
    """Answer as a model that is dull and honest.

    It says the first sentence of the first numbered source and `[1]`; without sources it
    repeats the last message. A `format` gets the least JSON that fits it.

    :param prompt: what is left of the prompt once it was cut to the context.
    :param last: the last message, all of it.
    """
    sentence = first_source_sentence(prompt)
    text = f"{sentence} [1]" if sentence else last.strip()
    form = request.get("format")
    if form == "json":
        return as_reply({"answer": text})
    if isinstance(form, Mapping):
        return Reply(json.dumps(instance(form, text), ensure_ascii=False))
    return Reply(text)


def first_source_sentence(prompt: str) -> str:
    """Return the first sentence below the last line that begins with `[1]` (or has id="1").

    The last, because instructions above the sources may show how `[1]` is written.
    """
    marks = list(re.finditer(r"(?m)^[ \t]*(?:#+ )?(?:\[1\]|<[^>\n]*=\"1\"[^>\n]*>)", prompt))
    if not marks:
        return ""
    rest = prompt[marks[-1].end() :]
    end = re.search(r"(?m)^[ \t]*(?:#+ )?(?:\[2\]|<[^>\n]*=\"2\"|</)", rest)
    found = _SENTENCE.search(rest[: end.start()] if end else rest)
    return found[0] if found else ""


def instance(schema: Mapping[str, Any], text: str) -> Any:
    """Return the least value that fits a JSON schema as ours are; its strings are `text`."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    if kind == "object":
        items = schema.get("properties", {}).items()
        return {name: instance(inner, text) for name, inner in items}
    if kind == "array":
        inner = schema.get("items", {})
        return [instance(inner, text) for _ in range(schema.get("minItems", 1))]
    return {"integer": 0, "number": 0.0, "boolean": True}.get(kind, text)
