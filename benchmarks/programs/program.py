"""What the programs of the peers have in common: their arguments, and reading notes.

    PROGRAM.py load VARIANT VAULT INDEX     prints how many notes the index holds
    PROGRAM.py search VARIANT INDEX QUERY   prints the paths of the ten best notes, best first

Each is what one would write in an hour: it indexes whole notes and has no way to update them.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TOP_K = 10


class Note(NamedTuple):
    """A note: its path in the vault, its title and the text below the front matter."""

    path: str
    title: str
    text: str


def read_notes(vault: Path) -> Iterator[Note]:
    """Yield the notes of a vault; a note's file name is its title."""
    for file in sorted(vault.rglob("*.md")):
        text = file.read_text("utf-8")
        if text.startswith("---\n"):
            text = text.partition("\n---\n")[2]
        yield Note(str(file.relative_to(vault)), file.stem, text)


def run(
    load: Callable[[str, Path, Path], int], search: Callable[[str, Path, str], Iterable[str]]
) -> None:
    """Do what the arguments of the process say."""
    if sys.argv[1] == "load":
        _, _, variant, vault, index = sys.argv
        print(load(variant, Path(vault), Path(index)))
    else:
        _, _, variant, index, query = sys.argv
        print(*search(variant, Path(index), query), sep="\n")
