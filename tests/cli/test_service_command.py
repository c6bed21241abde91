"""`rag service`: on machines with one scheduler, another, several, or none that works."""

import plistlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.app import service
from scheduler_programs import Machine
from tables import rows

Rag = Callable[..., Any]
MINE = b"MAILTO=me\n# caf\xe9, not UTF-8\n0 3 * * * backup 100\\% # no rag service\n"
OURS = b" # rag-index: written by rag service\n"


@pytest.fixture
def cron(machine) -> Machine:
    """A machine with a crontab and no systemd."""
    machine.add("crontab")
    return machine


@pytest.fixture
def systemd(machine) -> Machine:
    """A machine with systemd and a crontab."""
    machine.add("systemctl", "loginctl", "crontab")
    return machine


@pytest.fixture
def mac(machine) -> Machine:
    """A machine with launchd and a crontab."""
    machine.add("launchctl", "crontab")
    return machine


@pytest.fixture
def units(empty_home) -> Path:
    """Where systemd looks for units of the user's."""
    return empty_home / ".config" / "systemd" / "user"


@pytest.fixture
def agent(empty_home) -> Path:
    """The file of the agent."""
    return empty_home / "Library" / "LaunchAgents" / "org.rag.index.plist"


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]


class TestCron:
    @pytest.mark.parametrize("before", [None, MINE, MINE.removesuffix(b"\n")])
    def test_a_line_is_added_and_removed_and_all_others_stay_byte_for_byte(self, cron, rag, before):
        cron.crontab = before
        ran = rag("service", "install")
        assert ran.code == 0
        assert "installed a line in your crontab: every 15m" in ran.out
        others = MINE if before else b""
        assert cron.crontab.startswith(others + b"*/15 * * * * cd / && env ")
        assert cron.crontab.endswith(b"rag index -q" + OURS)
        ran = rag("service", "remove")
        assert ran.code == 0
        assert ran.out.startswith("removed the job of cron\ndeleted   */15 * * * * cd / && env ")
        assert cron.crontab == (others or None)

    def test_installed_again_it_is_replaced(self, cron, rag):
        rag("service", "install")
        cron.crontab += MINE
        assert "deleted" not in rag("service", "install").out
        ran = rag("service", "install", "--every", "2h")
        assert ran.out.startswith("replaced a line in your crontab: every 2h")
        assert "deleted   */15 * * * * cd / && " in ran.out
        assert cron.crontab.startswith(MINE + b"0 */2 * * * cd /")
        assert cron.crontab.count(OURS) == 1

    @rows(
        "message, code",
        ("You (somebody) are not allowed to use this program (crontab)", 4),
        ("no crontab for root: permission denied while reading", 4),
        ("crontab: can't open '/var/spool/crontabs/ann': No such file or directory", 4),
        ("crontab: can't open 'ann': No such file or directory", 0),
        ("crontab: no crontab for ann", 0),
    )
    def test_one_that_cannot_be_read_is_not_one_that_is_not_there(self, cron, rag, message, code):
        cron.crontab = MINE
        cron.broken["crontab -l"] = message
        ran = rag("service", "install", "--dry-run")
        assert ran.code == code
        assert (f"cannot be read, and was left as it is ({message})" in ran.err) is (code == 4)

    def test_its_state_is_told(self, cron, rag):
        rag("service", "install", "--every", "4h")
        ran = rag("service", "status")
        assert ran.code == 0
        assert "by        cron, every 4h\n" in ran.out
        assert "cron does not tell" in ran.out
        cron.crontab = b"#" + cron.crontab
        assert rag("service", "status").code == 1

    @pytest.mark.parametrize("command", ["install", "remove"])
    def test_a_change_goes_into_the_crontab_as_it_is_when_it_is_written(
        self, systemd, rag, command
    ):
        rag("service", "install", "--with", "systemd")
        line = b"*/15 * * * * cd / && env RAG_X=1 nice -n 10 /x/rag index -q" + OURS
        systemd.crontab = line
        # While systemd does what takes it seconds, the user saves a crontab.
        systemd.edits["systemctl --user daemon-reload"] = MINE + line
        assert rag("service", command).code == 0
        assert systemd.crontab == MINE


