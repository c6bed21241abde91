"""What the manifest knows of a vault besides its notes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from rag.index.manifest import Manifest, facts_key

Span = tuple[int, int]  # first and last moment, in nanoseconds since the epoch


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
