"""Where a text holds the words of a query, and the part of it worth showing."""

from __future__ import annotations

from functools import lru_cache

from rag.text.bm25 import content_terms
from rag.text.normalize import normalize
from rag.text.tokenizer import TOKEN, run_grams, stem

Span = tuple[int, int]


def match_spans(text: str, query: str) -> list[Span]:
    """Return the (start, end) of every part of `text` that a word of `query` matches, in order.

    In unsegmented scripts a part is marked when two characters together stand in the query.
    """
    wanted, pairs = _wanted(query)
    spans: list[Span] = []
    for token in TOKEN.finditer(text.lower() if len(text.lower()) == len(text) else text):
        start, end = token.span()
        word = normalize(token[0])
        normal = TOKEN.match(word)  # half-width kana are a run only once they are normal
        if normal and normal[1]:
            spans += _run_spans(text[start:end], start, wanted, pairs)
        elif stem(word) in wanted:
            spans.append((start, end))
    return _joined(spans)


@lru_cache(4)  # the texts of all results are marked for one query
def _wanted(query: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms that are marked, and those of two characters among them."""
    wanted = frozenset(content_terms(query))
    return wanted, frozenset(term for term in wanted if len(term) == 2)


def _run_spans(run: str, offset: int, wanted: frozenset[str], pairs: frozenset[str]) -> list[Span]:
    normal = normalize(run)
    if len(normal) != len(run):  # half-width kana: positions do not match
        return [(offset, offset + len(run))] if pairs & set(run_grams(normal)) else []
    if len(run) == 1 and normal in wanted:
        return [(offset, offset + 1)]
    return [
        (offset + at, offset + at + 2) for at in range(len(run) - 1) if normal[at : at + 2] in pairs
    ]


def _joined(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def snippet(text: str, query: str, width: int) -> tuple[str, list[Span]]:
    """Return the stretch of `text` that speaks most of `query`, on one line, and its matches.

    :param width: about how many characters; cuts are marked by `…`.
    """
    text = " ".join(text.split())
    spans = match_spans(text, query)
    if len(text) <= width:
        return text, spans
    start = _best_start(text, spans, width)
    end = min(len(text), start + width)
    if start:
        first = next((a for a, _ in spans if a >= start), len(text))
        space = text.find(" ", start, min(start + 12, first))
        start = space + 1 if space > 0 else start
    if end < len(text):
        space = text.rfind(" ", end - 12, end)
        end = space if space > start else end
    head, tail = "…" if start else "", "…" if end < len(text) else ""
    shift = len(head) - start
    inside = [
        (max(a, start) + shift, min(b, end) + shift) for a, b in spans if b > start and a < end
    ]
    return f"{head}{text[start:end]}{tail}", inside


def _best_start(text: str, spans: list[Span], width: int) -> int:
    """Return where the window with the most matched characters begins, some way before them.

    Different words count more than one word again and again.
    """
    best, best_score = 0, -1.0
    for index, (start, _) in enumerate(spans):
        seen: set[str] = set()
        score = 0.0
        for a, b in spans[index:]:
            if b > start + width * 0.8:
                break
            word = text[a:b].lower()
            score += (b - a) * (0.2 if word in seen else 1.0)
            seen.add(word)
        if score > best_score:
            best, best_score = start, score
    return max(0, min(best - width // 6, len(text) - width))
