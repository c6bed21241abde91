"""tantivy, by its Python package. VARIANT: stem, for English, or bigram, for Japanese."""

import re
from pathlib import Path
from typing import Any

from baselines import load
from program import TOP_K, read_notes, run

_HEAP = 256_000_000  # bytes, for all threads
_TOKENIZERS = {"stem": "en_stem", "bigram": "bigram"}


def _open(variant: str, folder: Path) -> Any:
    tantivy = load("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("path", stored=True, tokenizer_name="raw")
    for field in ("title", "text"):
        builder.add_text_field(field, tokenizer_name=_TOKENIZERS[variant])
    index = tantivy.Index(builder.build(), path=str(folder))  # opens it where there is one
    if variant == "bigram":
        bigrams = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(2, 2, False))
        index.register_tokenizer("bigram", bigrams.filter(tantivy.Filter.lowercase()).build())
    return index


def _load(variant: str, vault: Path, folder: Path) -> int:
    tantivy, index = load("tantivy"), _open(variant, folder)
    writer = index.writer(_HEAP)
    for note in read_notes(vault):
        writer.add_document(tantivy.Document(path=note.path, title=note.title, text=note.text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return int(index.searcher().num_docs)


def _search(variant: str, folder: Path, query: str) -> list[str]:
    index = _open(variant, folder)
    terms = re.findall(r"\w+", query)
    if variant == "bigram":
        terms = [word[at : at + 2] for word in terms for at in range(max(1, len(word) - 1))]
    parsed = index.parse_query(" ".join(terms), ["title", "text"], field_boosts={"title": 5.0})
    searcher = index.searcher()
    hits = searcher.search(parsed, TOP_K).hits
    return [searcher.doc(address)["path"][0] for _, address in hits]


run(_load, _search)
