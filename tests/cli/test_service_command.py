"""`rag service`: on machines with one scheduler, another, several, or none that works."""

from __future__ import annotations

import plistlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.app.service import SCHEDULERS
from scheduler_programs import NO_BUS, Machine

Rag = Callable[..., Any]
MINE = b"MAILTO=me\n# caf\xe9, not UTF-8\n0 3 * * * backup 100\\% # no rag service\n"
OURS = b" # rag-index: written by rag service\n"


@pytest.fixture
def cron(machine: Machine) -> Machine:
    """A machine with a crontab and no systemd."""
    machine.add("crontab")
    return machine


@pytest.fixture
def systemd(machine: Machine) -> Machine:
    """A machine with systemd and a crontab."""
    machine.add("systemctl", "loginctl", "journalctl", "crontab")
    return machine


@pytest.fixture
def mac(machine: Machine) -> Machine:
    """A machine with launchd and a crontab."""
    machine.add("launchctl", "crontab")
    return machine


@pytest.fixture
def units(empty_home: Path) -> Path:
    """Where systemd looks for units of the user's."""
    return empty_home / ".config" / "systemd" / "user"


@pytest.fixture
def agent(empty_home: Path) -> Path:
    """The file of the agent."""
    return empty_home / "Library" / "LaunchAgents" / "org.rag.index.plist"


class TestCron:
    def test_a_line_is_added_and_all_others_stay_byte_for_byte(self, cron, rag):
        cron.crontab = MINE
        ran = rag("service", "install")
        assert ran.code == 0
        assert cron.crontab.startswith(MINE + b"*/15 * * * * cd / && env ")
        assert cron.crontab.endswith(b"rag index -q" + OURS)
        assert "installed a line in your crontab: every 15m" in ran.out

    def test_it_begins_a_crontab_where_there_is_none(self, cron, rag):
        assert rag("service", "install").code == 0
        assert cron.crontab.count(b"\n") == 1

    def test_a_last_line_without_an_end_is_kept(self, cron, rag):
        cron.crontab = MINE.removesuffix(b"\n")
        assert rag("service", "install").code == 0
        assert cron.crontab.startswith(MINE + b"*/15")

    def test_installed_again_it_is_replaced_in_its_place(self, cron, rag):
        assert rag("service", "install").code == 0
        cron.crontab += MINE
        ran = rag("service", "install", "--every", "2h")
        assert ran.out.startswith("replaced a line in your crontab: every 2h")
        assert cron.crontab.startswith(b"0 */2 * * * cd /")
        assert cron.crontab.endswith(OURS + MINE)
        assert cron.crontab.count(OURS) == 1

    def test_the_same_again_changes_nothing(self, cron, rag):
        assert rag("service", "install").code == 0
        before = cron.crontab
        assert rag("service", "install").code == 0
        assert cron.crontab == before

    def test_removed_all_other_lines_are_as_they_were(self, cron, rag):
        cron.crontab = MINE
        assert rag("service", "install").code == 0
        ran = rag("service", "remove")
        assert ran.code == 0
        assert ran.out.startswith("removed the job of cron\ndeleted   */15 * * * * cd / && env ")
        assert cron.crontab == MINE

    def test_a_crontab_of_which_nothing_is_left_is_removed(self, cron, rag):
        assert rag("service", "install").code == 0
        assert rag("service", "remove").code == 0
        assert cron.crontab is None

    def test_a_crontab_that_cannot_be_read_is_not_written(self, cron, rag):
        cron.crontab = MINE
        cron.break_down("crontab", "You (somebody) are not allowed to use this program (crontab)")
        ran = rag("service", "install")
        assert ran.code == 4
        assert "cannot be read, and was left as it is" in ran.err
        assert "not allowed to use this program" in ran.err
        assert cron.calls == ["crontab -l"]

    def test_a_crontab_that_is_refused_stays_as_it_was(self, cron, rag):
        cron.crontab = MINE
        cron.break_down("crontab -", '"-":0: bad minute; errors in crontab file')
        ran = rag("service", "install")
        assert ran.code == 4
        assert '`crontab -` failed: "-":0: bad minute' in ran.err
        assert "rag service remove" not in ran.err
        assert cron.crontab == MINE

    def test_an_interval_that_it_cannot_express_is_refused(self, cron, rag):
        ran = rag("service", "install", "--every", "90m")
        assert ran.code == 2
        assert "a crontab cannot say every 90m" in ran.err
        assert "1h or 2h" in ran.err
        assert cron.crontab is None

    def test_its_state_is_read_from_the_line(self, cron, rag):
        rag("service", "install", "--every", "4h")
        ran = rag("service", "status")
        assert ran.code == 0
        assert "by        cron, every 4h\n" in ran.out
        assert "\nnext      " in ran.out
        assert "cron does not tell" in ran.out

    def test_a_line_that_was_changed_by_hand_is_shown_as_it_is(self, cron, rag):
        rag("service", "install")
        cron.crontab = cron.crontab.replace(b"*/15 * * * *", b"5 9-17 * * 1-5")
        assert "by        cron, every 5 9-17 * * 1-5\n" in rag("service", "status").out

    def test_a_line_that_was_commented_out_is_no_job(self, cron, rag):
        rag("service", "install")
        cron.crontab = b"#" + cron.crontab
        assert rag("service", "status").code == 1


