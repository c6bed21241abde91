"""Generated vaults for the benchmarks: plausible notes, the same ones every time.

Half the notes are English, half Japanese (made_words.py makes their words). They have front matter,
headings, lists, tags, links to one another and now and then a line of code. A note depends on its
number alone, so a smaller vault is the beginning of a larger one.

    python benchmarks/vaults.py FOLDER NOTES
"""

import random
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from made_words import Subject

BYTES = 4300  # of a note, about
_SEED = 7

_TAGS = [
    *("work", "idea", "meeting", "howto", "journal", "reading", "project/alpha", "project/beta"),
    *("日記", "会議", "手順", "読書", "運用/監視", "運用/障害"),
]
_IN_FOLDER = 100
_WORTH_PROCESSES = 2000


def make_vault(root: Path, notes: int, megabytes: float) -> None:
    """Write `notes` notes of `megabytes` in all, in folders of 100."""
    size = int(megabytes * 1e6 / notes)
    write = partial(_write, root, size)
    starts = range(0, notes, _IN_FOLDER)
    ends = [min(start + _IN_FOLDER, notes) for start in starts]
    if notes < _WORTH_PROCESSES:
        for start, end in zip(starts, ends, strict=True):
            write(start, end)
        return
    with ProcessPoolExecutor() as processes:
        list(processes.map(write, starts, ends, chunksize=5))


def note_path(number: int) -> Path:
    """Return where a note lies in its vault."""
    return Path(f"{number // _IN_FOLDER:03}") / f"{_title(number)}.md"


def title_query(number: int) -> str:
    """Return the words of a note's title, as somebody would look for it; odd ones are English."""
    return _title(number).rpartition(" ")[0].lower()


def _write(root: Path, size: int, start: int, end: int) -> None:
    (root / note_path(start)).parent.mkdir(parents=True, exist_ok=True)
    for number in range(start, end):
        (root / note_path(number)).write_text(_note(number, size), "utf-8")


def _is_japanese(number: int) -> bool:
    return number % 2 == 0


def _title(number: int) -> str:
    japanese = _is_japanese(number)
    words = Subject(random.Random(f"{_SEED} {number}"), japanese).words(2)
    return f"{'の'.join(words) if japanese else ' '.join(words).capitalize()} {number}"


def _note(number: int, size: int) -> str:
    rng = random.Random(f"{_SEED} {number}")
    subject = Subject(rng, _is_japanese(number))
    target = max(200, int(rng.lognormvariate(0, 0.6) * size * 0.767))
    parts = [_front_matter(number, rng)]
    written = len(parts[0])
    while written < target:
        part = _section(number, rng, subject)
        parts.append(part)
        written += len(part.encode())
    return "".join(parts)


def _front_matter(number: int, rng: random.Random) -> str:
    tags = ", ".join(rng.sample(_TAGS, rng.randint(1, 3)))
    created = f"{rng.randint(2021, 2025)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    return f"---\ntitle: {_title(number)}\ntags: [{tags}]\ncreated: {created}\n---\n"


def _section(number: int, rng: random.Random, subject: Subject) -> str:
    japanese = _is_japanese(number)
    heading = ("の" if japanese else " ").join(subject.words(rng.randint(1, 3)))
    space = "" if japanese else " "
    parts = [f"\n## {heading}\n"]
    for _ in range(rng.randint(1, 3)):
        parts += [space.join(subject.sentences(rng.randint(2, 5))) + "\n"]
    if rng.random() < 0.3:
        parts.append("".join(f"- {item}\n" for item in subject.sentences(rng.randint(2, 6))))
    if number and rng.random() < 0.4:
        parts.append(f"→ [[{_title(rng.randrange(number))}]] #{rng.choice(_TAGS)}\n")
    if rng.random() < 0.06:
        name = "-".join(Subject(rng, japanese=False).words(2))
        parts.append(f"```sh\n{name} --all --limit={rng.randint(1, 500)}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    make_vault(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[2]) * BYTES / 1e6)
