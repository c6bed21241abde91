"""Whether the files of the index hold what was written into them."""

from __future__ import annotations

from collections.abc import Iterator

from rag.app.doctor.check import Check, Examination
from rag.exceptions import IndexUnavailableError, Message, Remedy
from rag.index.checksums import find_damage
from rag.index.snapshots import CURRENT, IndexDirectory

_NAMED = 3
_MENDED = Message(remedy=Remedy.INDEX_FROM_NOTES)


def check_files(examination: Examination) -> Iterator[Check]:
    """Read every file of the index, and compare it with its checksum.

    Of a staging index that somebody is writing, or was when he was killed, nothing is said.
    """
    directory = IndexDirectory(examination.config.index_dir)
    for file, kind in directory.strange_files():
        if file.name != CURRENT:  # without which no index is read, which is said already
            hint = Message(remedy=Remedy.MOVE_AWAY, subject=str(file))
            yield Check("files", "fail", f"{file} is {kind}, and should be a file", hint)
    try:
        snapshot = directory.open_current()
    except IndexUnavailableError:  # said already
        return
    with snapshot:
        found = find_damage(snapshot.path, all_read=True, remember=False)
    if found is None:
        message = "an older version of rag made it, and no checksums of its files"
        yield Check("files", "warn", message, Message(remedy=Remedy.WRITE_MISSING))
        return
    lost = [f"{snapshot.name}/{name}" for name in found]
    lost += [f"{directory.work.name}/{name}" for name in directory.working.damage()]
    facts = {"damaged": lost}
    if lost:
        message = f"damaged: {', '.join(lost[:_NAMED])}"
        yield Check("files", "fail", message, _MENDED, facts)
    else:
        yield Check("files", "pass", "all hold what was written into them", facts=facts)