class TestOthersLines:
    """Whatever is not as we write it is somebody else's, and stays."""

    @pytest.mark.parametrize(
        "line",
        [
            b"0 1 * * * /home/x/backup # rag service\n",
            b"0 1 * * * /home/x/backup" + OURS,
            b"0 1 * * * cd / && env A=1 nice -n 10 /x/rag index -q && notify" + OURS,
            b"0 1 * * * cd / && /x/rag index -q" + OURS,
        ],
    )
    def test_a_line_that_only_ends_as_ours_does_survives_all_commands(self, cron, rag, line):
        cron.crontab = line
        assert rag("service", "install").code == 0
        assert cron.crontab.startswith(line + b"*/15 ")
        assert rag("service", "remove").code == 0
        assert cron.crontab == line

    def test_one_with_our_mark_is_named(self, cron, rag):
        cron.crontab = b"0 1 * * * /home/x/backup" + OURS
        for command in ("install", "remove"):
            said = rag("service", command).err
            assert "is left as it is: 0 1 * * * /home/x/backup # rag-index" in said
        ran = rag("service", "status")
        assert ran.code == 1
        assert "is left as it is: 0 1 * * * /home/x/backup # rag-index" in ran.out

    def test_a_line_of_ours_that_is_replaced_is_shown(self, cron, rag):
        rag("service", "install")
        cron.crontab = cron.crontab.replace(b"*/15 * * * *", b"5 9-17 * * 1-5")
        assert "deletes   5 9-17 * * 1-5 cd / && " in rag("service", "install", "--dry-run").out
        assert "deleted   5 9-17 * * 1-5 cd / && " in rag("service", "install").out

    @pytest.mark.parametrize("command", ["install", "remove"])
    def test_a_change_goes_into_the_crontab_as_it_is_when_it_is_written(
        self, systemd, rag, command
    ):
        rag("service", "install", "--with", "systemd")
        line = b"*/15 * * * * cd / && env RAG_X=1 nice -n 10 /x/rag index -q" + OURS
        systemd.crontab = line
        # While systemd does what takes it seconds, the user saves a crontab.
        systemd.begin_with("systemctl --user daemon-reload", MINE + line)
        assert rag("service", command).code == 0
        assert systemd.crontab == MINE

    def test_the_header_that_an_old_cron_shows_is_not_written_back(self, cron, rag):
        header = (
            b"# DO NOT EDIT THIS FILE - edit the master and reinstall.\n"
            b"# (/tmp/crontab.4711 installed on Mon Nov 23 18:00:00 2026)\n"
            b"# (Cron version -- $Id: crontab.c,v 2.13 1994/01/17 03:20:37 vixie Exp $)\n"
        )
        cron.crontab = header + header + MINE
        assert rag("service", "install").code == 0
        assert cron.crontab.startswith(header + MINE + b"*/15 ")

    @pytest.mark.parametrize(
        "beginning",
        [
            b"# DO NOT EDIT THIS FILE - edit the master and reinstall.\n",
            b"# DO NOT EDIT THIS FILE - edit the master and reinstall.\n# (a)\n# (b)\n",
        ],
    )
    def test_a_beginning_that_only_resembles_it_is_kept(self, cron, rag, beginning):
        cron.crontab = beginning + MINE
        assert rag("service", "install").code == 0
        assert cron.crontab.startswith(beginning + MINE + b"*/15 ")

    @pytest.mark.parametrize(
        "said",
        [
            "no crontab for root: permission denied while reading",
            "crontab: can't open '/var/spool/cron/crontabs/ann': No such file or directory",
            "can't open your crontab: No such file or directory",
        ],
    )
    def test_a_failure_that_resembles_an_empty_crontab_is_none(self, cron, rag, said):
        cron.crontab = MINE
        cron.break_down("crontab -l", said)
        assert rag("service", "install").code == 4
        assert cron.crontab == MINE

    @pytest.mark.parametrize(
        "said",
        [
            "no crontab for ann",
            "crontab: no crontab for ann",
            "crontab: can't open 'ann': No such file or directory",
        ],
    )
    def test_each_cron_says_in_its_way_that_there_is_no_crontab(self, cron, rag, said):
        cron.break_down("crontab -l", said)
        assert rag("service", "install", "--dry-run").code == 0


