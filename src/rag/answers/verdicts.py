"""What was found of an answer: each sentence with its verdict, and what was taken out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rag.answers.agreement import Doubt

Verdict = Literal["verified", "doubtful", "unsupported"]


class Progress(NamedTuple):
    """How far an answer is that is still being written.

    :param sentences: how many sentences are whole.
    :param held_back: those of them that are judged and not shown: nothing is borne out yet, or
        most of it is not.
    :param struck: those of them that were taken out.
    """

    sentences: int = 0
    held_back: int = 0
    struck: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer as it is shown, the sources it names, and whether they
    support it; `doubt` is why not, where that can be told."""

    text: str
    sources: tuple[int, ...] = ()
    supported: bool = False
    doubt: Doubt = ""

    @property
    def verdict(self) -> Verdict:
        """What a reader may think of it; it is shown as `[1]`, `[1?]` and `[no source]`."""
        if self.supported:
            return "verified"
        return "doubtful" if self.sources else "unsupported"


@dataclass
class Verification:
    """What is left of an answer.

    :param text: what may be shown: Markdown; empty when no sentence is verified, or most of them
        are unsupported.
    :param order: the sources it names, by their numbers in the window; the first is `[1]`.
    :param removed: what was taken out: false numbers as written, and `quotation`, `sentence`,
        `address`, `sources`, `reasoning`; never the words themselves, which nobody should read.
    :param foreign: how many sentences were taken out that name a source.
    :param refused: the model said that the notes hold no answer.
    :param unverified: it names no source, since it was shown no numbers.
    """

    text: str = ""
    claims: list[Claim] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    foreign: int = 0
    refused: bool = False
    unverified: bool = False

    @property
    def believed(self) -> bool:
        """Whether at least one sentence is verified, and no more than half are unsupported."""
        verdicts = [claim.verdict for claim in self.claims]
        unsupported = verdicts.count("unsupported") + self.foreign
        return "verified" in verdicts and 2 * unsupported <= len(verdicts) + self.foreign

    @property
    def verified(self) -> float:
        """Which share of the sentences carries one."""
        return sum(c.supported for c in self.claims) / len(self.claims) if self.claims else 0.0
