"""What is known of an embedding model by its name: its prefixes, and what it reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag.config import OllamaConfig
from rag.text.scripts import has_other_letters, is_latin


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


def chosen_traits(model: str, config: OllamaConfig) -> Traits:
    """Return how an embedding model wants its texts, as far as the settings do not say otherwise.

    A model that is not known gets no prefix, and is taken to read English only.
    """
    known = known_traits(model) or Traits()

    def chosen(setting: str, default: str) -> str:
        return default if setting == "auto" else setting

    multilingual = chosen(config.multilingual, "yes" if known.multilingual else "no")
    return Traits(
        chosen(config.query_prefix, known.query_prefix),
        chosen(config.document_prefix, known.document_prefix),
        multilingual == "yes",
    )


def reads_script(model: str, config: OllamaConfig, text: str, mostly: bool = False) -> bool:
    """Return whether a model reads the scripts of a text.

    :param mostly: it is enough that it reads most of the text.
    """
    if chosen_traits(model, config).multilingual:
        return True
    return is_latin(text) if mostly else not has_other_letters(text)


# Names of models that only embed, for servers that do not tell.
_EMBEDS = re.compile(r"embed|bert|\b(?:bge|e5|gte|minilm)\b|all-minilm|paraphrase|rerank")


def is_embedder_name(name: str) -> bool:
    """Tell whether a name is that of a model, or a family of models, that only embeds."""
    return known_traits(name) is not None or bool(_EMBEDS.search(name.casefold()))


def full_name(model: str) -> str:
    """Return a name as servers list it: `bge-m3` is `bge-m3:latest`; case does not count."""
    name = model.casefold()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