class TestOthersFiles:
    """Units and agents of our name that somebody else wrote stay as they are."""

    @pytest.mark.parametrize("name", ["rag-index.timer", "rag-index.service"])
    @pytest.mark.parametrize("is_link", [False, True])
    def test_a_unit_is_not_written_over_nor_deleted(
        self, systemd, rag, units, tmp_path, name, is_link
    ):
        unit = units / name
        units.mkdir(parents=True)
        written = tmp_path / "mine" if is_link else unit
        written.write_text("[Unit]\nDescription=mine\n")
        if is_link:
            unit.symlink_to(written)
        ran = rag("service", "install")
        assert ran.code == 2
        assert f"{unit} was not written by this program, and is left as it is" in ran.err
        ran = rag("service", "remove")
        assert ran.code == 0
        assert f"{unit} was not written by this program, and is left as it is" in ran.err
        assert rag("service", "status").code == 1
        assert written.read_text() == "[Unit]\nDescription=mine\n"
        assert unit.is_symlink() is is_link
        assert list(units.iterdir()) == [unit]

    def test_a_link_to_a_unit_of_ours_is_left_too(self, systemd, rag, units, tmp_path):
        rag("service", "install")
        service = units / "rag-index.service"
        service.rename(tmp_path / "kept")
        service.symlink_to(tmp_path / "kept")
        assert rag("service", "remove").code == 0
        assert service.is_symlink()
        assert not (units / "rag-index.timer").exists()

    def test_installing_into_cron_leaves_them_and_says_so(self, systemd, rag, units):
        units.mkdir(parents=True)
        (units / "rag-index.timer").write_text("[Timer]\n")
        ran = rag("service", "install", "--with", "cron")
        assert ran.code == 0
        assert "rag-index.timer was not written by this program" in ran.err
        assert (units / "rag-index.timer").read_text() == "[Timer]\n"

    def test_an_agent_is_not_written_over_nor_deleted(self, mac, rag, agent):
        agent.parent.mkdir(parents=True)
        agent.write_bytes(plistlib.dumps({"Label": "org.rag.index"}))
        before = agent.read_bytes()
        ran = rag("service", "install")
        assert ran.code == 2
        assert f"{agent} was not written by this program, and is left as it is" in ran.err
        ran = rag("service", "remove")
        assert ran.code == 0
        assert f"{agent} was not written by this program" in ran.err
        assert agent.read_bytes() == before
        assert not any("launchctl" in call for call in mac.calls)


