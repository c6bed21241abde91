"""Whom the two ends of the socket trust: nobody but the user."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from daemon_fixture import Daemon
from rag.daemon import client, control
from rag.daemon import endpoint as place
from rag.daemon.server import take

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def own(daemon, monkeypatch) -> Daemon:
    """A folder of sockets where this process looks too."""
    for name, value in daemon.environment().items():
        monkeypatch.setenv(name, value)
    (daemon.folder / "rag").mkdir(0o700)
    assert place.folder() == str(daemon.folder / "rag")
    return daemon


def listen(path: str) -> socket.socket:
    """Listen somewhere, and say nothing."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(5)
    return listener


def as_nobody(code: str, **variables: str) -> subprocess.CompletedProcess:
    """Run some Python as another user, who can read the program."""
    become = f"import os, socket; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
    return subprocess.run(
        [sys.executable, "-c", become + code],
        env={"PATH": os.environ["PATH"], **variables},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )


class TestFolder:
    @pytest.mark.parametrize(
        "wrong", ["0o755", "0o710", "0o701", "a link", "a file", "of another user"]
    )
    def test_one_that_is_not_the_users_alone_is_refused(self, own, wrong):
        ours = own.folder / "rag"
        if wrong == "a link":
            ours.rename(own.folder / "elsewhere")
            ours.symlink_to(own.folder / "elsewhere")
        elif wrong == "of another user":
            if os.geteuid() != 0:
                pytest.skip("only root can become another user")
            os.chown(ours, NOBODY, NOBODY)
        elif wrong != "a file":
            ours.chmod(int(wrong, 8))
        with listen(place.socket_path()):
            if wrong == "a file":
                ours.rename(own.folder / "elsewhere")
                ours.touch(0o700)
            with pytest.raises(place.UntrustedError):
                place.connect(place.socket_path(), 1)

    def test_no_warm_process_starts_in_one_that_is_refused(self, own):
        (own.folder / "rag").chmod(0o755)
        done = own.run("warm", "--start")
        assert done.returncode == 1
        assert b"others may enter" in done.stderr
        assert own.sockets() == []

    def test_a_lock_that_is_a_link_is_not_followed(self, own, tmp_path):
        Path(place.socket_path()).with_suffix(".lock").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(OSError, match="symbolic link"):
            take(place.socket_path())
        assert not (tmp_path / "elsewhere").exists()

    def test_it_is_made_for_the_user_alone(self, daemon):
        daemon.launch()
        assert (daemon.folder / "rag").stat().st_mode & 0o777 == 0o700
        (path,) = daemon.sockets()
        assert path.stat().st_mode & 0o077 == 0

    @pytest.mark.parametrize("runtime", ["", "relative", "/nonexistent", "/" + "x" * 90])
    def test_a_runtime_folder_that_is_none_is_passed_by(self, monkeypatch, runtime):
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        monkeypatch.setenv("TMPDIR", "/tmp/" + "y" * 100)
        assert place.folder() in (f"/run/user/{os.geteuid()}/rag", f"/tmp/rag-{os.geteuid()}")
        assert len(place.socket_path()) <= 103

    @as_root
    def test_a_runtime_folder_of_another_user_is_passed_by(self, own):
        os.chown(own.folder, NOBODY, NOBODY)
        assert place.folder() != str(own.folder / "rag")


class TestPlanted:
    """Links at which the folder would be, put there by another user."""

    @pytest.fixture(params=["the folder", "the runtime folder", "the temporary folder"])
    def target(self, request, daemon, monkeypatch, tmp_path) -> Path:
        """The folder of ours that such a link leads to."""
        target = tmp_path / "target"
        target.mkdir(mode=0o700)
        variables = {"XDG_RUNTIME_DIR": str(daemon.folder), "TMPDIR": "/nonexistent"}
        if request.param == "the folder":
            link = daemon.folder / "rag"
        elif request.param == "the runtime folder":
            link = daemon.folder / "runtime"
            variables["XDG_RUNTIME_DIR"] = str(link)
        else:
            if Path(f"/run/user/{os.geteuid()}").exists():
                pytest.skip("the system gives this user a runtime folder")
            link = daemon.folder / f"rag-{os.geteuid()}"
            variables = {"XDG_RUNTIME_DIR": "", "TMPDIR": str(daemon.folder)}
        link.symlink_to(target)
        os.lchown(link, NOBODY, NOBODY)
        for name, value in (daemon.environment() | variables).items():
            monkeypatch.setenv(name, value)
        return target

    @as_root
    def test_nothing_is_made_through_them(self, target):
        start = [sys.executable, "-m", "rag", "warm", "--start"]
        done = subprocess.run(start, capture_output=True, timeout=60)
        assert [*target.iterdir()] == []
        assert done.returncode == 1
        assert b"is a link of user" in done.stderr or b"no folder of yours" in done.stderr

    @as_root
    def test_nobody_is_killed_through_them(self, target):
        """Whoever holds a lock where the link leads has not taken the place."""
        assert control.stop() == []
        with pytest.raises(place.UntrustedError):
            take(place.socket_path())


class TestPeer:
    @as_root
    def test_a_listener_that_another_user_planted_is_refused(self, own, library):
        """As if the folder had been open for a moment."""
        path = place.socket_path()
        own.folder.chmod(0o777)
        (own.folder / "rag").chmod(0o777)
        planted = (
            f"s = socket.socket(socket.AF_UNIX); s.bind({path!r}); s.listen()\n"
            "print('up', flush=True); s.accept(); s.settimeout(1)\n"
        )
        become = f"import os, socket; os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        command = [sys.executable, "-c", become + planted]
        with subprocess.Popen(command, cwd="/", stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.readline() == b"up\n"
            own.folder.chmod(0o700)
            (own.folder / "rag").chmod(0o700)
            with pytest.raises(place.UntrustedError, match="belongs to user"):
                place.connect(path, 1)
            assert client.hand_over(["search", "x"]) is None
            process.kill()

    def test_a_socket_tells_whose_it_is(self):
        here, there = socket.socketpair()
        with here, there:
            assert place.peer_of(here) == os.getpid()

    @as_root
    def test_another_user_who_gets_there_is_sent_away(self, daemon):
        """Were all permissions lost, the credentials of the connection would remain."""
        process = daemon.launch().pid
        (path,) = daemon.sockets()
        for thing in (daemon.folder, daemon.folder / "rag", path):
            thing.chmod(0o777)
        code = (
            f"s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r})\n"
            "s.settimeout(10); s.sendall(b'stop\\n'); print('heard', s.recv(10))"
        )
        done = as_nobody(code)
        assert "heard b''" in done.stdout or "BrokenPipe" in done.stderr or "reset" in done.stderr
        assert daemon.ask()[0] == process
