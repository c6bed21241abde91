"""What the manifest knows of a vault besides its notes, above all when its files were copied: a
clone writes all of them within moments, and what their times say is no date of a note."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rag.index.manifest import Manifest, facts_key

Span = tuple[int, int]  # first and last moment, in nanoseconds since the epoch
_MINUTE = 60_000_000_000  # nanoseconds
_FEWEST = 5  # files; fewer may be written by hand
_MOST_SPANS = 8  # that are remembered of a vault
_ROUNDED = 1_000  # nanoseconds, by which a time in seconds may be wrong


@dataclass(frozen=True)
class VaultFacts:
    """The minutes in which the files of a vault were copied, and what there is to know of paths in
    it that are no notes."""

    copied: tuple[Span, ...] = ()
    notices: Mapping[str, str] = field(default_factory=dict)


def read_facts(manifest: Manifest, vault: str) -> VaultFacts:
    """Return what is known of a vault."""
    held = json.loads(manifest.get(facts_key(vault), "{}"))
    spans = tuple((first, last) for first, last in held.get("copied", ()))
    return VaultFacts(spans, held.get("notices", {}))


def record_facts(manifest: Manifest, vault: str, facts: VaultFacts) -> None:
    """Record what is known of a vault; where that is new, readers are to see it."""
    if facts != read_facts(manifest, vault):
        held = {"copied": facts.copied, "notices": dict(facts.notices)}
        manifest.set(**{facts_key(vault): json.dumps(held, ensure_ascii=False)})
        manifest.raise_revision()


def keep_copied(before: Manifest, manifest: Manifest) -> None:
    """Record in a new manifest when the vaults of another one were copied."""
    for vault in before.vaults():
        record_facts(manifest, vault, VaultFacts(read_facts(before, vault).copied))


def spans_of_copies(times: Iterable[int], known: Sequence[Span] = ()) -> tuple[Span, ...]:
    """Return the minutes in which a vault was copied, each by its first and last moment.

    That is a minute in which more than half of its files, and at least 5, were last written. What
    was found once stays so, though files are edited later; those have times of their own then.

    :param times: when each file of the vault was last written, in nanoseconds since the epoch.
    :param known: what was found before.
    """
    ordered = sorted(times)
    most = max(len(ordered) // 2, _FEWEST - 1)
    for first, last in zip(ordered, ordered[most:], strict=False):
        if last - first <= _MINUTE:
            if _holding(first / 1e9, known):
                break
            return (*known, (first, first + _MINUTE))[-_MOST_SPANS:]
    return tuple(known)


def own_time(seconds: float | None, copied: Sequence[Span]) -> float | None:
    """Return the time of a file; `None` where it is that of a copy, or not known.

    :param seconds: since the epoch.
    """
    return None if seconds is None or _holding(seconds, copied) else seconds


def _holding(seconds: float, spans: Sequence[Span]) -> bool:
    moment = int(seconds * 1e9)
    return any(first - _ROUNDED <= moment <= last + _ROUNDED for first, last in spans)