class TestSystemd:
    def test_both_units_are_written_and_the_timer_runs(self, systemd, rag, units):
        ran = rag("service", "install")
        assert ran.code == 0
        assert "installed the systemd timer rag-index.timer: every 15m" in ran.out
        assert str(units / "rag-index.service") in ran.out
        assert systemd.is_active("rag-index.timer")
        assert (units / "timers.target.wants" / "rag-index.timer").exists()
        timer = (units / "rag-index.timer").read_text()
        assert "OnCalendar=*:0/15\nPersistent=true\nRandomizedDelaySec=90\n" in timer
        service = (units / "rag-index.service").read_text()
        assert "SuccessExitStatus=75\nNice=10\nIOSchedulingClass=idle\n" in service
        assert systemd.crontab is None

    def test_it_counts_from_the_last_run_where_a_calendar_cannot_say_it(self, systemd, rag, units):
        assert rag("service", "install", "--every", "90m").code == 0
        assert "OnUnitActiveSec=90min" in (units / "rag-index.timer").read_text()
        assert "by        systemd, every 90m\n" in rag("service", "status").out

    def test_installed_again_the_timer_starts_anew(self, systemd, rag, units):
        rag("service", "install")
        ran = rag("service", "install", "--every", "1h")
        assert ran.out.startswith("replaced the systemd timer rag-index.timer: every 1h")
        assert systemd.calls.count("systemctl --user restart rag-index.timer") == 2
        assert "OnCalendar=0/1:00" in (units / "rag-index.timer").read_text()

    def test_removed_nothing_is_left(self, systemd, rag, units):
        rag("service", "install")
        ran = rag("service", "remove")
        assert ran.code == 0
        assert ran.out.startswith("removed the job of systemd\ndeleted   ")
        assert not systemd.is_active("rag-index.timer")
        assert [path for path in units.rglob("*") if not path.is_dir()] == []

    def test_the_last_run_is_told_with_what_it_said(self, systemd, rag):
        rag("service", "install")
        systemd.tell(
            ExecMainExitTimestamp="Mon 2026-11-23 18:15:07 UTC",
            ExecMainStatus="4",
            Result="exit-code",
            InvocationID="a1b2",
            NextElapseUSecRealtime="Mon 2026-11-23 18:30:00 UTC",
            line="rag: no answer from http://127.0.0.1:6333",
        )
        ran = rag("service", "status")
        assert ran.code == 1
        assert "next      2026-11-23 18:30\n" in ran.out
        assert "last      2026-11-23 18:15, failed, exit code 4\n" in ran.out
        assert "said      rag: no answer from http://127.0.0.1:6333\n" in ran.out
        assert "wrong     the last run failed, with exit code 4" in ran.out

    def test_another_run_that_was_busy_is_no_failure(self, systemd, rag):
        rag("service", "install")
        systemd.tell(
            ExecMainExitTimestamp="Mon 2026-11-23 18:15:07 UTC",
            ExecMainStatus="75",
            Result="success",
        )
        ran = rag("service", "status")
        assert ran.code == 0
        assert "another run was busy (exit code 75)" in ran.out

    def test_a_timer_that_was_stopped_is_wrong(self, systemd, rag):
        rag("service", "install")
        systemd.stop("rag-index.timer")
        ran = rag("service", "status")
        assert ran.code == 1
        assert "systemd has it, but does not run it. `rag service install`" in ran.out

    def test_it_says_that_it_runs_only_while_you_are_logged_in(self, systemd, rag):
        systemd.tell(Linger="no")
        assert "`loginctl enable-linger`" in rag("service", "install").err
        assert "`loginctl enable-linger`" in rag("service", "status").out
        systemd.tell(Linger="yes")
        assert "linger" not in rag("service", "status").out

    def test_a_failure_names_the_command_and_what_takes_away_what_was_written(
        self, systemd, rag, monkeypatch
    ):
        # Units go where the manager, which was started with another environment, does not look.
        monkeypatch.setenv("XDG_CONFIG_HOME", str(Path.home() / "elsewhere"))
        ran = rag("service", "install")
        assert ran.code == 4
        assert "`systemctl --user enable rag-index.timer` failed: Failed to enable unit" in ran.err
        assert "`rag service remove` takes away what was written." in ran.err

    def test_units_in_a_folder_that_may_not_be_written_are_an_error(self, systemd, rag, units):
        units.parent.mkdir(parents=True)
        units.write_text("a file in the place of the folder")
        ran = rag("service", "install")
        assert ran.code == 4
        assert "rag-index.service cannot be written (File exists)" in ran.err


