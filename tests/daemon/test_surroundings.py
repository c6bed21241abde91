"""What a command has from where it was typed: streams, folder, environment, mask, limits."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon_fixture import RAG, normal
from rag.daemon import client, server

TEXT = st.binary(max_size=30).map(lambda b: b.replace(b"\0", b"/"))
NAMES = TEXT.map(lambda b: b.replace(b"=", b"-"))


@pytest.fixture
def shell(warm):
    """Run a line of a shell in which `rag` is the program, warm; count the commands that were."""

    def run(line: str, **options) -> tuple[int, bytes, bytes, int]:
        before = warm.commands()
        env = warm.environment(**options.pop("env", {}))
        script = f'rag() {{ "{RAG[0]}" -m rag "$@"; }}; {line}'
        options = {"capture_output": True, "timeout": 60, **options}
        done = subprocess.run(["bash", "-c", script], env=env, **options)
        return done.returncode, done.stdout, done.stderr, warm.commands() - before

    return run


class TestRequest:
    @given(st.lists(TEXT, max_size=5), st.dictionaries(NAMES, TEXT, max_size=5))
    def test_it_arrives_as_it_was_sent(self, arguments, environment):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "environb", environment)
            request = client._request([os.fsdecode(argument) for argument in arguments])
        here, there = socket.socketpair()
        with here, there:
            socket.send_fds(here, [len(request).to_bytes(4, "big")], [0, 1, 2])
            here.sendall(request)
            found = server.receive(there)
        for stream in found.streams:
            os.close(stream)
        assert [os.fsencode(argument) for argument in found.arguments] == arguments
        assert dict(found.environment) == environment
        assert os.fsdecode(found.folder) == str(Path.cwd())

    @pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\1\0and no more", b"\xff\xff\xff\xff"])
    def test_half_of_one_is_none(self, sent):
        here, there = socket.socketpair()
        with here, there:
            if sent:
                socket.send_fds(here, [sent], [0, 1, 2])
            here.close()
            with pytest.raises(server.NoRequestError):
                server.receive(there)

    def test_one_without_streams_is_none(self):
        here, there = socket.socketpair()
        with here, there:
            here.sendall(b"\0\0\0\1x")
            with pytest.raises(server.NoRequestError):
                server.receive(there)


class TestStreams:
    def test_stdin_is_a_pipe(self, warm, library):
        done = warm.run("ask", "-", "-q", input=b"How long do we keep backups?")
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"ninety days. [1]" in done.stdout

    def test_chat_through_a_pipe(self, warm, library):
        done = warm.run("chat", input=b"How long do we keep backups?\n/quit\n")
        assert done.returncode == 0
        assert b"ninety days" in done.stdout

    def test_stdout_is_a_file_that_is_added_to(self, shell, library, tmp_path):
        file = tmp_path / "out"
        file.write_text("before\n")
        assert shell(f"rag search backups --paths >> {file}")[0] == 0
        assert file.read_text() == f"before\n{library}/Backups.md\n"

    @pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
    def test_a_closed_stream_makes_it_cold(self, shell, library, closed):
        code, _, _, begun = shell(f"rag get backups --paths {closed}")
        assert (code, begun) == (0, 0)

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
    def test_a_full_disk(self, shell, library):
        warm = shell("rag get backups > /dev/full")
        cold = shell("RAG_WARM=0 rag get backups > /dev/full")
        assert warm[3] == 1
        assert warm[:3] == cold[:3]

    def test_a_reader_that_goes_away(self, shell, library, tmp_path, monkeypatch):
        code, out, err, begun = shell("rag config --defaults | head -1; exit ${PIPESTATUS[0]}")
        assert (code, out.count(b"\n"), err, begun) == (0, 1, b"", 1)

    def test_output_is_complete_when_the_command_ends(self, shell, library):
        code, out, _, _ = shell("rag config --defaults; echo END")
        assert (code, out[-5:]) == (0, b"\nEND\n")

    def test_a_file_that_only_the_command_has_open(self, shell, library):
        code, _, err, begun = shell("rag get backups --config <(echo)")
        assert (code, begun) == (2, 0)  # a configuration is no pipe
        assert b"/dev/fd/" in err

    def test_the_same_named_by_a_setting(self, shell, library):
        assert shell("RAG_CONFIG=<(echo) rag get backups")[3] == 0


class TestHeritage:
    def test_the_mask_of_new_files(self, warm, tmp_path):
        notes = tmp_path / "notes"
        notes.mkdir()
        (notes / "a.md").write_text("# A\n\nwords\n")
        assert warm.run("index", "-q", notes, umask=0o027).returncode == 0
        modes = [p.stat().st_mode for p in (tmp_path / "data").rglob("*") if p.is_file()]
        assert modes
        assert all(not stat.S_IMODE(mode) & 0o027 for mode in modes)

    def test_the_working_folder(self, warm, tmp_path):
        (tmp_path / "here").mkdir()
        (tmp_path / "here/rag.toml").write_text("[search]\ntop_k = 3\n")
        done = warm.run("config", cwd=tmp_path / "here")
        assert b"search.top_k" in done.stdout
        assert b"here/rag.toml" in done.stdout

    def test_no_variable_of_the_warm_process(self, daemon):
        daemon.launch(RAG_SEARCH__TOP_K="3")
        shown = daemon.run("config").stdout
        assert daemon.commands() == 1
        assert b"search.top_k" in shown
        assert b"(environment)" not in shown.partition(b"search.top_k")[2].partition(b"\n")[0]

    def test_the_time_zone(self, warm, library):
        """Between these two it is never the same day."""
        shown = [warm.run("plan", "since yesterday", env={"TZ": tz}) for tz in ("AAA-14", "BBB+12")]
        assert [done.returncode for done in shown] == [0, 0]
        assert normal(shown[0].stdout.decode()) != normal(shown[1].stdout.decode())

    def test_an_ascii_locale(self, warm, daemon, library):
        daemon.launch(LC_ALL="C")
        for place in (warm, daemon):  # cold, for it has another encoding, and warm
            done = place.run("get", "証明書", "--paths", env={"LC_ALL": "C"})
            assert (done.returncode, done.stderr) == (0, b"")
            assert "証明書.md".encode() in done.stdout
        assert daemon.commands() == 1

    @pytest.mark.parametrize("line", ["nice -n 3", "prlimit --nofile=500:500", "taskset -c 0"])
    def test_what_cannot_be_handed_over_makes_it_cold(self, shell, library, line):
        command = " ".join(RAG)
        code, out, _, begun = shell(f"{line} {command} get backups --paths")
        if code == 127:
            pytest.skip(f"there is no {line.split()[0]} here")
        assert (code, begun) == (0, 0)
        assert out.endswith(b"Backups.md\n")

    @pytest.mark.parametrize("options", [["-O"], ["-X", "dev"], ["-W", "ignore"], ["-s"], ["-u"]])
    def test_options_of_python_make_it_cold(self, warm, library, options):
        before = warm.commands()
        command = [sys.executable, *options, *RAG[1:], "get", "backups", "--paths"]
        done = subprocess.run(command, env=warm.environment(), capture_output=True)
        assert (done.returncode, warm.commands()) == (0, before)

    def test_without_buffers(self, daemon, library):
        daemon.launch(PYTHONUNBUFFERED="1")
        done = daemon.run("get", "backups", "--paths", env={"PYTHONUNBUFFERED": "1"})
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.endswith(b"Backups.md\n")
        assert daemon.commands() == 1

    def test_a_folder_that_the_warm_process_cannot_enter(self, library, monkeypatch):
        """The client is told to run it: nothing has begun."""
        monkeypatch.setenv("RAG_WARM", "1")
        here, there = socket.socketpair()
        with here, there:
            process = os.fork()
            if not process:
                here.close()
                server.run(there)
            there.close()
            errand = client._ForwardedCommand(here, process)
            monkeypatch.setattr(errand, "_forward_signals", lambda: None)
            request = client._request(["search", "x"])
            gone = request.replace(bytes(Path.cwd()), b"/nonexistent", 1)
            assert errand.run(gone) is None
            assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
