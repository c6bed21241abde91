"""Text that is shown to a model as data: between two lines with a code that it does not hold."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256


def unused_code(texts: Iterable[str], secret: str = "") -> str:
    """Return a code that no text holds, so that none of them can end where it does not.

    :param secret: makes it another code; without one it is the same for the same texts, so that
        a model that is asked the same again can say the same again.
    """
    texts = list(texts)
    code = ""
    while not code or any(code in text for text in texts):
        seed = "\0".join((code, secret, *texts)).encode("utf-8", "replace")
        code = sha256(seed).hexdigest()[:8]
    return code


def fenced(text: str, code: str) -> str:
    """Return a text between its two lines."""
    return f"<<< {code}\n{text}\n{code} >>>"