class TestLaunchd:
    def test_the_agent_is_written_and_loaded(self, mac, rag, agent):
        ran = rag("service", "install", "--every", "2h")
        assert ran.code == 0
        told = plistlib.loads(agent.read_bytes())
        assert (told["Label"], told["StartInterval"]) == ("org.rag.index", 7200)
        assert told["RunAtLoad"] is told["LowPriorityIO"] is True
        assert told["StandardErrorPath"].endswith("/Library/Logs/rag-index.log")
        assert mac.is_active("org.rag.index")
        assert "installed the launchd agent org.rag.index: every 2h" in ran.out

    def test_installed_again_it_is_loaded_anew(self, mac, rag):
        rag("service", "install")
        assert rag("service", "install").code == 0
        assert [call.split()[1] for call in mac.calls if "launchctl" in call] == [
            *("bootout", "bootstrap", "print"),
            *("bootout", "bootstrap", "print"),
        ]

    def test_how_the_last_run_ended_is_told(self, mac, rag):
        rag("service", "install")
        assert "last      no run yet\n" in rag("service", "status").out
        mac.tell(exit="5")
        ran = rag("service", "status")
        assert ran.code == 1
        assert "last      failed, exit code 5\n" in ran.out
        assert "log       " in ran.out

    def test_one_that_was_unloaded_is_wrong(self, mac, rag):
        rag("service", "install")
        mac.stop("org.rag.index")
        assert rag("service", "status").code == 1

    def test_removed_it_is_unloaded_and_deleted(self, mac, rag, agent):
        rag("service", "install")
        assert rag("service", "remove").code == 0
        assert not mac.is_active("org.rag.index")
        assert not agent.exists()

    def test_a_file_that_is_damaged_is_wrong_and_can_be_replaced(self, mac, rag, agent):
        rag("service", "install")
        agent.write_text(agent.read_text().removesuffix("</plist>\n"))
        ran = rag("service", "status")
        assert ran.code == 1
        assert "cannot be read" in ran.out
        assert rag("service", "install").code == 0
        assert rag("service", "status").code == 0


