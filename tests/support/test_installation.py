"""The command that adds a library, for each way that the program is installed."""

import shlex
import sys
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement

from rag.support import installation
from rag.support.http_transport import DeadlineTransport, unusable_proxy
from rag.support.installation import command_to_add
from tables import rows

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))[
    "project"
]
SOCKS = "'socksio>=1,<2'"

Installed = Callable[..., None]


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Installed:
    """Put the metadata of an installed distribution there, and say where its environment is."""

    def make(by: str = "pip", file: str = "") -> None:
        environment = tmp_path / "an environment" / "rag-notes"
        info = environment / "site" / "rag_notes-9.9.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            "Metadata-Version: 2.4\nName: rag-notes\nVersion: 9.9\nProvides-Extra: socks\n"
            "Requires-Dist: numpy<3,>=2\n"
            "Requires-Dist: socksio>=1,<2; extra == 'socks'\n"
        )
        (info / "INSTALLER").write_text(f"{by}\n")
        if file:
            (environment / file).touch()
        found = metadata.Distribution.at(info)
        monkeypatch.setattr(installation, "distribution", lambda name: found)
        monkeypatch.setattr(sys, "prefix", str(environment))

    return make


def test_pip_is_the_one_of_this_python(installed):
    installed()
    assert command_to_add("socks") == f"{shlex.quote(sys.executable)} -m pip install {SOCKS}"


def test_pipx_adds_to_the_environment_of_this_name(installed):
    installed(file="pipx_metadata.json")
    assert command_to_add("socks") == f"pipx inject rag-notes {SOCKS}"


def test_an_environment_that_uv_made_may_have_no_pip(installed):
    installed(by="uv")
    command = shlex.split(command_to_add("socks"))
    assert command == ["uv", "pip", "install", "--python", sys.executable, "socksio>=1,<2"]


def test_without_metadata_the_extra_is_named(monkeypatch):
    def absent(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(installation, "distribution", absent)
    assert command_to_add("socks").endswith(" -m pip install 'rag-notes[socks]'")


@rows("extra", "builtin", "socks")
def test_the_libraries_are_those_of_the_project(extra):
    """In the metadata of this very installation."""
    named = shlex.split(command_to_add(extra).partition("install ")[2])
    wanted = [str(Requirement(one)) for one in PROJECT["optional-dependencies"][extra]]
    assert [str(Requirement(one)) for one in named] == wanted


def test_the_distribution_is_the_one_of_the_project():
    assert PROJECT["name"] == installation.DISTRIBUTION


def test_a_proxy_that_needs_another_library_says_which_command_adds_it(installed, monkeypatch):
    installed(file="pipx_metadata.json")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(ImportError) as caught:
        DeadlineTransport(httpx.URL("http://ollama.example"), 1)
    error = unusable_proxy("http://ollama.example", caught.value)
    assert "socksio" in str(error)
    assert error.hint.endswith(
        "or put the host in NO_PROXY."
        f" That takes `pipx inject rag-notes {SOCKS}`; `rag doctor` then checks it."
    )
