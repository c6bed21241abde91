"""At a terminal: colours, links, its size, prompts, Ctrl-C, Ctrl-D and Ctrl-Z, warm as cold."""

from pathlib import Path

import pytest

from daemon_fixture import RAG, Terminal, normal, reads_stdin, settle, state_of, wait_until

PROMPT = r"rag> $"


@pytest.fixture
def both(warm, daemon, terminal):
    """Do the same at two terminals, warm and cold; return what each showed."""

    def run(*arguments: str | Path, act=lambda terminal: None, **variables: str) -> list:
        shown = []
        for here in (warm, daemon):
            before = warm.commands()
            one = terminal(here, *arguments, **variables)
            one.runner = here.child if here is warm else lambda one=one: one.process.pid
            act(one)
            code, text = one.end()
            assert warm.commands() == before + (here is warm)
            shown.append((code, normal(text)))
        return shown

    return run


@pytest.mark.sampled
@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1", "COLUMNS": "40"}, {"TERM": "dumb"}])
def test_colours_and_links(both, library, variables):
    warm, cold = both("search", "ninety", **{"COLUMNS": "100", **variables})
    assert warm == cold
    assert ("\x1b" in warm[1]) is (variables.get("TERM") != "dumb")


def test_the_size_of_the_terminal(both, warm, terminal, library, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    shown, helped = [], []
    for columns in (40, 150):
        one, other = both("search", "--help", columns=columns)
        assert one == other
        helped.append(one)
        searched = terminal(warm, "search", "ninety backups", "--explain", columns=columns)
        shown.append(searched.end())
    assert shown[0] != shown[1]
    assert helped[0] != helped[1]


def test_a_conversation(both, library):
    """Typed with a slip that is mended, Ctrl-C at a prompt, Ctrl-D at the end."""

    def talk(one) -> None:
        one.wait_for(PROMPT)
        one.type("How long do we keep backupx\x7fs?\n")
        one.wait_for(rf"ninety days[\s\S]*{PROMPT}")
        one.type("never mind")
        one.wait_for("never mind$")
        settle(one.runner())  # a Ctrl-C just before Python waits for a key comes with the next key
        one.type("\x03")
        one.wait_for(rf"never mind[\s\S]*{PROMPT}")
        one.type("\x04")

    warm, cold = both("chat", act=talk, COLUMNS="100")
    assert warm == cold
    assert warm[0] == 0


@pytest.fixture
def shell(warm, library, terminal):
    """Type a command at the prompt of a shell; return the terminal and the command's child."""

    def run(*arguments: str) -> tuple[Terminal, int]:
        one = terminal(warm, command=["/bin/bash", "--norc", "--noprofile", "-i"], PS1="ready: ")
        one.wait_for("ready: ")
        before = warm.commands()
        one.type(f"{' '.join([*RAG, *arguments])}\n")
        wait_until(lambda: warm.commands() > before)
        return one, warm.child()

    return run


def stop_and_go_on(one: Terminal, child: int) -> int:
    """Type Ctrl-Z and `fg`; return how much was shown up to then."""
    one.type("\x1a")
    one.wait_for("Stopped[\\s\\S]*ready: ")
    wait_until(lambda: state_of(child) == "T")
    shown = len(one.text)
    one.type("fg\n")
    wait_until(lambda: state_of(child) == "S")
    return shown


def test_ctrl_z_and_fg(shell):
    one, child = shell("ask", "-")
    wait_until(lambda: reads_stdin(child))
    stop_and_go_on(one, child)
    wait_until(lambda: reads_stdin(child))
    one.type("How long do we keep backups?\n\x04")
    one.wait_for("ninety days")
    one.type("exit\n")
    assert one.end()[0] == 0
