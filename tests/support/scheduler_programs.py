"""Programs that stand in for those of systemd, launchd and cron: they keep what they are given in
a folder of the test's, and say what the real ones say when they cannot do as they are told.

What was seen of the real ones: Debian's cron 3.0 and systemd 252.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

NO_BUS = "Failed to connect to bus: No medium found"


class Machine:
    """The programs that a machine has, and what they were given.

    :param folder: for the programs and for what they keep.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._programs, self._state = folder / "bin", folder / "state"
        self._programs.mkdir(parents=True)
        self._state.mkdir()
        patch.setenv("PATH", str(self._programs))
        self._daemon = folder / "proc" / "7" / "comm"  # the machine of the tests may run none
        self._daemon.parent.mkdir(parents=True)
        self._daemon.write_text("cron\n")
        patch.setattr("rag.app.service.cron._PROCESSES", folder / "proc")

    def add(self, *names: str) -> None:
        """Install programs."""
        for name in names:
            program = self._programs / name
            program.write_text(
                f"#!{sys.executable} -IS\n"
                f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
                f"sys.dont_write_bytecode = True\n"
                f"import scheduler_answers\n"
                f"scheduler_answers.{name}({str(self._state)!r}, sys.argv[1:])\n"
            )
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def break_down(self, name: str, message: str) -> None:
        """Let a program fail from now on, with this message: whatever its arguments are, or only
        with the first one or two that are named, as in `crontab -`."""
        (self._state / f"{name}.broken").write_text(message)

    def hang(self, name: str) -> None:
        """Let a program give no answer from now on, with the arguments that `break_down` has."""
        (self._state / f"{name}.hangs").touch()

    def begin_with(self, name: str, crontab: bytes) -> None:
        """Let a program, when it is next run, first write this crontab: somebody edits it then."""
        (self._state / f"{name}.edits").write_bytes(crontab)

    def stop_cron(self) -> None:
        """End the cron daemon."""
        self._daemon.write_text("sh\n")

    def tell(self, **values: str) -> None:
        """Let systemctl, loginctl or launchctl tell these values."""
        file = self._state / "told.json"
        told = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps({**told, **values}))

    @property
    def calls(self) -> list[str]:
        """The command lines that were run, in order."""
        file = self._state / "calls"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def crontab(self) -> bytes | None:
        """The user's crontab; `None` when there is none."""
        file = self._state / "crontab"
        return file.read_bytes() if file.exists() else None

    @crontab.setter
    def crontab(self, content: bytes) -> None:
        (self._state / "crontab").write_bytes(content)

    def is_active(self, name: str) -> bool:
        """Return whether a timer or an agent is loaded."""
        return (self._state / f"{name}.active").exists()

    def stop(self, name: str) -> None:
        """Stop a timer or an agent behind the program's back."""
        (self._state / f"{name}.active").unlink()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine that has no scheduler yet."""
    return Machine(tmp_path / "machine", monkeypatch)
