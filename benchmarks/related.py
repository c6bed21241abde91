"""How often a note that its author linked is found among the ten related ones.

    python benchmarks/related.py [--meaning FOLDER] [--notes 200]

Of the two help vaults, obsidian-help-en and -ja in ../shared/data/vaults, so many notes with a link
are drawn, half of each, and of each one link. It is hidden: the note it leads to counts as not
linked, all others that are linked with the note are left out. The share of notes whose hidden link
is among the ten, and among the first three, is printed, and the milliseconds a note, warm.

By words, and with --meaning by the built-in embedding model too, whose vectors are kept in FOLDER.
With --lists, instead, the lists of questions/related.jsonl: the share whose first note is sensible,
and the share of notes to which nothing is related where nothing is clearly so.
A hidden link is still there as text, as if its author had only named the other note.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import day_notes
from kept_vectors import indexed
from rag.app.related import related
from rag.app.requests import RelatedRequest
from rag.app.workspace import Workspace
from rag.config import RAGConfig
from rag.index.lookup import open_manifest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "vaults"
VAULTS = ("obsidian-help-en", "obsidian-help-ja")
DEPTH, TIMED = 10, 20
REPO = Path(__file__).resolve().parents[1]
LISTS = REPO / "benchmarks" / "questions" / "related.jsonl"
HOMES = (REPO / "vaults", LISTS.parent / "vaults")
MADE = {"english-days": day_notes.english_days, "japanese-days": day_notes.japanese_days}


class Hidden(NamedTuple):
    """A link that is hidden: the paths of the note with it and of the one it leads to, and those of
    all others that are linked with the note."""

    note: str
    target: str
    others: frozenset[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--meaning", type=Path, metavar="FOLDER", help="embed; keeps vectors there")
    parser.add_argument("--notes", type=int, default=200, help="how many are drawn")
    parser.add_argument("--lists", action="store_true", help="score the judged lists")
    arguments = parser.parse_args()
    if arguments.lists:
        score_lists(arguments.meaning)
        return
    ways = ["words", *(["meaning"] if arguments.meaning else [])]
    ranks: dict[str, list[int]] = {way: [] for way in ways}
    print(f"{'':18}{'by':>9}{'notes':>7}{'in 10':>7}{'in 3':>7}{'ms':>7}")
    for vault in VAULTS:
        if not (SHARED / vault).is_dir():
            print(f"skipped: {vault} is not there")
            continue
        for way in ways:
            known = arguments.meaning / f"{vault}.sqlite3" if way == "meaning" else None
            found, took = measure(vault, known, arguments.notes // 2)
            ranks[way] += found
            _print(vault, way, found, f"{took:7.1f}")
    for way, found in ranks.items():
        _print("all", way, found, "")


def score_lists(meaning: Path | None) -> None:
    """Print what share of the judged lists begins with a sensible note, and which do not.

    :param meaning: by the built-in model; vectors are kept in this folder.
    """
    sensible: list[bool] = []
    silent: list[bool] = []
    lists = [json.loads(line) for line in LISTS.read_text("utf-8").splitlines()]
    for vault in dict.fromkeys(one["vault"] for one in lists):
        with tempfile.TemporaryDirectory() as folder:
            root = next((home / vault for home in HOMES if (home / vault).is_dir()), Path(folder))
            for path, text in MADE.get(vault, dict)().items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, "utf-8")
            known = meaning / f"{vault}.sqlite3" if meaning else None
            with indexed({vault: root}, known) as config, Workspace(config) as workspace:
                for one in (each for each in lists if each["vault"] == vault):
                    request = RelatedRequest(one["note"], include_linked=True)
                    found = [each.path for each in related(workspace, request).results]
                    right = found[0] in one["sensible"] if found else not one["sensible"]
                    (sensible if one["sensible"] else silent).append(right)
                    if not right:
                        print(f"{one['id']}: {', '.join(found[:3]) or 'nothing'}")
    print(f"first one sensible {fmean(sensible):.2f} of {len(sensible)}")
    print(f"nothing where nothing is related {fmean(silent):.2f} of {len(silent)}")


def measure(vault: str, known: Path | None, notes: int) -> tuple[list[int], float]:
    """Return where the hidden note of each drawn one stands, 0 for not among the first ten, and the
    mean milliseconds in which ten related notes are found."""
    with indexed({vault: SHARED / vault}, known) as config, Workspace(config) as workspace:
        drawn = draw(config, notes)
        ranks = [find(workspace, hidden) for hidden in drawn]
        timed, started = drawn[:TIMED], time.perf_counter()
        for hidden in timed:
            related(workspace, RelatedRequest(hidden.note, top_k=DEPTH, min_score=0.0))
        return ranks, (time.perf_counter() - started) * 1000 / len(timed)


def draw(config: RAGConfig, count: int) -> list[Hidden]:
    """Draw notes with links, and one link of each: the same ones every time."""
    chance = random.Random(7)
    out, into = _links(config)
    notes = sorted(out)
    chance.shuffle(notes)
    drawn = []
    for note in notes[:count]:
        target = chance.choice(sorted(out[note]))
        others = (out[note] | into.get(note, set())) - {target}
        drawn.append(Hidden(note, target, frozenset(others)))
    return drawn


def _links(config: RAGConfig) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return by path the notes that a note links to, and those that link to it."""
    out: dict[str, set[str]] = {}
    into: dict[str, set[str]] = {}
    with open_manifest(config) as manifest:
        for row in manifest.notes():
            for link in manifest.catalogue.links_from(row.vault, row.path):
                if link.is_clear and link.notes[0].id != row.id:
                    out.setdefault(row.path, set()).add(link.notes[0].path)
                    into.setdefault(link.notes[0].path, set()).add(row.path)
    return out, into


def find(workspace: Workspace, hidden: Hidden) -> int:
    """Return where the hidden note stands, 0 for not among the first ten."""
    limit = DEPTH + len(hidden.others)
    request = RelatedRequest(hidden.note, top_k=limit, include_linked=True, min_score=0.0)
    found = [one.path for one in related(workspace, request).results]
    shown = [path for path in found if path not in hidden.others][:DEPTH]
    return shown.index(hidden.target) + 1 if hidden.target in shown else 0


def _print(name: str, way: str, ranks: Sequence[int], took: str) -> None:
    if ranks:
        shares = [fmean(1 <= rank <= depth for rank in ranks) for depth in (DEPTH, 3)]
        print(f"{name:18}{way:>9}{len(ranks):7}{shares[0]:7.2f}{shares[1]:7.2f}{took}")


if __name__ == "__main__":
    main()
