"""What a run of the indexer did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rag.support.json_reports import hidden, optional

Progress = Callable[[int, int], None]  # called while a run works: how much is done, of how much


def unseen(done: int, total: int) -> None:
    """Show nobody how far a run is."""


@dataclass
class EmbeddingReport:
    """What embedding did.

    :param made: how many vectors a model made.
    :param reused: how many were known, from an earlier run or from another chunk of this text.
    :param unreadable: how many were left out since the model does not read their script.
    :param failed: what is wrong with those that have none, by `vault/path:line`.
    :param is_complete: whether it came to all chunks.
    :param left: how many are left to the next run, since time was up.
    :param rate: how many a model made in a second.
    """

    made: int = 0
    reused: int = 0
    unreadable: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    is_complete: bool = hidden(False)
    left: int = 0
    rate: float = hidden(0.0)


@dataclass
class ScanReport:
    """How many scanned pages were read by OCR, and how many are `left` to the next run."""

    read: int = 0
    left: int = 0


@dataclass
class VaultReport:
    """What a run did to one vault.

    `failed` and `problems` map paths to what was wrong, `notices` to what else is new of them.

    :param added: how many notes are new.
    :param chunks_written: how many chunks were made of them.
    :param kept: how many notes stay though their folder is missing or empty.
    :param paths: of a run that only looks: the notes that are `added`, `changed` and `deleted`.
    """

    vault: str = hidden()
    added: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    chunks_written: int = 0
    kept: int = 0
    problem: str = ""
    failed: dict[str, str] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)
    paths: dict[str, list[str]] = optional(factory=dict)

    @property
    def total(self) -> int:
        """The notes that the vault's folder holds."""
        return self.added + self.changed + self.unchanged


@dataclass
class RunReport:
    """What a run did.

    :param notes: how many the index holds.
    :param published: whether the index changed.
    :param embedding: what embedding did, where it was wanted and there is a model.
    :param scans: what OCR did, where the settings ask for it and something waits for it.
    :param model_failed: whether a model of this machine failed, so that notes are found by words.
    """

    vaults: dict[str, VaultReport] = field(default_factory=dict)
    notes: int = 0
    chunks: int = 0
    published: bool = False
    embedding: EmbeddingReport | None = None
    scans: ScanReport | None = optional(None)
    notices: list[str] = field(default_factory=list)
    model_failed: bool = hidden(False)

    def count(self, *what: str) -> int:
        """Return how many notes were `added`, `changed` or `deleted`."""
        return sum(getattr(vault, name) for vault in self.vaults.values() for name in what)

    @property
    def embedded(self) -> int:
        """How many chunks got a vector."""
        return self.embedding.made + self.embedding.reused if self.embedding else 0

    @property
    def touched(self) -> bool:
        """Whether any note was added, changed or deleted, or any chunk embedded."""
        read = self.scans and self.scans.read
        return bool(self.embedded or read or self.count("added", "changed", "deleted"))

    @property
    def incomplete(self) -> bool:
        """Whether some note or folder could not be read, or some chunk not be embedded."""
        is_embedded = not (self.model_failed or (self.embedding and self.embedding.failed))
        return not is_embedded or any(r.failed or r.problem for r in self.vaults.values())