class TestChoosing:
    def test_without_a_bus_of_systemd_it_is_cron_and_says_why(self, systemd, rag, units):
        systemd.break_down("systemctl", NO_BUS)
        ran = rag("service", "install")
        assert ran.code == 0
        assert "installed a line in your crontab" in ran.out
        assert f"systemd is not used: {NO_BUS}" in ran.err
        assert not units.exists()

    def test_without_either_both_causes_are_named(self, machine, rag):
        machine.add("systemctl")
        machine.break_down("systemctl", NO_BUS)
        ran = rag("service", "install")
        assert ran.code == 4
        assert f"systemd: {NO_BUS}; cron: there is no program `crontab`" in ran.err
        assert "Install cron, or log in" in ran.err
        assert "Any other scheduler may run `rag index -q`." in ran.err

    @pytest.mark.parametrize("name", ["systemd", "launchd", "cron"])
    def test_one_that_is_named_and_does_not_work_is_an_error(self, machine, rag, name):
        ran = rag("service", "install", "--with", name)
        assert ran.code == 4
        assert f"{name} cannot be used here: there is no program" in ran.err

    def test_one_that_does_not_exist_is_a_usage_error(self, machine, rag):
        ran = rag("service", "install", "--with", "at")
        assert ran.code == 2
        assert "--with launchd, systemd, cron" in ran.err

    def test_the_help_names_each_scheduler_that_there_is(self, rag):
        out = rag("service", "install", "--help").out
        [named] = re.findall(r"--with +(\S+)", out.split("Options")[-1])
        assert {*named.split("|")} == {scheduler.name for scheduler in SCHEDULERS}

    def test_the_job_of_another_scheduler_is_removed(self, systemd, rag, units):
        systemd.crontab = MINE
        rag("service", "install", "--with", "cron")
        ran = rag("service", "install", "--with", "systemd")
        assert ran.code == 0
        assert "removed   the job of cron\n" in ran.out
        assert systemd.crontab == MINE
        assert [
            one["scheduler"] for one in rag("service", "status", "--json").json["installed"]
        ] == ["systemd"]

    def test_units_are_deleted_where_systemd_cannot_be_reached_and_that_is_said(
        self, systemd, rag, units
    ):
        rag("service", "install")
        systemd.break_down("systemctl", NO_BUS)
        ran = rag("service", "remove")
        assert ran.code == 0
        assert f"systemd was not told of it, and may run it until it starts anew: {NO_BUS}" in (
            ran.err
        )
        assert [path for path in units.rglob("*") if not path.is_dir()] == []

    def test_a_dry_run_does_nothing_and_shows_all(self, systemd, rag, units):
        systemd.crontab = MINE
        ran = rag("service", "install", "--dry-run")
        assert ran.code == 0
        assert f"would write {units / 'rag-index.timer'}\n" in ran.out
        assert "  OnCalendar=*:0/15\n" in ran.out
        assert "would run systemctl --user restart rag-index.timer\n" in ran.out
        assert not units.exists()
        assert {*systemd.calls} == {"systemctl --user show --property=Version", "crontab -l"}

    def test_a_dry_run_shows_the_line_of_a_crontab_and_no_other(self, cron, rag):
        cron.crontab = MINE
        ran = rag("service", "install", "--dry-run")
        assert "would run crontab -\n  */15 * * * * cd / && env " in ran.out
        assert "backup" not in ran.out
        assert cron.crontab == MINE

    def test_nothing_to_remove_is_said_and_no_error(self, systemd, rag):
        ran = rag("service", "remove")
        assert (ran.code, ran.out, ran.err) == (0, "", "nothing was installed\n")

    def test_nothing_installed_is_said_with_exit_code_1(self, systemd, rag):
        ran = rag("service", "status")
        assert (ran.code, ran.out) == (1, "")
        assert "`rag service install`" in ran.err

    def test_status_and_removal_go_on_where_one_scheduler_does_not_answer(self, systemd, rag):
        rag("service", "install", "--with", "systemd")
        systemd.break_down("crontab", "crontab: cannot open /var/spool/cron: Permission denied")
        ran = rag("service", "status")
        assert ran.code == 4
        assert "by        systemd, every 15m\n" in ran.out
        assert "unknown   cron: the crontab cannot be read" in ran.out
        ran = rag("service", "remove")
        assert ran.code == 4
        assert ran.out.startswith("removed the job of systemd\n")
        assert "rag: cron: the crontab cannot be read" in ran.err


