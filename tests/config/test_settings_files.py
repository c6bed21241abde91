"""Files of settings that nobody means: they are refused in one message, whatever they are."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disk_files import write
from rag.config import load_config
from rag.config.files import MOST_BYTES, read_settings
from rag.config.trust import trust_file
from rag.exceptions import ConfigError
from tables import rows

_HUGE = b"0x" + b"f" * 20_000
_MANY_PARTS = b"".join(b"x%d." % i + b"a." * 198 + b"a=1\n" for i in range(600))
_DEEP_TABLE = b"[" + b"a." * 197 + b"a]\n" + b"".join(b"%x=1\n" % i for i in range(30_000))
CONTENTS = {
    "broken": b"[search",
    "brackets": b"a = " + b"[" * 100_000,
    "inline tables": b"a = " + b"{b=" * 50_000,
    "a key of many parts": b"a." * 100_000 + b"a = 1",
    "a long unknown name": b"a" * 200_000 + b" = 1",
    "a number for a name": b"data_dir = " + _HUGE,
    "a number of many digits": b"[search]\ntop_k = " + b"1" * 200_000,
    "a number in a table": b"[index]\nonly = { a = " + _HUGE + b" }",
    "a number too large to be a decimal": b"[ask]\ntemperature = " + _HUGE,
    "a path with a zero": b'data_dir = "\\u0000"',
    "a path too long": b'vaults_dir = "' + b"a" * 100_000 + b'"',
    "no text": b"\xff\xfe",
    "too large": b"#" * (MOST_BYTES + 1),
}


@rows("kind", CONTENTS)
def test_a_file_that_nobody_means_is_refused_in_few_words(project, kind):
    (project / "rag.toml").write_bytes(CONTENTS[kind])
    with pytest.raises(ConfigError) as caught:
        load_config(env={}, cwd=project)
    assert str(project / "rag.toml") in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("content", [_MANY_PARTS, _DEEP_TABLE], ids=["parts", "table"])
def test_a_file_of_the_largest_size_takes_little_of_the_processor(project, content):
    (project / "rag.toml").write_bytes(content)
    start = time.process_time()
    with pytest.raises(ConfigError):
        load_config(env={}, cwd=project)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "target",
    ["/dev/zero", "/dev/tty", "pipe", "folder", "/proc/self/mem", "nowhere.toml", "rag.toml"],
)
def test_a_link_to_what_is_no_file_is_refused_at_once(project, target):
    os.mkfifo(project / "pipe")
    (project / "folder").mkdir()
    (project / "rag.toml").symlink_to(target)
    with pytest.raises(ConfigError, match="cannot read") as caught:
        load_config(env={}, cwd=project)
    assert caught.value.hint == f"Mend {project / 'rag.toml'}, or name another with --config."
    assert Path(target).name in str(caught.value)


def test_so_is_a_pipe_or_a_folder_of_that_name(project):
    os.mkfifo(project / "rag.toml")
    with pytest.raises(ConfigError, match="it is a pipe"):
        load_config(env={}, cwd=project)
    (project / "config/rag.toml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="it is a folder"):
        load_config(env={}, cwd=project)
    assert load_config(write(project / "mine.toml", ""), {}, project).root == project


def test_a_byte_order_mark_is_read(project):
    write(project / "config/rag.toml", "\ufeff[search]\ntop_k = 7")
    assert load_config(env={}, cwd=project).search.top_k == 7


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "", "{", "[]", '{"files": {"a": 1}}', "[["])
def test_a_damaged_list_of_trusted_files_trusts_nothing_and_is_named(project, kind):
    trust_file().parent.mkdir(parents=True, exist_ok=True)
    if kind.startswith("a "):
        {"a pipe": os.mkfifo, "a folder": Path.mkdir}[kind](trust_file())
    else:
        trust_file().write_text(kind if kind != "[[" else "[" * 100_000)
    (project / "rag.toml").write_text("warm = true\n[search]\ntop_k = 3\n")
    assert load_config(env={}, cwd=project).search.top_k == 3, "it asks for nothing"
    (project / "rag.toml").write_text("[ollama]\nurl = 'http://elsewhere:1'\n")
    with pytest.raises(ConfigError, match=r"trusted\.json is damaged") as caught:
        load_config(env={}, cwd=project)
    assert caught.value.hint.startswith(f"Delete {trust_file()}, then `rag trust`")


@given(st.binary(max_size=2000) | st.text(st.sampled_from('a.[]{}="\n#1\\'), max_size=500))
def test_whatever_a_file_holds_it_is_settings_or_refused(project, content):
    content = content if isinstance(content, bytes) else content.encode()
    (project / "rag.toml").write_bytes(content)
    try:
        assert isinstance(read_settings(project / "rag.toml")[1], dict)
    except ConfigError as error:
        assert "rag.toml" in str(error)