class TestSystemd:
    def test_both_units_are_written_replaced_and_removed(self, systemd, rag, units):
        ran = rag("service", "install")
        assert ran.code == 0
        assert "installed the systemd timer rag-index.timer: every 15m" in ran.out
        assert f"wrote     {units / 'rag-index.service'}\n" in ran.out
        assert "rag-index.timer" in systemd.active
        assert systemd.crontab is None
        ran = rag("service", "install", "--every", "6h")
        assert ran.out.startswith("replaced the systemd timer rag-index.timer: every 6h")
        assert systemd.calls.count("systemctl --user restart rag-index.timer") == 2
        assert "OnCalendar=0/6:00" in (units / "rag-index.timer").read_text()
        ran = rag("service", "remove")
        assert ran.code == 0
        assert ran.out.startswith("removed the job of systemd\ndeleted   ")
        assert not systemd.active
        assert files(units) == []

    @pytest.mark.parametrize(
        ("option", "command"), [("--watch", "watch -q"), ("--http", "serve --http")]
    )
    def test_a_program_that_goes_on_takes_the_place_of_the_timer(
        self, systemd, rag, units, option, command
    ):
        rag("service", "install")
        ran = rag("service", "install", option)
        assert ran.out.startswith("replaced systemd: always\n")
        assert f"deleted   {units / 'rag-index.timer'}\n" in ran.out
        assert systemd.active == {"rag-index.service"}
        unit = (units / "rag-index.service").read_text()
        assert re.search(rf"^ExecStart=\S*rag {command}$", unit, re.MULTILINE)
        assert "Restart=on-failure" in unit
        shown = rag("service", "status")
        assert (shown.code, "by        systemd, always, running now\n" in shown.out) == (0, True)
        rag("service", "install")
        assert systemd.active == {"rag-index.timer"}
        assert "Restart=" not in (units / "rag-index.service").read_text()
        rag("service", "install", option)
        assert rag("service", "remove").code == 0
        assert not systemd.active
        assert files(units) == []

    def test_the_last_run_is_told(self, systemd, rag):
        rag("service", "install")
        assert "last      no run yet\n" in rag("service", "status").out
        systemd.told = {
            "ExecMainExitTimestamp": "Mon 2026-11-23 18:15:07 UTC",
            "ExecMainStatus": "4",
            "NextElapseUSecRealtime": "Mon 2026-11-23 18:30:00 UTC",
        }
        ran = rag("service", "status")
        assert ran.code == 1
        assert "next      2026-11-23 18:30\n" in ran.out
        assert "last      2026-11-23 18:15, failed, exit code 4\n" in ran.out
        assert "wrong     the last run failed, with exit code 4" in ran.out
        systemd.told["ExecMainStatus"] = "75"
        ran = rag("service", "status")
        assert ran.code == 0
        assert "another run was busy, exit code 75" in ran.out

    @pytest.mark.parametrize("name", ["rag-index.timer", "rag-index.service"])
    @pytest.mark.parametrize("is_link", [False, True])
    def test_a_unit_of_somebody_else_is_not_written_over_nor_deleted(
        self, systemd, rag, units, tmp_path, name, is_link
    ):
        rag("service", "install")  # a link to a unit of ours is somebody's too
        text = (units / name).read_text() if is_link else "[Unit]\nDescription=mine\n"
        rag("service", "remove")
        written = tmp_path / "mine" if is_link else units / name
        written.write_text(text)
        if is_link:
            (units / name).symlink_to(written)
        ran = rag("service", "install")
        assert ran.code == 2
        assert f"{units / name} was not written by this program, and is left as it is" in ran.err
        assert rag("service", "remove").code == 0
        assert rag("service", "status").code == 1
        assert written.read_text() == text
        assert files(units) == [units / name]


