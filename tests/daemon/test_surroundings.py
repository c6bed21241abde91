"""What a command has from where it was typed: streams, folder, environment, mask, limits."""

import stat
import subprocess
from pathlib import Path

import pytest

from daemon_fixture import RAG, normal
from disk_files import write

PLAIN = "rag config"


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


class TestStreams:
    def test_stdin_is_a_pipe(self, warm, library):
        done = warm.run("ask", "-", "-q", input=b"How long do we keep backups?")
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"ninety days. [1]" in done.stdout

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
    def test_a_full_disk(self, shell, library):
        warm = shell("rag get backups > /dev/full")
        cold = shell("RAG_WARM=0 rag get backups > /dev/full")
        assert warm[3] == 1
        assert warm[:3] == cold[:3]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "line",
    [
        *(f"{PLAIN} {closed}" for closed in ("<&-", ">&-", "2>&-")),
        f"RAG_CONFIG=<(echo) {PLAIN}",
        *(f"{other} {' '.join(RAG)} config" for other in ("nice -n 3", "taskset -c 0")),
        f"ulimit -n 500; {PLAIN}",
        *(f"{RAG[0]} {option} -m {PLAIN}" for option in ("-O", "-X dev", "-s")),
    ],
)
def test_what_cannot_be_handed_over_makes_it_cold(shell, library, line):
    code, _, _, begun = shell(line)
    if code == 127:
        pytest.skip(f"there is no {line.split()[0]} here")
    assert begun == 0
    assert code == (2 if "<(" in line else 0)  # a configuration is no pipe


class TestHeritage:
    def test_the_mask_of_new_files(self, warm, tmp_path):
        notes = tmp_path / "notes"
        notes.mkdir()
        (notes / "a.md").write_text("# A\n\nwords\n")
        assert warm.run("index", "-q", notes, umask=0o027).returncode == 0
        modes = [p.stat().st_mode for p in (tmp_path / "data").rglob("*") if p.is_file()]
        assert modes
        assert all(not stat.S_IMODE(mode) & 0o027 for mode in modes)
        questions = write(tmp_path / "questions", '{"query": "words", "relevant": ["a.md"]}')
        saved = tmp_path / "run.json"
        assert warm.run("eval", questions, "--save", saved, umask=0o027).returncode == 0
        assert stat.S_IMODE(saved.stat().st_mode) == 0o640

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
