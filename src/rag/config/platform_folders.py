"""Where a platform keeps what belongs to a program."""

from __future__ import annotations

from pathlib import Path

_APP = "rag"


def platform_folder(which: str) -> Path:
    """Return one of the platform's folders for this program, as platformdirs names it."""
    import platformdirs

    return Path(getattr(platformdirs, which)(_APP, appauthor=False))
