"""What schedulers are given: how often, and any path as it was put in.

What systemd and cron make of a line is written here as their manuals have it.
"""

import plistlib
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.app.service import Job, agent, crontab_line, interval_text, parse_interval, service_unit
from rag.exceptions import UsageError
from tables import rows

SHOWN = st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\\\ufffe\uffff")
WORDS = st.text(SHOWN, max_size=12)
NAMES = st.text(st.sampled_from(" %$\"'`#*;日本") | SHOWN, min_size=1, max_size=12).map(
    lambda name: str(Path("/" + name.replace("/", ".")))
)
ODD = "/a=b %h $HOME ${X} 100%% \"q\" 'it' `x` 日本 "


def job(name: str, word: str = "") -> Job:
    return Job([name, word], name, {"RAG_DATA_DIR": name, "RAG_X": word})


def systemd_words(line: str) -> list[str]:
    """Split a command as systemd does: words in quotes, C escapes, specifiers, variables."""
    quoted = re.findall(r'("(?:[^"\\]|\\.)*"|[^"\s\\]+)', line)
    assert " ".join(quoted) == line
    words = [word[1:-1] if word[0] == '"' else word for word in quoted]
    words = [re.sub(r"\\(.)", r"\1", word).replace("%%", "%") for word in words]
    assert "$" not in "".join(words).replace("$$", ""), "no variable is left"
    return [word.replace("$$", "$") for word in words]


@given(NAMES, WORDS)
@example(ODD, ODD)
def test_systemd_reads_a_unit_as_it_was_meant(name, word):
    lines = [line.partition("=") for line in service_unit(job(name, word)).split("\n")]
    [command] = [text for key, _, text in lines if key == "ExecStart"]
    [folder] = [text for key, _, text in lines if key == "WorkingDirectory"]
    variables = [text for key, _, text in lines if key == "Environment"]
    starter = ["/usr/bin/env"] if {*name} & {*"\"'$"} else []  # `systemd-analyze verify` refuses it
    assert systemd_words(command) == [*starter, name, word]
    given = [f"RAG_DATA_DIR={name}", f"RAG_X={word}"]
    assert [systemd_words(text.replace("$", "$$"))[0] for text in variables] == given
    assert folder.replace("%%", "%") == f"{name.rstrip('/')}/"


@given(NAMES, WORDS)
@example(ODD, ODD)
def test_cron_and_the_shell_read_a_line_as_it_was_meant(name, word):
    """The shell is the real one; it prints the words in the place of running them."""
    line = crontab_line(job(name, word), 15)
    assert not re.search(r"(?<!\\)%", line), "which would end it"
    command = line.removeprefix("*/15 * * * * ").replace("\\%", "%")
    shown = command.replace("cd ", "printf '%s\\0' ", 1).replace("&& env ", "&& printf '%s\\0' ", 1)
    ran = subprocess.run(["/bin/sh", "-c", shown], capture_output=True, check=True)
    words = [name, f"RAG_DATA_DIR={name}", f"RAG_X={word}", "nice", "-n", "10", name, word, ""]
    assert ran.stdout.decode().split("\0") == words


@given(NAMES, WORDS)
def test_launchd_reads_an_agent_as_it_was_meant(name, word):
    plist = plistlib.loads(agent(job(name, word), 15).encode())
    assert plist["ProgramArguments"] == [name, word]
    assert (plist["WorkingDirectory"], plist["StartInterval"]) == (name, 900)
    assert plist["EnvironmentVariables"] == {"RAG_DATA_DIR": name, "RAG_X": word}


@rows("name", "/a\nb", "/a\\b", "/\x1b[2J", "/\x85", "/\udce9", "/\uffff")
def test_what_no_scheduler_can_hold_is_refused(name):
    with pytest.raises(UsageError, match="no scheduler takes"):
        job(name)


@rows(
    "text, minutes, shown",
    *(("15m", 15, "15m"), ("120m", 120, "2h"), (" 30 m ", 30, "30m"), ("24h", 1440, "1d")),
)
def test_a_number_and_a_unit_are_an_interval(text, minutes, shown):
    assert parse_interval(text) == minutes
    assert interval_text(minutes) == shown


WRONG = ("", "15", "-5m", "1.5h", "2w", "1h30m", "٣m", "90s", "0m", "7m", "90m", "2d")


@rows("text", WRONG)
def test_what_is_no_interval_is_refused_with_examples(text):
    with pytest.raises(UsageError) as caught:
        parse_interval(text)
    assert "15m, 2h, 1d" in caught.value.hint


@rows(
    "text, fields",
    *(("1m", "* * * * *"), ("15m", "*/15 * * * *"), ("1h", "0 * * * *"), ("4h", "0 */4 * * *")),
    *(("12h", "0 */12 * * *"), ("1d", "0 12 * * *")),
)
def test_a_line_runs_at_the_same_times_of_every_day(text, fields):
    minutes = parse_interval(text)
    assert crontab_line(job("/x"), minutes).startswith(f"{fields} cd /x && ")
