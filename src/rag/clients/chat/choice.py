"""Which models write text: one rule for answers, plans and transforms, the checks and the setup."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Protocol, TypeVar

from rag.clients.embeddings.model_traits import full_name, is_embedder_name, known_traits

# Names of models that do other work. Servers tell of some of them that they complete texts,
# because they are built like models that do.
_OTHER_WORK = re.compile(
    r"embed|rerank|colbert|whisper|transcri|speech|dall-e|gpt-image|diffusion|moderation"
    r"|\b(?:tts|asr|clip|siglip|flux|sora)\b"
)


class Listed(Protocol):
    """A model as a server lists it.

    `capabilities` are what the server says of it (`completion`, `embedding`, `vision`, …), empty
    where it says nothing; `family` is its architecture, or empty.
    """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def capabilities(self) -> Collection[str]:
        """What it does."""

    @property
    def family(self) -> str:
        """What it is built like."""


L = TypeVar("L", bound=Listed)


def can_write(model: Listed) -> bool:
    """Return whether a model writes text.

    What its server says counts first. Its name counts where the server says nothing, and where it
    says `completion` of a model that by its name embeds or ranks and of which it does not say that
    it embeds: a server that knows both is believed.
    """
    told = model.capabilities
    if not told:
        by_name = is_embedder_name(model.name) or is_embedder_name(model.family)
        return not (by_name or does_other_work(model.name))
    return "completion" in told and ("embedding" in told or not does_other_work(model.name))


def does_other_work(name: str) -> bool:
    """Return whether a name is that of a model that embeds, ranks, draws, speaks or listens.

    >>> does_other_work("Qwen3-Reranker-0.6B"), does_other_work("qwen2.5-vl")
    (True, False)
    """
    return known_traits(name) is not None or bool(_OTHER_WORK.search(name.casefold()))


def choose_writer(models: Iterable[L], preferred: str = "") -> L | None:
    """Return the model that writes: the preferred one if it is listed and can, else the first that
    can, in the order of the list; `None` where none can.

    Models are looked at one by one, and without a preference none behind the chosen one.
    """
    if not preferred:
        return next(filter(can_write, models), None)
    writers = [model for model in models if can_write(model)]
    wanted = (model for model in writers if full_name(model.name) == full_name(preferred))
    return next(wanted, next(iter(writers), None))
