"""Running the programs by which schedulers are governed."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

from rag.exceptions import ConnectionError
from rag.text.messages import brief

_PATIENCE = 60.0  # seconds


@dataclass(frozen=True)
class Done:
    """How a program ended.

    :param output: what it printed, byte for byte: names in other encodings are kept.
    :param error: what it said on stderr, as one line.
    """

    code: int
    output: bytes
    error: str

    @property
    def text(self) -> str:
        """What it printed, as text."""
        return self.output.decode("utf-8", "replace")


def is_there(program: str) -> bool:
    """Return whether a program is on the path."""
    return shutil.which(program) is not None


def run(words: list[str], given: bytes = b"") -> Done:
    """Run a program to its end, its messages in English.

    :param given: what it reads on stdin.
    :raises ConnectionError: when it cannot be started, or does not end.
    """
    try:
        ran = subprocess.run(
            words,
            input=given,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError as error:
        raise ConnectionError(f"{words[0]} cannot be run", details=str(error)) from error
    except subprocess.TimeoutExpired as error:
        message = f"{words[0]} has not answered for {_PATIENCE:.0f} seconds"
        raise ConnectionError(message, words[0]) from error
    said = ran.stderr.decode("utf-8", "replace")
    return Done(ran.returncode, ran.stdout, brief(said))


def properties(text: str) -> dict[str, str]:
    """Return the values of lines such as `Linger=no`, by name; the last of a name counts."""
    pairs = (line.partition("=") for line in text.split("\n"))
    return {name.strip(): value.strip(" \t\r") for name, equals, value in pairs if equals}
