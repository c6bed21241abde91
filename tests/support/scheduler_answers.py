"""What the programs of `scheduler_programs` do; it imports nothing that takes long."""

import json
import os
import sys
import time
from pathlib import Path


def _begin(name: str, state: str, words: list[str]) -> Path:
    folder = Path(state)
    with (folder / "calls").open("a") as calls:
        calls.write(" ".join([name, *words]) + "\n")
    for what in (" ".join([name, *words[:count]]) for count in range(3)):
        if (folder / f"{what}.broken").exists():
            _fail((folder / f"{what}.broken").read_text())
        if (folder / f"{what}.edits").exists():
            (folder / f"{what}.edits").rename(folder / "crontab")
        if (folder / f"{what}.hangs").exists():
            time.sleep(60)
    return folder


def _fail(message: str, code: int = 1) -> None:
    print(message, file=sys.stderr)
    sys.exit(code)


def _told(folder: Path) -> dict[str, str]:
    file = folder / "told.json"
    told: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return told


def crontab(state: str, words: list[str]) -> None:
    """Keep one crontab, as Debian's cron does."""
    folder = _begin("crontab", state, words)
    file = folder / "crontab"
    if words == ["-l"]:
        if not file.exists():
            _fail("no crontab for somebody")
        sys.stdout.buffer.write(file.read_bytes())
    elif words == ["-r"]:
        file.unlink()
    elif words == ["-"]:
        content = sys.stdin.buffer.read()
        if content and not content.endswith(b"\n"):
            _fail("new crontab file is missing newline before EOF, can't install.")
        file.write_bytes(content)
    else:
        _fail("crontab: usage error: unrecognized option")


def systemctl(state: str, words: list[str]) -> None:
    """Govern units of the user's: those whose files are where systemd looks for them."""
    folder = _begin("systemctl", state, words)
    if words[:1] != ["--user"]:
        _fail("System has not been booted with systemd as init system (PID 1). Can't operate.")
    verb, *rest = words[1:]
    named = [word for word in rest if not word.startswith("--")]
    if verb == "show":
        _show(folder, *named, asked=rest[-1].removeprefix("--property="))
    units = Path(os.environ["HOME"]) / ".config" / "systemd" / "user"
    for unit in named if verb in ("enable", "disable", "restart") else []:
        if not (units / unit).exists():
            _fail(f"Failed to {verb} unit: Unit file {unit} does not exist.")
        link, active = units / "timers.target.wants" / unit, folder / f"{unit}.active"
        if verb == "enable":
            link.parent.mkdir(exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(units / unit)
        elif verb == "restart":
            active.touch()
        else:
            link.unlink(missing_ok=True)
            active.unlink(missing_ok=True)


def _show(folder: Path, *units: str, asked: str) -> None:
    told = _told(folder)
    for name in asked.split(","):
        value = told.get(name, "")
        if name == "ActiveState":
            is_active = any((folder / f"{unit}.active").exists() for unit in units)
            value = "active" if is_active else told.get(units[0], "inactive")
        print(f"{name}={value}")
    sys.exit(0)


def loginctl(state: str, words: list[str]) -> None:
    """Tell whether lingering is on."""
    told = _told(_begin("loginctl", state, words))
    print(f"Linger={told.get('Linger', 'yes')}")


def journalctl(state: str, words: list[str]) -> None:
    """Tell the last line of a run."""
    told = _told(_begin("journalctl", state, words))
    if f"_SYSTEMD_INVOCATION_ID={told['InvocationID']}" in words:
        print(told["line"])


def launchctl(state: str, words: list[str]) -> None:
    """Load and unload one agent."""
    folder = _begin("launchctl", state, words)
    active = folder / "org.rag.index.active"
    verb = words[0]
    if verb == "bootstrap":
        if active.exists():
            _fail("Bootstrap failed: 5: Input/output error", 5)
        if not Path(words[2]).exists():
            _fail("Bootstrap failed: 2: No such file or directory", 2)
        active.touch()
        return
    if not active.exists():
        bad = f'Could not find service "org.rag.index" in domain for {words[1]}'
        _fail("Boot-out failed: 3: No such process" if verb == "bootout" else bad, 113)
    if verb == "bootout":
        active.unlink()
    else:
        code = _told(folder).get("exit", "(never exited)")
        print(f"{words[1]} = {{\n\tstate = not running\n\tlast exit code = {code}\n}}")
