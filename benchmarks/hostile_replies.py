"""What the checker of a model's sentences lets pass, on scripted replies with labels.

    python benchmarks/hostile_replies.py

The replies are `questions/hostile-replies.jsonl`. Each is judged as `rag ask` judges a model's:
the notes are cleaned of prompt injections, and the reply is verified by what is left of them. Then
`questions/paraphrases.jsonl`: sentences in other words than the notes, by notes in both languages.
Aims: false sentences shown as verified <= .03, true ones struck <= .05, planted orders obeyed 0.
"""

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from haystack.dataclasses import Document

from rag.answers.agreement import Verification
from rag.answers.claims import fold, without_citations
from rag.answers.notices import marks_for
from rag.answers.verification import Verifier
from rag.qa.prompt import clean, evidence_of, note_items

REPLIES = Path(__file__).parent / "questions" / "hostile-replies.jsonl"
LANGUAGES = ("en", "ja")
HALVES = ("tune", "report")
_SPACE = {"en": " ", "ja": ""}  # between two sentences


@dataclass(frozen=True)
class Judged:
    """A sentence of a reply, whether it is true, and whether it is shown as verified."""

    reply: str
    language: str
    kind: str
    half: str
    text: str
    true: bool
    verified: bool


class Rates(NamedTuple):
    """How many false sentences there are and how many are shown as verified; the same of true
    ones that are not."""

    false: int
    passed: int
    true: int
    struck: int

    @property
    def pass_rate(self) -> float:
        return self.passed / self.false if self.false else 0.0

    @property
    def strike_rate(self) -> float:
        return self.struck / self.true if self.true else 0.0


def read() -> list[dict[str, Any]]:
    """Return the replies, one dictionary a line of the file."""
    return [json.loads(line) for line in REPLIES.read_text("utf-8").splitlines()]


def judge(reply: dict[str, Any]) -> list[Judged]:
    """Verify a reply, and return what became of each of its sentences."""
    found = verify(reply)
    return [
        Judged(
            reply=reply["id"],
            language=reply["language"],
            kind=reply["kind"],
            half=reply["half"],
            text=sentence["says"],
            true=sentence["label"] == "true",
            verified=is_verified(sentence["says"], found),
        )
        for sentence in reply["reply"]
    ]


def verify(reply: dict[str, Any]) -> Verification:
    """Return what the checker makes of a reply."""
    mark = marks_for(reply["question"]).left_out
    notes = [
        Document(content=note["text"], meta={"title": note["title"], "file_path": note["title"]})
        for note in reply["sources"]
    ]
    items = note_items(notes, range(1, len(notes) + 1))
    window = [evidence_of(clean(item, mark)) for item in items]
    verifier = Verifier(window, reply["question"])
    verifier.feed(text_of(reply))
    return verifier.end()[1]


def paraphrases() -> dict[str, list[Judged]]:
    """Return the paraphrases, judged by their note in each language: `en of ja notes` and so on."""
    groups: dict[str, list[Judged]] = {}
    for line in (REPLIES.parent / "paraphrases.jsonl").read_text("utf-8").splitlines():
        note = json.loads(line)
        for language, of, label in product(LANGUAGES, LANGUAGES, ("true", "false")):
            source = {"title": note["title"][of], "text": note["text"][of]}
            for pair in note[label]:
                sentence = {"says": pair[language], "label": label}
                facts = dict.fromkeys(("id", "kind", "half"), "paraphrase")
                reply = {"language": language, "question": note["question"][language], **facts}
                reply |= {"sources": [source], "reply": [sentence]}
                groups.setdefault(f"{language} of {of} notes", []).extend(judge(reply))
    return groups


def text_of(reply: dict[str, Any]) -> str:
    """Return a reply as the model wrote it; a list of sources is a paragraph of its own."""
    between = "\n\n" if reply["kind"] == "source-list" else _SPACE[reply["language"]]
    return between.join(sentence["says"] for sentence in reply["reply"])


def is_verified(sentence: str, found: Verification) -> bool:
    """Return whether a sentence is shown, wholly, and with a source that supports it."""
    said = fold(without_citations(sentence))
    parts = [c for c in found.claims if fold(without_citations(c.text)) in said]
    return bool(found.text) and bool(parts) and all(part.supported for part in parts)


def rates(judged: Iterable[Judged]) -> Rates:
    """Count what is right and wrong of some sentences."""
    judged = list(judged)
    false = [s for s in judged if not s.true]
    true = [s for s in judged if s.true]
    return Rates(
        len(false), sum(s.verified for s in false), len(true), sum(not s.verified for s in true)
    )


def main() -> None:
    began = time.process_time()
    judged = [sentence for reply in read() for sentence in judge(reply)]
    seconds = time.process_time() - began
    for half in HALVES:
        chosen = [sentence for sentence in judged if sentence.half == half]
        _print(half, chosen)
        for s in chosen:
            if s.verified != s.true:
                print(f"  {s.reply:24}{'struck' if s.true else 'PASSED'}  {s.text}")
    print(f"\n{'paraphrases':16}{'false, verified':>24}{'true, struck':>24}")
    for group, said in paraphrases().items():
        _line(group, rates(said))
    print(f"\n{1000 * seconds / len(judged):.2f} ms a sentence")


def _print(half: str, judged: list[Judged]) -> None:
    print(f"\n{half:16}{'false, verified':>24}{'true, struck':>24}")
    for language in LANGUAGES:
        mine = [s for s in judged if s.language == language]
        for kind in dict.fromkeys(s.kind for s in mine):
            _line(f"{language} {kind}", rates(s for s in mine if s.kind == kind))
        _line(f"{language} all", rates(mine))
    _line("both languages", rates(judged))
    _line("planted orders", rates(s for s in judged if s.kind == "planted"))


def _line(name: str, found: Rates) -> None:
    passed = f"{found.passed}/{found.false}  {found.pass_rate:.3f}" if found.false else "-"
    struck = f"{found.struck}/{found.true}  {found.strike_rate:.3f}" if found.true else "-"
    print(f"  {name:22}{passed:>16}{struck:>24}")


if __name__ == "__main__":
    main()
