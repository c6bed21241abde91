"""Programs that stand in, inside the test's process, for those of systemd, launchd and cron.

They say what the real ones say when they cannot do as they are told. What was seen of the real
ones: Debian's cron 3.0 and systemd 252.
"""

from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any

import pytest

NO_BUS = "Failed to connect to bus: No medium found"


class Failure(Exception):
    """A program fails, with its exit code and what it prints."""


class Machine:
    """The programs that a machine has, and what they were given.

    A command is named by its first words, as in `crontab -`.

    :param told: what systemctl, loginctl or launchctl tell.
    :param broken: commands that fail, and their messages.
    :param hanging: commands that do not end.
    :param edits: crontabs that somebody saves while a command runs.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.crontab: bytes | None = None
        self.active: set[str] = set()
        self.told: dict[str, str] = {}
        self.broken: dict[str, str] = {}
        self.hanging: set[str] = set()
        self.edits: dict[str, bytes] = {}
        self._programs = folder / "bin"
        self._programs.mkdir(parents=True)
        patch.setenv("PATH", str(self._programs))
        patch.setattr("rag.app.service.run", self._run)

    def add(self, *names: str) -> None:
        """Install programs."""
        for name in names:
            (self._programs / name).touch(0o755)

    def _run(self, words: list[str], input: str, timeout: float, **_: Any) -> CompletedProcess[str]:
        if not (self._programs / words[0]).exists():
            raise FileNotFoundError(2, "No such file or directory")
        self.calls.append(" ".join(words))
        try:
            for command in (" ".join(words[:count]) for count in range(1, 4)):
                if command in self.hanging:
                    raise TimeoutExpired(words, timeout)
                if command in self.broken:
                    raise Failure(1, self.broken[command])
                self.crontab = self.edits.pop(command, self.crontab)
            output = getattr(self, f"_{words[0]}")(
                words[1:], input.encode(errors="surrogateescape")
            )
        except Failure as failure:
            code, message = failure.args
            return CompletedProcess(words, code, "", f"{message}\n")
        return CompletedProcess(words, 0, (output or b"").decode(errors="surrogateescape"), "")

    def _crontab(self, words: list[str], given: bytes) -> bytes | None:
        """Keep one crontab, as Debian's cron does."""
        if words == ["-"]:
            if given and not given.endswith(b"\n"):
                raise Failure(1, "new crontab file is missing newline before EOF, can't install.")
            self.crontab = given
        elif self.crontab is None:
            raise Failure(1, "no crontab for somebody")
        elif words == ["-r"]:
            self.crontab = None
        return self.crontab

    def _pgrep(self, _words: list[str], _: bytes) -> None:
        raise Failure(1, "")  # none of that name

    def _systemctl(self, words: list[str], _: bytes) -> bytes | None:
        """Govern units of the user's: those whose files are where systemd looks for them."""
        user, verb, *units = (word for word in words if word != "--now")
        assert user == "--user"
        if verb == "show":
            names = units.pop().removeprefix("--property=").split(",")
            return b"\n".join(self._properties(unit, names) for unit in units)
        folder = Path.home() / ".config" / "systemd" / "user"
        for unit in units:
            target = "timers" if unit.endswith(".timer") else "default"
            link = folder / f"{target}.target.wants" / unit
            if not (folder / unit).exists():
                raise Failure(1, f"Failed to {verb} unit: Unit file {unit} does not exist.")
            if verb == "enable":
                link.parent.mkdir(exist_ok=True)
                link.unlink(missing_ok=True)
                link.symlink_to(folder / unit)
            elif verb == "restart":
                self.active.add(unit)
            elif verb == "disable":
                link.unlink(missing_ok=True)
                self.active.discard(unit)
        return None

    def _properties(self, unit: str, names: list[str]) -> bytes:
        state = "active" if unit in self.active else self.told.get(unit, "inactive")
        values = {**self.told, "ActiveState": state}
        return "".join(f"{name}={values.get(name, '')}\n" for name in names).encode()

    def _loginctl(self, _words: list[str], _: bytes) -> bytes:
        return f"Linger={self.told.get('Linger', 'yes')}\n".encode()

    def _launchctl(self, words: list[str], _: bytes) -> bytes | None:
        """Load and unload one agent."""
        verb, target, *files = words
        if verb == "bootstrap":
            if "agent" in self.active:
                raise Failure(5, "Bootstrap failed: 5: Input/output error")
            assert Path(files[0]).exists()
            self.active.add("agent")
        elif "agent" not in self.active:
            raise Failure(113, f'Could not find service "org.rag.index" in domain for {target}')
        elif verb == "bootout":
            self.active.discard("agent")
        code = self.told.get("exit", "(never exited)")
        return f"{target} = {{\n\tstate = not running\n\tlast exit code = {code}\n}}\n".encode()


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Machine:
    """A machine that has no scheduler yet."""
    return Machine(tmp_path / "machine", monkeypatch)
