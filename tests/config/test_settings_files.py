"""Files of settings that nobody means: they are refused in one message, whatever they are."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.config import load_config, unknown_in_environment, user_file
from rag.config.files import MOST_BYTES, parse
from rag.config.trust import trust_file
from rag.exceptions import ConfigError

_HUGE = b"0x" + b"f" * 20_000
_CONTENTS = {
    "brackets": b"a = " + b"[" * 100_000,
    "inline tables": b"a = " + b"{b=" * 100_000,
    "a deep table": b"[index.only]\n" + b"a." * 150 + b"a = 1",
    "a key of many parts": b"a." * 400_000 + b"a = 1",
    "many keys of many parts": b"".join(b"x%d." % i + b"a." * 198 + b"a=1\n" for i in range(2500)),
    "many keys of a deep table": b"["
    + b"a." * 197
    + b"a]\n"
    + b"".join(b"%x=1\n" % i for i in range(120_000)),
    "a long unknown name": b"a" * 900_000 + b" = 1",
    "a number for a name": b"data_dir = " + _HUGE,
    "a number of many digits": b"[search]\ntop_k = " + b"1" * 900_000,
    "a number too large to be a decimal": b"[ask]\ntemperature = " + _HUGE,
    "a path with a zero": b'data_dir = "\\u0000"',
    "a path too long": b'vaults_dir = "' + b"a" * 100_000 + b'"',
    "no text": b"\xff\xfe",
    "too large": b"#" * (MOST_BYTES + 1),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project's folder, empty."""
    (tmp_path / "project").mkdir()
    return (tmp_path / "project").resolve()


@pytest.mark.parametrize("kind", _CONTENTS)
def test_a_file_that_nobody_means_is_refused_in_few_words(project: Path, kind: str) -> None:
    (project / "rag.toml").write_bytes(_CONTENTS[kind])
    with pytest.raises(ConfigError) as caught:
        load_config(env={}, cwd=project)
    assert str(project / "rag.toml") in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("kind", ["many keys of many parts", "many keys of a deep table"])
def test_a_file_of_a_megabyte_takes_little_of_the_processor(project: Path, kind: str) -> None:
    """A limit of the system ends a run that takes more than five seconds."""
    (project / "rag.toml").write_bytes(_CONTENTS[kind])
    done = subprocess.run(
        [sys.executable, "-P", "-m", "rag", "config"],
        cwd=project,
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (5, 5)),
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" not in done.stderr


def test_thousands_of_names_are_read(project: Path) -> None:
    names = "".join(f"alias{i} = 'tag{i}'\n" for i in range(20_000))
    (project / "rag.toml").write_text(f"[planner.aliases]\n{names}")
    assert len(load_config(env={}, cwd=project).planner.aliases) == 20_000


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/tty", "pipe", "folder", "/proc/self/mem"])
def test_a_link_to_what_is_no_file_is_refused_at_once(project: Path, target: str) -> None:
    os.mkfifo(project / "pipe")
    (project / "folder").mkdir()
    (project / "rag.toml").symlink_to(target)
    with pytest.raises(ConfigError, match=r"cannot read") as caught:
        load_config(env={}, cwd=project)
    assert caught.value.hint == f"Mend {project / 'rag.toml'}, or name another with --config."
    assert Path(target).name in caught.value.details


def test_a_pipe_or_a_folder_of_that_name_is_no_file_of_settings(project: Path) -> None:
    os.mkfifo(project / "rag.toml")
    (project / "config/rag.toml").mkdir(parents=True)
    config = load_config(env={}, cwd=project)
    assert config.root is None
    assert config.strange_files == {
        project / "config/rag.toml": "a folder",
        project / "rag.toml": "a pipe",
    }


def test_those_of_the_users_own_file_are_not_mended_by_naming_another(project: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("a = [")
    with pytest.raises(ConfigError, match=r"cannot read") as caught:
        load_config(env={}, cwd=project)
    assert caught.value.hint == f"Mend {user_file()}."
    user_file().unlink()
    os.mkfifo(user_file())
    assert load_config(env={}, cwd=project).strange_files == {user_file(): "a pipe"}


def test_none_is_looked_for_where_one_is_named_or_nearer(project: Path) -> None:
    (project / "rag.toml").mkdir()
    (project / "below").mkdir()
    (project / "below/rag.toml").touch()
    assert load_config(env={}, cwd=project / "below").strange_files == {}
    assert load_config(project / "below/rag.toml", env={}, cwd=project).strange_files == {}


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "too large"])
def test_a_list_of_trusted_files_that_is_none_is_named(project: Path, kind: str) -> None:
    trust_file().parent.mkdir(parents=True, exist_ok=True)
    make = {"a pipe": os.mkfifo, "a folder": Path.mkdir, "too large": _huge_file}[kind]
    make(trust_file())
    (project / "rag.toml").write_text("warm = true\n[ollama]\nurl = 'http://elsewhere:1'\n")
    with pytest.raises(ConfigError, match=r"trusted\.json is damaged") as caught:
        load_config(env={}, cwd=project)
    assert caught.value.hint.startswith(f"Delete {trust_file()}, then `rag trust`")


def _huge_file(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate((16 << 20) + 1)


@given(st.binary(max_size=2000) | st.text(st.sampled_from('a.[]{}="\n#1\\'), max_size=500))
def test_whatever_a_file_holds_it_is_settings_or_refused(content: bytes | str) -> None:
    content = content if isinstance(content, bytes) else content.encode()
    try:
        assert isinstance(parse(content, Path("rag.toml")), dict)
    except ConfigError as error:
        assert "rag.toml" in str(error)


class TestUnknownVariables:
    def unknown(self, **env: str) -> dict[str, str]:
        return unknown_in_environment(load_config(env={}, cwd=Path()), env)

    def test_one_is_told_with_the_nearest_name(self) -> None:
        assert self.unknown(RAG_SERCH__TOP_K="3") == {"RAG_SERCH__TOP_K": "RAG_SEARCH__TOP_K"}
        assert self.unknown(RAG_CONFG="x") == {"RAG_CONFG": "RAG_CONFIG"}

    def test_those_that_the_program_knows_are_not(self) -> None:
        known = dict.fromkeys(("RAG_CONFIG", "RAG_DATA_DIR", "RAG_WARM", "RAG_TEST_WARM"), "x")
        assert self.unknown(**known, RAG_SERCH="", PATH="x") == {}

    def test_nor_is_the_one_that_holds_the_key(self) -> None:
        config = load_config(env={"RAG_STORE__API_KEY_ENV": "RAG_MY_KEY"}, cwd=Path())
        assert unknown_in_environment(config, {"RAG_MY_KEY": "secret"}) == {}
