"""The models of the test server: what each can do, how it counts tokens, and its vectors.

Sizes and limits are those of the real models (`ollama show NAME`); the vectors are not: they
hash words, so that texts that share words are near, on every machine in the same way.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

_CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f"
# Four letters or digits are a token, and so is each Japanese character and each sign; the space
# before a token (at the end, behind) belongs to it, so that the pieces are together the text.
_PIECE = re.compile(rf"\s*(?:[^\W{_CJK}]{{1,4}}|\S)(?:\s+\Z)?|\s+\Z")
_RUN = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_DIMENSIONS_PER_WORD = 4


@dataclass(frozen=True)
class Model:
    """A model as `/api/show` describes it.

    :param dimension: `<family>.embedding_length`, and the length of its vectors.
    :param context: `<family>.context_length`, the most tokens it can read.
    :param prefix: a pattern of the prefixes it was trained with; it alone does not read them
        as words.
    :param parameters: what its Modelfile sets, e.g. `{"num_ctx": 256}`.
    :param digest: 64 hexadecimal digits, as `/api/tags` has them; models of different digests
        have different vectors.
    """

    name: str
    dimension: int = 64
    context: int = 2048
    capabilities: tuple[str, ...] = ("embedding",)
    family: str = "bert"
    prefix: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    size: int = 274_302_450

    def __post_init__(self) -> None:
        if not self.digest:
            digest = hashlib.sha256(self.name.encode()).hexdigest()
            object.__setattr__(self, "digest", digest)

    def can(self, capability: str) -> bool:
        """Say whether `capability` is one of the model's."""
        return capability in self.capabilities

    def split_prefix(self, text: str) -> tuple[str, str]:
        """Return the prefix the model knows, or an empty one, and the rest of the text."""
        match = re.match(self.prefix, text) if self.prefix else None
        return (match[0], text[match.end() :]) if match else ("", text)

    def vector(self, text: str) -> list[float]:
        """Return the unit vector of a text, seven digits behind the point."""
        values = [0.0] * self.dimension
        for word, weight in _features(self.split_prefix(text)[1]):
            for index, sign in _places(self.digest, word):
                values[index % self.dimension] += sign * weight
        return unit(values)


def unit(values: list[float]) -> list[float]:
    """Return `values` at length 1, as Ollama returns every vector."""
    norm = math.sqrt(sum(value * value for value in values)) or 1.0
    return [round(value / norm, 7) for value in values]


def pieces(text: str) -> list[str]:
    """Return the tokens of a text; put together they are the text."""
    return _PIECE.findall(text)


def count(text: str) -> int:
    """Return how many tokens a text has."""
    return len(pieces(text))


def full_name(name: str) -> str:
    """Return a name with its tag: `bge-m3` is `bge-m3:latest`."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def find(models: Mapping[str, Model], name: str) -> Model | None:
    """Return the model a request names, whatever the case, with or without `:latest`."""
    wanted = full_name(name).casefold()
    return next((m for key, m in models.items() if full_name(key).casefold() == wanted), None)


def _features(text: str) -> Iterator[tuple[str, float]]:
    """Words, and the character pairs of Japanese runs; short words (the, of) count little."""
    found = False
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        found = True
        if not re.match(f"[{_CJK}]", run):
            yield run, 1.0 if len(run) > 3 else 0.25
        elif len(run) == 1:
            yield run, 1.0
        else:
            yield from ((run[at : at + 2], 1.0) for at in range(len(run) - 1))
    if not found:
        yield "", 1.0


@lru_cache(maxsize=100_000)
def _places(digest: str, word: str) -> tuple[tuple[int, int], ...]:
    """Where a word goes: a few places (before the modulus) and their signs."""
    key = hashlib.blake2b(word.encode(), key=digest.encode()[:64], digest_size=16).digest()
    parts = [int.from_bytes(key[at : at + 4], "little") for at in range(0, 16, 4)]
    return tuple((part >> 1, 1 if part & 1 else -1) for part in parts[:_DIMENSIONS_PER_WORD])


_CHAT = ("completion", "tools")
KNOWN: dict[str, Model] = {
    model.name: model
    for model in (
        Model(
            "nomic-embed-text",
            768,
            2048,
            family="nomic-bert",
            prefix="(search_query|search_document|classification|clustering): ",
            parameters={"num_ctx": 8192},
        ),
        Model("all-minilm", 384, 512, parameters={"num_ctx": 256}),
        Model("bge-m3", 1024, 8192),
        Model(
            "embeddinggemma",
            768,
            2048,
            family="gemma3",
            prefix=r"task: [^|]{1,40} \| query: |title: [^|]{1,200} \| text: ",
        ),
        Model("qwen3-embedding", 1024, 32768, family="qwen3", prefix="Instruct: [^\n]*\nQuery: ?"),
        Model("llama3.2", 3072, 131072, _CHAT, "llama"),
        Model("qwen3", 4096, 40960, (*_CHAT, "thinking"), "qwen3"),
    )
}