class TestLaunchd:
    def test_the_agent_is_written_and_loaded_and_removed(self, mac, rag, agent):
        ran = rag("service", "install", "--every", "2h")
        assert ran.code == 0
        assert "installed the launchd agent org.rag.index: every 2h" in ran.out
        plist = plistlib.loads(agent.read_bytes())
        assert (plist["Label"], plist["StartInterval"]) == ("org.rag.index", 7200)
        assert plist["RunAtLoad"] is plist["LowPriorityIO"] is True
        assert plist["StandardErrorPath"].endswith("/Library/Logs/rag-index.log")
        assert rag("service", "install", "--every", "1h").code == 0, "it is loaded anew"
        assert mac.active == {"agent"}
        assert rag("service", "remove").code == 0
        assert not mac.active
        assert not agent.exists()

    def test_its_state_is_told(self, mac, rag):
        rag("service", "install")
        assert "last      no run yet\n" in rag("service", "status").out
        mac.told["exit"] = "5"
        ran = rag("service", "status")
        assert ran.code == 1
        assert "last      failed, exit code 5\nlog       " in ran.out
        mac.told["exit"] = "75"
        assert "another run was busy, exit code 75" in (ran := rag("service", "status")).out
        assert ran.code == 0
        mac.active.clear()
        assert "wrong     its scheduler does not run it" in rag("service", "status").out
        mac.hanging.add("launchctl print")
        ran = rag("service", "status")
        assert ran.code == 4
        assert "launchd does not tell how it is: launchctl has not answered for 5 s" in ran.out


class TestChoosing:
    def test_a_dry_run_shows_what_a_scheduler_would_be_given_wherever_it_runs(
        self, machine, rag, units, agent, subtests
    ):
        shown = {"systemd": units / "rag-index.timer", "launchd": agent, "cron": "crontab -"}
        for name, what in shown.items():
            with subtests.test(name):
                ran = rag("service", "install", "--with", name, "--dry-run")
                assert ran.code == 0
                assert f" {what}\n" in ran.out and "\\t" not in ran.out
        ran = rag("service", "install", "--dry-run")
        usual = shown["launchd" if sys.platform == "darwin" else "systemd"]
        assert (ran.code, "no scheduler works here" in ran.err) == (0, True)
        assert f" {usual}\n" in ran.out
        assert files(Path.home()) == []

    def test_status_and_removal_go_on_where_one_scheduler_does_not_answer(self, systemd, rag):
        rag("service", "install", "--with", "systemd")
        systemd.broken["crontab"] = "crontab: cannot open /var/spool/cron: Permission denied"
        ran = rag("service", "status")
        assert ran.code == 4
        assert "by        systemd, every 15m\n" in ran.out
        assert "unknown   cron: the crontab cannot be read" in ran.out
        ran = rag("service", "remove")
        assert ran.code == 4
        assert ran.out.startswith("removed the job of systemd\n")
        assert "rag: cron: the crontab cannot be read" in ran.err
        ran = rag("service", "status")
        assert ran.code == 4
        assert "whether anything is installed cannot be told" in ran.err
        ran = rag("service", "remove")
        assert "nothing was removed\nrag: cron: the crontab cannot be read" in ran.err
        assert rag("service", "remove", "--json").code == 4


class TestTheJob:
    """What is run is what would be run here by hand."""

    @pytest.fixture
    def job(self, cron, rag) -> Callable[..., Any]:
        return lambda *options: rag("service", "install", "--dry-run", "--json", *options).json

    def test_a_file_that_was_named_is_named_to_it(self, job, monkeypatch, tmp_path):
        file = tmp_path / "my rag.toml"
        file.write_text("[search]\ntop_k = 7\n")
        monkeypatch.chdir(tmp_path)
        named = job("--config", "my rag.toml")
        assert named["command"][-2:] == ["--config", str(file)]
        assert named["folder"] == "/"
        monkeypatch.setenv("RAG_CONFIG", "my rag.toml")
        assert (job()["folder"], job()["environment"]["RAG_CONFIG"]) == ("/", str(file))

    def test_a_key_is_not_written_down_and_that_is_said(self, cron, rag, monkeypatch):
        monkeypatch.setenv("RAG_STORE__URL", "http://127.0.0.1:1")
        monkeypatch.setenv("QDRANT_API_KEY", "secret")
        ran = rag("service", "install")
        assert "the job is not given QDRANT_API_KEY, a secret." in ran.err
        assert b"secret" not in cron.crontab

    @pytest.mark.parametrize("text", [None, "{", '{"every": 1}'])
    def test_one_of_which_nothing_is_known_is_said_and_removed(self, cron, rag, text):
        rag("service", "install")
        record = service._record_file()
        record.write_text(text) if text else record.unlink()
        ran = rag("service", "status")
        assert (ran.code, "what cron runs cannot be told" in ran.out) == (4, True)
        assert rag("service", "remove").code == 0
        assert cron.crontab is None