class TestSilence:
    """Programs that fail or hang: what they do not tell is not taken for a no."""

    @pytest.fixture(autouse=True)
    def seconds(self, monkeypatch):
        """Shorten the time that programs have: long enough for those that answer."""
        monkeypatch.setattr("rag.app.service.programs._TO_TELL", 2.0)
        monkeypatch.setattr("rag.app.service.programs._TO_DO", 3.0)

    def test_a_crontab_that_cannot_be_read_may_hold_a_job(self, cron, rag):
        cron.break_down("crontab", "crontab: cannot open your crontab: Permission denied")
        ran = rag("service", "status")
        assert ran.code == 4
        assert "whether anything is installed cannot be told" in ran.err
        assert "unknown   cron: the crontab cannot be read" in ran.out
        assert rag("service", "status", "--json").json["unknown"] != []
        ran = rag("service", "remove")
        assert ran.code == 4
        assert "nothing was removed\nrag: cron: the crontab cannot be read" in ran.err
        assert rag("service", "remove", "--json").code == 4

    def test_a_crontab_that_cannot_be_written_leaves_what_else_was_removed_told(self, systemd, rag):
        rag("service", "install", "--with", "cron")
        systemd.break_down("crontab -r", "crontab: Permission denied")
        ran = rag("service", "remove")
        assert ran.code == 4
        assert "rag: cron: `crontab -r` failed: crontab: Permission denied" in ran.err

    def test_one_that_hangs_is_waited_for_for_seconds(self, cron, rag):
        cron.hang("crontab -l")
        ran = rag("service", "status")
        assert ran.code == 4
        assert "crontab has not answered for 2 seconds" in ran.out

    def test_where_systemd_hangs_the_next_scheduler_is_taken(self, systemd, rag):
        systemd.hang("systemctl")
        ran = rag("service", "install")
        assert ran.code == 0
        assert "installed a line in your crontab" in ran.out
        assert "systemd is not used: systemctl has not answered for 2 seconds" in ran.err

    def test_a_job_of_a_systemd_that_does_not_answer_is_shown_and_its_state_unknown(
        self, systemd, rag
    ):
        rag("service", "install")
        systemd.break_down("systemctl", NO_BUS)
        ran = rag("service", "status")
        assert ran.code == 4
        assert "by        systemd, every 15m\n" in ran.out
        assert f"unknown   systemd does not tell how it is: {NO_BUS}" in ran.out

    def test_what_may_fail_may_hang(self, mac, rag):
        mac.hang("launchctl bootout")
        assert rag("service", "install").code == 0
        assert mac.is_active("org.rag.index")

    def test_a_launchd_that_hangs_is_not_one_that_has_unloaded_the_agent(self, mac, rag):
        rag("service", "install")
        mac.hang("launchctl print")
        ran = rag("service", "status")
        assert ran.code == 4
        assert "launchd does not tell how it is: launchctl has not answered" in ran.out

    def test_a_job_without_a_cron_daemon_does_not_work(self, cron, rag):
        cron.stop_cron()
        assert "no cron daemon is seen here" in rag("service", "install").err
        ran = rag("service", "status")
        assert ran.code == 1
        assert "wrong     no cron daemon is seen here, and without one nothing runs" in ran.out


