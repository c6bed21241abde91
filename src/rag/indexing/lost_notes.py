"""Notes that a rebuilt index would lose."""

from __future__ import annotations

from collections.abc import Collection

from rag.exceptions import IndexingError
from rag.indexing.reports import RunReport


def refuse_to_lose(
    report: RunReport,
    vaults: Collection[str],
    readable: Collection[tuple[str, str]],
    pruned: Collection[str],
) -> None:
    """Refuse to publish an index that has lost what can be read no more.

    :param report: what became of the vaults when they were read again.
    :param vaults: the names of those in the index.
    :param readable: vault and path of the notes that readers see now.
    :param pruned: the vaults of which the user said that they may lose notes.
    :raises IndexingError: when it has.
    """
    for name, vault in report.vaults.items():
        if name in pruned:
            continue
        reasons = [vault.problem] if vault.problem and name in vaults else []
        reasons += [
            f"{path}: {why}"
            for path, why in vault.failed.items()
            if any(v == name and (p == path or p.startswith(f"{path}/")) for v, p in readable)
        ]
        if reasons:
            raise IndexingError(
                f"the index must be rebuilt, but vault {name!r} cannot be read as before",
                reasons[0],
                hint="Make it readable and run `rag index`, or go on without with"
                " `rag index --prune`. Until then searches use the old index.",
            )
