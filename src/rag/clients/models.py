"""What is known of models by their names: which of them chat or embed, and their prefixes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.clients.protocols import ModelInfo
from rag.config import OllamaConfig
from rag.text.scripts import is_latin


@dataclass(frozen=True)
class Traits:
    """How an embedding model wants its texts.

    :param query_prefix: what it was trained to see before a query; newlines count.
    :param document_prefix: the same before a document.
    :param multilingual: whether it reads more than English, Japanese above all.
    """

    query_prefix: str = ""
    document_prefix: str = ""
    multilingual: bool = False


_SENTENCE = "Represent this sentence for searching relevant passages: "
_TASK = "Given a web search query, retrieve relevant passages that answer the query"
_INSTRUCT = f"Instruct: {_TASK}\nQuery:"

# From the model cards; the first pattern that is found in the name, without its tag, decides.
_KNOWN = (
    (r"nomic-embed-text[-_.]?v2", Traits("search_query: ", "search_document: ", True)),
    (r"nomic-embed-text", Traits("search_query: ", "search_document: ")),
    (r"mxbai-embed-large", Traits(_SENTENCE)),
    (r"bge-m3", Traits(multilingual=True)),
    (r"bge-(large|base|small)-zh", Traits("为这个句子生成表示以用于检索相关文章：")),
    (r"bge-(large|base|small)", Traits(_SENTENCE)),
    (r"multilingual-e5-.*instruct", Traits(f"{_INSTRUCT} ", "", True)),
    (r"e5-mistral", Traits(f"{_INSTRUCT} ")),
    (r"multilingual-e5", Traits("query: ", "passage: ", True)),
    (r"\be5-(large|base|small)", Traits("query: ", "passage: ")),
    (r"embeddinggemma", Traits("task: search result | query: ", "title: none | text: ", True)),
    (r"qwen3-embedding", Traits(_INSTRUCT, "", True)),
    (r"arctic-embed.*v?2(\.0)?\b", Traits("query: ", "", True)),
    (r"arctic-embed", Traits(_SENTENCE)),
    (r"paraphrase-multilingual|granite-embedding.*multilingual", Traits(multilingual=True)),
    (r"text-embedding-(3|ada)|gte-multilingual|jina-embeddings-v3", Traits(multilingual=True)),
    (r"all-minilm|granite-embedding", Traits()),
)
_MULTILINGUAL_SIZES = ("granite-embedding:278m",)


def known_traits(model: str) -> Traits | None:
    """Return what the model's card says of it, or `None` for a name that is not known.

    >>> known_traits("hf.co/CompendiumLabs/bge-large-en-v1.5-gguf:q8_0").multilingual
    False
    """
    name = model.casefold()
    if name in _MULTILINGUAL_SIZES:
        return Traits(multilingual=True)
    name = full_name(name).rpartition(":")[0]
    return next((traits for pattern, traits in _KNOWN if re.search(pattern, name)), None)


def chosen_traits(model: str, config: OllamaConfig, told: Traits | None = None) -> Traits:
    """Return how an embedding model wants its texts, as far as the settings do not say otherwise.

    A model that is not known gets no prefix, and is taken to read English only.

    :param told: what its own files say, which counts more than its name.
    """
    card = told or known_traits(model) or Traits()

    def chosen(setting: str, default: str) -> str:
        return default if setting == "auto" else setting

    multilingual = chosen(config.multilingual, "yes" if card.multilingual else "no")
    return Traits(
        chosen(config.query_prefix, card.query_prefix),
        chosen(config.document_prefix, card.document_prefix),
        multilingual == "yes",
    )


def reads_script(model: str, config: OllamaConfig, text: str, mostly: bool = False) -> bool:
    """Return whether a model reads the scripts of a text.

    :param mostly: it is enough that it reads most of the text.
    """
    if chosen_traits(model, config).multilingual:
        return True
    return is_latin(text) if mostly else is_latin(text, 1.0)


def full_name(model: str) -> str:
    """Return a name as servers list it: `bge-m3` is `bge-m3:latest`; case does not count."""
    name = model.casefold()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


# Names of models that embed, or do other work. Servers tell of some of them that they complete
# texts, because they are built like models that do.
_EMBEDS = r"embed|(?<!al)bert|paraphrase|\b(?:bge|e5|gte|minilm)\b"
_OTHER_WORK = (
    rf"{_EMBEDS}|rerank|whisper|transcri|speech|dall-e|gpt-image|diffusion|moderation"
    r"|\b(?:tts|asr|clip|siglip|flux|sora)\b"
)


def can_write(model: ModelInfo) -> bool:
    """Return whether a model writes text.

    What its server says counts first. Its name counts where the server says nothing, and where it
    says `completion` of a model that by its name embeds or ranks and of which it does not say that
    it embeds: a server that knows both is believed.
    """
    capabilities = model.capabilities
    if not capabilities:
        return not (does_other_work(model.name) or does_other_work(model.family))
    if "completion" not in capabilities:
        return False
    return "embedding" in capabilities or not does_other_work(model.name)


def does_other_work(name: str, pattern: str = _OTHER_WORK) -> bool:
    """Return whether a name is that of a model that embeds, ranks, draws, speaks or listens.

    >>> does_other_work("Qwen3-Reranker-0.6B"), does_other_work("qwen2.5-vl")
    (True, False)
    """
    return known_traits(name) is not None or bool(re.search(pattern, name.casefold()))


def choose_embedding(models: Sequence[str], preferred: str) -> str:
    """Return the name of the preferred embedding model, else of one that reads Japanese too,
    else of a known one, else of any that by its name embeds; empty when there is none."""

    def rank(name: str) -> tuple[bool, bool, bool]:
        traits = known_traits(name)
        is_multilingual = traits is not None and traits.multilingual
        return full_name(name) != full_name(preferred), not is_multilingual, traits is None

    embedders = (name for name in models if does_other_work(name, _EMBEDS))
    best = min(embedders, key=rank, default="")
    return best.removesuffix(":latest")
