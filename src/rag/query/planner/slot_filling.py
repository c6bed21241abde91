"""What a model's answer may add to what the rules read: names for slots that they left open.

The words must be those of an open slot, the name one of the index, and the first such match of a
slot counts. Whatever else a model names filters nothing; a tag that the query names in its own
words is searched for besides (`supported`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rag.query.planner.llm_result import QueryTransformationResult
from rag.query.planner.plan import Extraction, Named, TimeWindow
from rag.query.planner.rules.name_resolver import Resolved, Resolver
from rag.query.planner.rules.negation import negation
from rag.text.normalize import name_key

_MARKS = " #＃\"'“”「」『』"


def filled(
    read: Extraction,
    made: QueryTransformationResult,
    resolver: Resolver,
    again: Callable[[Sequence[Named], TimeWindow | None], Extraction],
) -> tuple[Extraction, int]:
    """Return the extraction with what an answer fills, and how many of its names were of no use.

    :param again: reads the query once more, with what words of open slots mean, and when the
        open time was: the rules know best what such words stand for, such as a tag that is not
        wanted, and which words go with them.
    """
    meant: list[Named] = []
    used: set[int] = set()
    for slot in read.open:
        for index, match in enumerate(made.matches):
            if name := _name_for(slot, match, resolver):
                meant.append(slot.model_copy(update={"name": name}))
                used.add(index)
                break
    window = made.time_window if read.time_slot else None
    extraction = again(meant, window) if meant or window else read
    return extraction, len(made.matches) - len(used)


def supported(read: Extraction, made: QueryTransformationResult, resolver: Resolver) -> list[str]:
    """Return texts to search for besides: what is left of the query, with each tag of the index
    that a model proposes in the place of the words that name it.

    The words must stand in what is left of the query, be wanted, and name that very tag without a
    slip. Where they are the tag's own name, the query has it already.
    """
    text = name_key(read.text)
    texts: list[str] = []
    for match in made.matches:
        words = name_key(match.words).strip(_MARKS)
        proposed = resolver.tag(match.name, alike=False) if match.kind == "tag" else None
        named = resolver.tag(words, alike=False) if proposed else None
        at = _place(text, words)
        if not (proposed and named) or proposed.name != named.name or at < 0:
            continue
        end = at + len(words)
        if not negation(text, at, end):
            texts.append(f"{text[:at]}{proposed.name.replace('/', ' ')}{text[end:]}")
    return list(dict.fromkeys(one for one in texts if one != text))


def _place(text: str, words: str) -> int:
    """Return where words stand in a text as whole words; -1 where they do not."""
    edge = "[a-z0-9_]"
    found = re.search(f"(?<!{edge}){re.escape(words)}(?!{edge})", text) if words else None
    return found.start() if found else -1


def _name_for(slot: Named, match: Named, resolver: Resolver) -> str:
    """Return the name that a match gives for a slot, if the index has it."""
    find: dict[str, Callable[..., Resolved | None]] = {
        "vault": resolver.vault,
        "tag": resolver.tag,
        "title": resolver.title,
    }
    if slot.kind not in find or match.kind != slot.kind or _key(match.words) != _key(slot.words):
        return ""
    resolved = find[slot.kind](match.name, alike=False)
    return resolved.name if resolved else ""


def _key(words: str) -> str:
    return name_key(words).strip(_MARKS)