class TestTheJob:
    """What is run is what would be run here by hand."""

    def job(self, rag: Rag, *arguments: str | Path) -> Any:
        return rag("service", "install", "--dry-run", "--json", *arguments).json

    def test_it_is_this_program_by_its_whole_path(self, cron, rag):
        command = self.job(rag)["command"]
        assert Path(command[0]).is_absolute()
        assert command[-2:] == ["index", "-q"]

    def test_it_has_the_settings_of_the_environment(self, cron, rag, monkeypatch, tmp_path):
        monkeypatch.setenv("RAG_VAULTS_DIR", "my notes")
        monkeypatch.setenv("QDRANT_API_KEY", "secret")
        given = self.job(rag)["environment"]
        assert given["RAG_DATA_DIR"] == str(tmp_path / "data")
        assert given["RAG_VAULTS_DIR"] == str(Path.cwd() / "my notes")
        assert "secret" not in given.values()

    def test_how_the_warm_process_is_used_is_not_part_of_it(self, cron, rag, monkeypatch):
        monkeypatch.setenv("RAG_WARM", "0")
        assert "RAG_WARM" not in self.job(rag)["environment"]

    @pytest.mark.parametrize("name", ["systemd", "launchd", "cron"])
    def test_the_names_of_its_variables_are_shown(self, machine, rag, monkeypatch, tmp_path, name):
        machine.add("systemctl", "launchctl", "crontab")
        monkeypatch.setenv("RAG_SEARCH__TOP_K", "7")
        for command in ("install --dry-run", "install", "status"):
            with_ = ["--with", name] if "install" in command else []
            out = rag("service", *command.split(), *with_).out
            [given] = [line for line in out.splitlines() if line.startswith("given ")]
            assert f"RAG_DATA_DIR={tmp_path / 'data'}" in given
            assert "RAG_SEARCH__TOP_K" in given
            assert "RAG_SEARCH__TOP_K=" not in given

    def test_it_works_in_the_folder_of_the_project(self, cron, rag, monkeypatch, tmp_path):
        project = tmp_path / "メモ 100% $x"
        (project / "deep" / "down").mkdir(parents=True)
        (project / "rag.toml").write_text("[search]\ntop_k = 7\n")
        monkeypatch.chdir(project / "deep" / "down")
        job = self.job(rag)
        assert job["folder"] == str(project)
        assert "--config" not in job["command"], "trust goes on to be asked for"

    def test_without_a_project_it_works_where_there_is_none(self, cron, rag):
        assert self.job(rag)["folder"] == "/"

    def test_a_file_that_was_named_is_named_to_it(self, cron, rag, monkeypatch, tmp_path):
        (tmp_path / "my rag.toml").write_text("[search]\ntop_k = 7\n")
        monkeypatch.chdir(tmp_path)
        job = self.job(rag, "--config", "my rag.toml")
        assert job["command"][-2:] == ["--config", str(tmp_path / "my rag.toml")]
        assert job["folder"] == "/"

    def test_a_file_that_the_environment_names_is_named_to_it(
        self, cron, rag, monkeypatch, tmp_path
    ):
        (tmp_path / "own.toml").write_text("[search]\ntop_k = 7\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("RAG_CONFIG", "own.toml")
        job = self.job(rag)
        assert (job["folder"], job["environment"]["RAG_CONFIG"]) == (str(tmp_path), "own.toml")
        monkeypatch.setenv("RAG_CONFIG", str(tmp_path / "own.toml"))
        assert self.job(rag)["folder"] == "/"

    def test_a_key_is_not_written_down_and_that_is_said(self, cron, rag, monkeypatch):
        monkeypatch.setenv("RAG_STORE__URL", "http://127.0.0.1:1")
        monkeypatch.setenv("QDRANT_API_KEY", "secret")
        ran = rag("service", "install")
        assert "the job is not given QDRANT_API_KEY, a secret." in ran.err
        assert b"secret" not in cron.crontab

    def test_without_a_vault_it_says_what_makes_one(self, cron, rag, notes):
        assert "There is no vault yet: `rag index FOLDER`" in rag("service", "install").err
        rag("index", "-q", notes)
        assert "vault" not in rag("service", "install").err

    def test_a_program_that_is_gone_is_wrong(self, cron, rag):
        rag("service", "install")
        cron.crontab = cron.crontab.replace(b"/rag index", b"/gone/rag index")
        ran = rag("service", "status")
        assert ran.code == 1
        assert "/gone/rag is not there any more. `rag service install` installs it anew." in ran.out

    def test_a_folder_that_is_gone_is_wrong(self, cron, rag, monkeypatch, tmp_path):
        project = tmp_path / "project"
        project.mkdir()
        (project / "rag.toml").write_text("")
        monkeypatch.chdir(project)
        rag("service", "install")
        project.rename(tmp_path / "moved")
        monkeypatch.chdir(tmp_path)
        ran = rag("service", "status")
        assert ran.code == 1
        assert f"{project} is not there any more" in ran.out
