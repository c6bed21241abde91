"""Which parts of a text are marked for a query, and the part of it worth showing."""

from __future__ import annotations

from collections.abc import Iterable

from rag.text.matches import Match, find_matches

Span = tuple[int, int]


def match_spans(text: str, query: str) -> list[Span]:
    """Return the (start, end) of every part of `text` that a word of `query` matches, in order.

    In unsegmented scripts a part is marked when two characters together stand in the query.
    """
    return spans_of(find_matches(text, query))


def spans_of(matches: Iterable[Match]) -> list[Span]:
    """Return the (start, end) of what some matches cover, in order; those that touch are one."""
    joined: list[Span] = []
    for start, end, *_ in matches:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def snippet(
    text: str,
    query: str,
    width: int,
    within: Span | None = None,
    spans: list[Span] | None = None,
) -> tuple[str, list[Span]]:
    """Return the stretch of `text` that speaks most of `query`, on one line, and its matches.

    :param width: about how many characters; cuts are marked by `…`.
    :param within: the (start, end) of the part of `text`, all of it on one line then, that the
        stretch must show some of; the part with the best match, if there is one.
    :param spans: what of `text`, all of it on one line then, matches, where that is known.
    """
    if spans is None:
        text = " ".join(text.split())
        spans = match_spans(text, query)
    if len(text) <= width:
        return text, spans
    start = _best_start(text, spans, width, within or (0, len(text)))
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


def _best_start(text: str, spans: list[Span], width: int, within: Span) -> int:
    """Return where the window with the most matched characters begins, some way before them.

    Different words count more than one word again and again.

    :param within: where the first of the matches must stand.
    """
    best, best_score = within[0], -1.0
    for index, (start, end) in enumerate(spans):
        if end <= within[0] or start >= within[1]:
            continue
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
