"""Any path comes out of a unit, a crontab's line and an agent's file as it was put in.

What systemd and cron make of a line is written here as their manuals, and Debian's sources of cron,
have it.
"""

from __future__ import annotations

import plistlib
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.app.service.crontab import crontab_line, read_entry
from rag.app.service.interval import Interval
from rag.app.service.job import Job
from rag.app.service.launchd import agent
from rag.app.service.programs import properties
from rag.app.service.systemd import environment_of, exec_start, service_unit, unquoted
from rag.exceptions import UsageError

SHOWN = st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff")
WORDS = st.text(SHOWN, max_size=12)
NAMES = st.text(
    st.one_of(st.sampled_from(" %$\\\"'`#*;日本"), SHOWN),
    min_size=1,
    max_size=12,
).map(lambda name: str(Path("/" + name.replace("/", "."))))
ODD = "/a b%h $HOME ${X} \\ \\\\ \\% 100%% \"q\" 'it' `x` 日本 "
SPECIFIERS = {"%": "%"}
ESCAPES = {"\\": "\\", '"': '"', "'": "'"}


def systemd_words(line: str) -> list[str]:
    """Split a command as systemd does: words in quotes, C escapes, specifiers, variables."""
    found = re.findall(r'("(?:[^"\\]|\\.)*"|[^"\s\\]+)', line)
    assert " ".join(found) == line
    words = [word[1:-1] if word[0] == '"' else word for word in found]
    words = [re.sub(r"\\(.)", lambda found: ESCAPES[found[1]], word) for word in words]
    words = [filled_in(word) for word in words]
    assert not re.search(r"\$(?!\$)", re.sub(r"\$\$", "", "".join(words))), "no variable is left"
    return [word.replace("$$", "$") for word in words]


def filled_in(text: str) -> str:
    return re.sub(r"%(.)", lambda found: SPECIFIERS[found[1]], text)


def debian_cron(command: str) -> str:
    """Do as `do_command.c` of Debian's cron: what is left of a command for the shell."""
    made, is_escaped = "", False
    for character in command:
        if is_escaped:
            made = made[:-1] if character in "%\\" else made
            is_escaped = False
        elif character == "\\":
            is_escaped = True
        elif character == "%":
            return made
        made += character
    return made


def cronie(command: str) -> str:
    """Do as cronie and the crons of the BSDs: only a percent sign is unescaped."""
    assert not re.search(r"(?<!\\)%", command)
    return command.replace("\\%", "%")


def busybox(command: str) -> str:
    """Leave it to the shell, as busybox does."""
    return command


def job(name: str, word: str = "") -> Job:
    return Job([name, word], Path(name), {"RAG_DATA_DIR": name, "RAG_X": word})


@given(NAMES, WORDS)
@example(ODD, ODD)
def test_systemd_reads_the_command_and_the_variables_of_a_unit(name: str, word: str) -> None:
    told = service_unit(job(name, word)).split("\n")
    [command] = [line.removeprefix("ExecStart=") for line in told if line.startswith("ExecStart=")]
    assert systemd_words(command)[-2:] == [name, word]
    given = [line.removeprefix("Environment=") for line in told if line.startswith("Environ")]
    assert [word for line in given for word in systemd_words(line.replace("$", "$$"))] == [
        f"RAG_DATA_DIR={name}",
        f"RAG_X={word}",
    ]


@given(NAMES)
@example(ODD)
@example("/ends in a backslash\\")
def test_systemd_reads_the_folder_of_a_unit(name: str) -> None:
    told = service_unit(job(name))
    [line] = [line for line in told.split("\n") if line.startswith("WorkingDirectory=")]
    assert not line.endswith((" ", "\t", "\\"))
    assert filled_in(line.removeprefix("WorkingDirectory=")) == f"{name.rstrip('/')}/"
    assert properties(told)["WorkingDirectory"].replace("%%", "%") == f"{name.rstrip('/')}/"


@given(NAMES, WORDS)
@example(ODD, ODD)
def test_a_command_of_a_unit_is_read_back(name: str, word: str) -> None:
    assert unquoted(exec_start([name, word])) == [name, word]


@given(NAMES, WORDS)
@example(ODD, ODD)
def test_the_variables_of_a_unit_are_read_back(name: str, word: str) -> None:
    assert environment_of(service_unit(job(name, word))) == job(name, word).environment


def test_a_program_whose_name_systemd_refuses_is_started_by_another() -> None:
    assert exec_start(["/plain name%/rag", "index"]) == '"/plain name%%/rag" index'
    assert exec_start(["/it's/rag"]).startswith("/usr/bin/env nice -n 0 ")


@given(NAMES, WORDS)
@example(ODD, ODD)
@example("/a=b/rag", "x=y")
def test_a_command_of_a_crontab_is_read_back(name: str, word: str) -> None:
    entry = read_entry(crontab_line(job(name, word), Interval(15)))
    assert entry and (entry.fields, entry.job) == ("*/15 * * * *", job(name, word))


@pytest.mark.parametrize("cron", [debian_cron, cronie, busybox])
@given(name=NAMES, word=WORDS)
@example(name=ODD, word=ODD)
@example(name="/a=b/rag", word="\\\\%\\")
def test_cron_and_the_shell_read_the_words_of_a_line(cron, name: str, word: str) -> None:
    """The shell is the real one; it prints the words in the place of running them."""
    line = crontab_line(job(name, word), Interval(15))
    command = cron(line.removeprefix("*/15 * * * * "))
    shown = command.replace("cd ", "printf '%s\\0' ", 1).replace("&& env ", "&& printf '%s\\0' ", 1)
    ran = subprocess.run(["/bin/sh", "-c", shown], capture_output=True, check=True)
    folder, data, other, *rest = ran.stdout.decode().split("\0")
    assert (folder, data, other) == (name, f"RAG_DATA_DIR={name}", f"RAG_X={word}")
    assert rest == ["nice", "-n", "10", name, word, ""]


@given(NAMES, WORDS)
@example(ODD, ODD)
def test_launchd_reads_an_agent(name: str, word: str) -> None:
    told = plistlib.loads(agent(job(name, word), Interval(15)).encode())
    assert told["ProgramArguments"] == [name, word]
    assert (told["WorkingDirectory"], told["StartInterval"]) == (name, 900)
    assert told["EnvironmentVariables"] == {"RAG_DATA_DIR": name, "RAG_X": word}


@pytest.mark.parametrize("name", ["/a\nb", "/a\tb", "/\x1b[2J", "/\x85", "/\udce9", "/\uffff"])
def test_what_no_scheduler_can_hold_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no scheduler takes"):
        job(name)
