"""Who may ask: the token of a data folder, one-time links for a browser, and its cookie, which is
made from the token."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from rag.support.durable_files import replace_durably
from rag.support.owned_folders import claim_data_folder

_FILE = "http-token"
_LINK_SECONDS = 120
COOKIE_SECONDS = 30 * 24 * 3600


class Access:
    """Checks what requests bring against one token."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._links: dict[str, float] = {}  # that were not used, and when they expire
        # What a browser brings that has opened a link.
        self.cookie = hmac.new(token.encode(), b"cookie", sha256).hexdigest()

    def make_link(self) -> str:
        """Return the secret of a one-time link."""
        secret = secrets.token_urlsafe(32)
        self._links[secret] = time.time() + _LINK_SECONDS
        return secret

    def use_link(self, secret: str) -> bool:
        """Return whether a one-time link is good; from then on it is not."""
        return self._links.pop(secret, 0.0) > time.time()

    def is_token(self, given: str) -> bool:
        """Return whether a program has brought the token."""
        return self._is_equal(given, self._token)

    def is_cookie(self, given: str) -> bool:
        """Return whether a browser has brought its cookie."""
        return self._is_equal(given, self.cookie)

    @staticmethod
    def _is_equal(given: str, right: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


def read_token(data_folder: Path) -> str:
    """Return the token of a data folder, which is made where there is none that is the user's
    alone.

    :raises UsageError: when the folder is not ours.
    :raises OSError: when it cannot be written.
    """
    claim_data_folder(data_folder)
    file = token_file(data_folder)
    with suppress(OSError, UnicodeError):
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(opened, encoding="ascii") as stream:
            of_file = os.fstat(stream.fileno())
            token = stream.read(200).strip()
        is_ours = stat.S_ISREG(of_file.st_mode) and of_file.st_uid == os.geteuid()
        if is_ours and not of_file.st_mode & 0o077 and len(token) >= 32:
            return token
    token = secrets.token_urlsafe(32)
    replace_durably(file, f"{token}\n".encode())
    return token


def token_file(data_folder: Path) -> Path:
    """Return where the token of a data folder is kept."""
    return data_folder / _FILE
