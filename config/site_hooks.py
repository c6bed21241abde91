"""What the site of the documents (`mkdocs.yml`) leaves out of them."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return a page whose links to files of the project beside `docs` are their text alone: the
    site does not hold them."""
    return _OUTSIDE.sub(r"\1", markdown)
