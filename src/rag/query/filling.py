"""What a model's answer may add to what the rules read: names for slots that they left open.

Only these: the words must be those of an open slot, the name one of the index, and the first such
match of a slot counts. Whatever else a model names filters nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rag.query.plan import Extraction, Named
from rag.query.resolving import Resolved, Resolver
from rag.query.transformation import QueryTransformationResult
from rag.text.normalize import name_key
from rag.text.tokens import has_words

_MARKS = " #＃\"'“”「」『』"


def filled(
    read: Extraction,
    made: QueryTransformationResult,
    resolver: Resolver,
    again: Callable[[Mapping[str, str]], Extraction],
) -> tuple[Extraction, int]:
    """Return the extraction with what an answer fills, and how many of its names were of no use.

    The words of a slot that is filled leave the text.

    :param again: reads the query once more, with further names of tags and vaults: the rules know
        best what a slot's words stand for, such as a tag that is not wanted.
    """
    names = {slot: name for slot in read.open if (name := _name_for(slot, made, resolver))}
    meant = {s.words.strip(_MARKS): n for s, n in names.items() if s.kind in ("tag", "vault")}
    filled = again(meant) if meant else read.model_copy(deep=True)
    for slot, name in names.items():
        if slot.kind == "title" and slot in filled.open:
            filled.metadata.titles = [*dict.fromkeys([*filled.metadata.titles, name])]
            filled.found.append(slot.model_copy(update={"name": name}))
            filled.open.remove(slot)
            filled.text = _without(filled.text, slot.words)
    if filled.time_slot and made.time_window:
        window = made.time_window.model_copy(update={"text": filled.time_slot})
        filled.metadata.time_window = window
        filled.text = _without(filled.text, filled.time_slot)
        filled.time_slot = ""
    return filled, len(made.matches) - len(names)


def _name_for(slot: Named, made: QueryTransformationResult, resolver: Resolver) -> str:
    """Return the name that an answer gives for a slot, if the index has it."""
    if slot.kind == "field":  # a field filters by what it holds, which a name does not say
        return ""
    find: dict[str, Callable[..., Resolved | None]] = {
        "vault": resolver.vault,
        "tag": resolver.tag,
        "title": resolver.title,
    }
    for match in made.matches:
        if match.kind == slot.kind and _key(match.words) == _key(slot.words):
            resolved = find[slot.kind](match.name, alike=False)
            if resolved:
                return resolved.name
    return ""


def _key(words: str) -> str:
    return name_key(words).strip(_MARKS)


def _without(text: str, words: str) -> str:
    left = " ".join(text.replace(words, " ", 1).split())
    return left if has_words(left) else ""
