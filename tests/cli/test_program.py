"""`rag` as a program: streams, signals, terminals, and poor surroundings."""

import os
import re
import signal
import subprocess
import sys
import time

ESCAPE = "\x1b"


class TestPoorSurroundings:
    def test_cron_with_a_c_locale_and_without_a_home(
        self, program, rag, environment, notes, tmp_path
    ):
        env = {
            "LC_ALL": "C",
            "PATH": os.environ["PATH"],
            "PYTHONPATH": environment["PYTHONPATH"],
            "RAG_DATA_DIR": str(tmp_path / "data"),
            "RAG_EMBEDDING__PROVIDER": "ollama",
        }
        before = set(tmp_path.rglob("*"))
        assert program("index", "-q", notes, env=env).code == 0
        assert "証明書.md" in rag("search", "証明書の更新").out
        new = set(tmp_path.rglob("*")) - before
        assert new
        assert all(path.is_relative_to(tmp_path / "data") for path in new)

    def test_a_reader_that_goes_away_is_no_error(self, environment, indexed, rag):
        (indexed / "big.md").write_text("some line of a big note\n" * 10_000)
        rag("index", "-q")
        script = f"{sys.executable} -m rag get big | head -1; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True)
        assert done.stdout == b"some line of a big note\n"
        assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_ends_with_130_and_the_next_run_completes(rag, environment, write_notes, tmp_path):
    text = "\n\n".join(f"## Part {n}\n\nsome words of part {n}" for n in range(5))
    notes = write_notes("many", {f"{n:04}.md": f"# Note {n}\n\n{text}" for n in range(300)})
    process = subprocess.Popen(
        [sys.executable, "-m", "rag", "index", str(notes)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    shard = tmp_path / "data/index/work/shard"
    deadline = time.monotonic() + 30
    while not shard.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"rag: interrupted\nRun `rag index` again; what was finished is kept.\n" in err
    assert not (tmp_path / "data/index/CURRENT").exists()  # it was in the middle
    done = rag("index", notes, "--json")
    assert (done.code, done.json["notes"], done.json["notices"]) == (0, 300, [])


class TestTerminal:
    def test_a_bar_counts_the_notes(self, on_terminal, notes):
        code, shown = on_terminal("index", notes)
        assert code == 0
        assert ESCAPE in shown
        plain = re.sub(rf"{ESCAPE}\[[?\d;]*[A-Za-z]", "", shown)
        assert re.search(r"work .*\d/3 notes", plain)

    def test_places_are_links_to_the_files(self, on_terminal, indexed):
        _, shown = on_terminal("search", "証明書")
        assert f"{ESCAPE}]8;" in shown
        assert f"file://{indexed}/%E8%A8%BC%E6%98%8E%E6%9B%B8.md{ESCAPE}" in shown

    def test_no_color_leaves_the_links_and_no_colour(self, on_terminal, indexed):
        _, shown = on_terminal("search", "ninety", NO_COLOR="1")
        assert f"{ESCAPE}]8;" in shown
        styles = re.findall(rf"{ESCAPE}\[([\d;]*)m", shown)
        codes = {code for style in styles for code in style.split(";")}
        assert codes <= {"", "0", "1", "2"}  # bold and dim are no colours

    def test_off_a_terminal_nothing_is_an_escape(self, rag, notes, monkeypatch):
        monkeypatch.setenv("TERM", "xterm-256color")
        for arguments in (["index", notes], ["search", "ninety"], ["ask", "ninety days?"]):
            ran = rag(*arguments)
            assert ran.code == 0
            assert ESCAPE not in ran.out + ran.err
