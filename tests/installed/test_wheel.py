"""The wheel, as who has no checkout installs and uses it: `make try-wheel`."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from disk_files import write_all
from mcp_client import modern

# Read here: tests see none of the user's RAG_*.
WHEEL = os.environ.get("RAG_TEST_WHEEL", "")
if not WHEEL:
    pytest.skip("RAG_TEST_WHEEL names no wheel: make try-wheel", allow_module_level=True)
# Bytes; of the wheel the reader takes 7 MB, and may take 12.
MOST_OF_A_WHEEL, MOST_INSTALLED = 15e6, 480e6
OF_THE_ENVIRONMENT = {"pip", "setuptools", "pkg_resources"}  # there before anything is installed
NOTES = {
    "Sourdough.md": "---\ntags: [bread]\n---\nFold the dough 4 times.\n\nBake it at 240 degrees.\n",
    "自転車.md": "# 自転車\n\n駐輪場は二階にある。自転車には登録シールを貼る。\n",
}

Rag = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Path:
    """An environment of its own with the wheel and what it requires."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    quiet = ("--quiet", "--disable-pip-version-check")
    install = [folder / "bin" / "python", "-m", "pip", "install", *quiet, Path(WHEEL).resolve()]
    subprocess.run(install, check=True, cwd=folder)
    return folder


@pytest.fixture
def surroundings(tmp_path) -> dict[str, str]:
    """What a new user's shell has; nothing of this checkout."""
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": "/usr/bin:/bin",
        "XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"],
        "RAG_WARM": "0",
    }


@pytest.fixture
def rag(environment, surroundings, tmp_path) -> Rag:
    """Run the installed command beside a folder `notes`, which it has indexed."""
    write_all(tmp_path / "notes", NOTES)

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command, around = [environment / "bin" / "rag", *arguments], {**surroundings, **more}
        return subprocess.run(
            command, env=around, cwd=tmp_path, capture_output=True, text=True, timeout=120
        )

    indexed = run("index", "notes")
    assert (indexed.returncode, indexed.stderr) == (0, "")
    assert "2 notes" in indexed.stdout
    return run


def test_it_is_small_and_holds_the_package_alone():
    assert Path(WHEEL).stat().st_size < MOST_OF_A_WHEEL
    names = zipfile.ZipFile(WHEEL).namelist()
    others = {name for name in names if not name.startswith("rag/") and ".dist-info/" not in name}
    assert others == set()


def test_what_it_installs_is_not_much(environment):
    files = [file for file in environment.rglob("*") if file.is_file() and not file.is_symlink()]
    installed = [file for file in files if not OF_THE_ENVIRONMENT & {*file.parts}]
    assert sum(file.stat().st_size for file in installed) < MOST_INSTALLED


def test_nothing_of_it_comes_from_a_checkout(environment):
    python = environment / "bin" / "python"
    code = "import rag; print(rag.__file__)"
    said = subprocess.run([python, "-c", code], cwd="/", capture_output=True, text=True, check=True)
    assert Path(said.stdout.strip()).is_relative_to(environment)


def test_notes_are_found_by_words_and_by_meaning(rag):
    assert "notes/Sourdough.md:4" in rag("search", "dough").stdout
    assert "notes/自転車.md" in rag("search", "where can I leave my bicycle", "-k", "1").stdout


def test_a_question_is_answered(rag):
    answered = rag("ask", "At how many degrees is it baked?", "--json")
    assert answered.returncode == 0
    assert "240 degrees" in json.loads(answered.stdout)["answer"]


def test_an_agent_is_served(rag, environment, surroundings):
    call = modern("tools/call", name="search", arguments={"query": "dough"})
    command = [environment / "bin" / "rag", "mcp"]
    served = subprocess.run(
        command, input=json.dumps(call), env=surroundings, cwd="/", capture_output=True, text=True
    )
    assert (served.returncode, served.stderr) == (0, "")
    [content] = json.loads(served.stdout)["result"]["content"]
    assert "1. Sourdough" in content["text"]


def test_the_page_is_served(rag, environment, surroundings):
    command = [environment / "bin" / "rag", "serve", "--http", "--port", "0"]
    how = {"env": surroundings, "cwd": "/", "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **how) as process:
        assert process.stdout
        url = process.stdout.readline().removeprefix("serving ").strip()
        token = next(Path(surroundings["HOME"]).rglob("http-token")).read_text().strip()
        for path, part in (("/", "/page/app.js"), ("/page/results?query=dough", "<mark>dough")):
            request = Request(url + path, headers={"Authorization": f"Bearer {token}"})
            with urlopen(request) as answer:
                assert part in answer.read().decode()
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0


def test_a_job_runs_this_very_program(rag, environment, tmp_path):
    empty = tmp_path / "bin" / "crontab"
    empty.parent.mkdir()
    empty.write_text("#!/bin/sh\necho 'no crontab for ann' >&2\nexit 1\n")
    empty.chmod(0o755)
    path = f"{empty.parent}:/usr/bin:/bin"
    planned = rag("service", "install", "--with", "cron", "--dry-run", PATH=path)
    assert (planned.returncode, planned.stderr) == (0, "")
    assert f"{environment}/bin/rag" in planned.stdout and "*/15 * * * *" in planned.stdout


def test_the_command_that_is_named_installs_a_missing_library(rag):
    away = {"ALL_PROXY": "socks5://127.0.0.1:1", "RAG_OLLAMA__URL": "http://ollama.example"}
    said = rag("doctor", **away).stdout
    [command] = re.findall(r"That takes `(.*?)`", said)
    subprocess.run([*shlex.split(command), "--quiet"], check=True)
    assert "That takes" not in rag("doctor", **away).stdout
