"""What the notes of an index have: tags, properties and folders, and how many notes have each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from rag.index.manifest import Manifest
from rag.text.normalize import name_key


def count_vaults(manifest: Manifest, named: str = "") -> dict[str, int]:
    """Return vaults with how many notes each has.

    :param named: only this one.
    """
    counts = {vault: notes for vault, (notes, _) in manifest.counts().items()}
    return counts if not named else {named: counts[named]} if named in counts else {}


def count_tags(manifest: Manifest, above: str = "") -> dict[str, int]:
    """Return tags with how many notes have each, the most frequent first.

    :param above: only this tag and those below it.
    """
    above = name_key(above.strip("# /"))
    tags = manifest.catalogue.tags().items()
    return _by_number((t, n) for t, n in tags if not above or f"{t}/".startswith(f"{above}/"))


def count_properties(manifest: Manifest, name: str = "") -> dict[str, int]:
    """Return properties with how many notes have each, the most frequent first.

    :param name: of a property, to have its values in their place.
    """
    return _by_number(manifest.catalogue.counts(name_key(name.strip())))


def count_folders(manifest: Manifest, above: str = "") -> dict[str, int]:
    """Return `vault/folder` with how many notes lie in it or below, by name.

    :param above: only this folder and those below it.
    """
    above = above.strip("/ ")
    counts: Counter[str] = Counter()
    for vault, path, *_ in manifest.names():
        folders = f"{vault}/{path}".split("/")[:-1]
        counts.update(accumulate(folders, lambda one, other: f"{one}/{other}"))
    return {
        folder: notes
        for folder, notes in sorted(counts.items())
        if not above or f"{folder}/".startswith(f"{above}/") or f"/{above}/" in f"{folder}/"
    }


def _by_number(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(sorted(counts, key=lambda one: (-one[1], one[0])))
