"""Every test runs in an empty home, without the user's settings, and without the network."""

import gc
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings, strategies

from disk_files import write_all
from property_examples import IS_FULL, examples, left_out
from rag.clients import servers

REPO = Path(__file__).resolve().parents[1]
SHARED = REPO.parent / "shared" / "data"

# The same examples in each everyday run, and others in each full one; how long it takes to make
# them says how busy the machine is.
settings.register_profile(
    "rag",
    max_examples=examples(100),
    derandomize=not IS_FULL,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("rag")

# A shell ignores Ctrl-C and Ctrl-\ for what it runs in the background, nohup that the terminal
# went, and programs that tests start and interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

pytest_plugins = ["index_fixtures", "plugin_fixtures", "server_fixtures", "scheduler_programs"]

# Before any test imports Haystack.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
# Threads of the built-in model wait for each other; by turning round, they would take the
# processors of what runs beside them.
os.environ["OMP_WAIT_POLICY"] = "passive"

# One more than there are processors: a fifth of the time tests wait, for other processes mostly.
_PROCESSES = (os.cpu_count() or 1) + 1

# Indexes are many small files that are synced again and again: in memory, where there is plenty of
# it (a process takes a gigabyte and a half), they cost half the time. TMPDIR or --basetemp name
# another place.
_MEMORY, _PLENTY = Path("/dev/shm"), 2 * _PROCESSES << 30


def _is_plenty() -> bool:
    if not os.access(_MEMORY, os.W_OK):  # as where there is none, and sysconf knows less too
        return False
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(free, shutil.disk_usage(_MEMORY).free) > _PLENTY


if "TMPDIR" not in os.environ and _is_plenty():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """As many processes as `-n auto` stands for."""
    return _PROCESSES


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make test-full` runs, unless tests were named one by one."""
    if IS_FULL or any("::" in argument for argument in config.args):
        return
    out = {*left_out(items)}
    config.hook.pytest_deselected(items=[item for item in items if item in out])
    items[:] = [item for item in items if item not in out]


# Until all tests are collected: most of what is made meanwhile stays.
gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the collector of garbage pass over thousands of collected tests, and come seldom."""
    if session.config.option.collectonly:
        strategies.text().validate()  # keeps the table of characters: 3 s of each process else
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(500_000)


@pytest.fixture(scope="session")
def runtime_folder() -> Iterator[Path]:
    """A runtime folder for all tests of a process; its name must be short."""
    with tempfile.TemporaryDirectory(prefix="rag-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch, runtime_folder) -> Iterator[Path]:
    """A home, data folder and working folder of the test's own; no RAG_* from outside."""
    home = tmp_path / "home"
    home.mkdir()
    for name in [n for n in os.environ if n.startswith(("RAG_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    # What is known of servers, that they hung or answered, would meet others at the same ports.
    servers._answered.clear()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime_folder))
    servers._silent.clear()
    # A machine that does ten things at once is no server that hangs.
    monkeypatch.setattr(servers, "_SECONDS", 20.0)
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "data"))
    # A test that wants Ollama starts a server of its own and says where it is.
    monkeypatch.setenv("RAG_OLLAMA__ENABLED", "false")
    # Nor does a test have the built-in model embed that does not say so: it takes time.
    monkeypatch.setenv("RAG_EMBEDDING__PROVIDER", "ollama")
    # Nor may a warm process of the user's run what a test wants run.
    monkeypatch.setenv("RAG_WARM", "0")
    monkeypatch.chdir(home)
    yield home


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family != socket.AF_UNIX:
            host = address[0] if isinstance(address, tuple) else address
            if host not in ("127.0.0.1", "::1", "localhost"):
                raise AssertionError(f"a test tried to reach {address!r}")
        connect(self, address)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture
def trust() -> Callable[[Path], None]:
    """Trust the project's file of a folder, as `rag trust` does."""
    from rag.config import project_of
    from rag.config.trust import record

    def trusted(folder: Path) -> None:
        project = project_of(folder)
        assert project and project.asks, "the file needs no trust"
        record(project.file, project.digest)

    return trusted


@pytest.fixture
def write_notes(tmp_path) -> Callable[..., Path]:
    """Write notes into a vault: `write_notes("work", {"a.md": "text"})` returns its folder."""

    return lambda vault, notes: write_all(tmp_path / "vaults" / vault, notes)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The shared vaults and question sets; the test is skipped without them."""
    if not SHARED.exists():
        pytest.skip("the shared data (../shared/data) is not here")
    return SHARED
