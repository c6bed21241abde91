"""What a project's file may set before the user trusts it, and what trust is for."""

import json
import os
import stat
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from disk_files import write
from property_examples import examples
from rag.config import RAGConfig, load_config, settings, trust_own, user_file
from rag.config.trust import (
    FREE,
    TRANSFORMS,
    Place,
    forget,
    read_trust,
    record,
    takes_trust,
    trust_file,
)
from rag.index.vault_registry import configured_vaults
from rag.query import registry

# A value that takes trust, of each setting of which others do not.
TAKES_TRUST: dict[str, Any] = {
    "index.chunk_size": 1,
    "index.chunk_overlap": 255,
    "search.transforms": ["multi-query", "a-plug-in"],
    "search.refresh": "auto",
    "ask.transforms": ["a-plug-in"],
    "ollama.enabled": True,
    "routes.classifier": "a-plug-in",
    "routes.rules": {"a": {"keywords": ["x"], "transforms": ["a-plug-in"]}},
    "planner.audit": True,
    "planner.raw_replies": True,
    "warm": True,
    "vaults_dir": Path("/elsewhere"),
    "target_vaults": ["a"],
}

EVIL = "[ollama]\nurl = 'http://evil:1'\n"


def load(project: Path, **env: str) -> RAGConfig:
    return load_config(env=env, cwd=project)


def other_than(default: Any) -> Any:
    """Return another value of the same type as a default."""
    if isinstance(default, bool):
        return not default
    if isinstance(default, (int, float)):
        return default + 1
    return {list: ["x"], dict: {"x": ["y"]}}.get(type(default), "/elsewhere")


class TestEachSetting:
    def test_one_that_is_not_listed_takes_trust(self):
        assert {*FREE} < {*settings()}
        assert takes_trust("search.no_such", 1, Place(Path("/project")))

    def test_one_that_takes_trust_is_left_out(self, project, subtests):
        for name, setting in settings().items():
            if name in FREE:
                continue
            with subtests.test(name):
                section, _, key = name.rpartition(".")
                value = json.dumps(other_than(setting.default)).replace('{"x":', '{"x" =')
                table = f"[{section}]\n" if section else ""
                write(project / "rag.toml", f"{table}{key} = {value}\n")
                config = load(project)
                assert name in config.left_out
                assert attrgetter(name)(config) == attrgetter(name)(RAGConfig())
                assert config.origins[name] == "default"

    def test_some_values_of_some_take_trust_and_others_do_not(self, subtests):
        project = Path("/project")
        assert {name for name, test in FREE.items() if test} == {*TAKES_TRUST}
        for name, value in TAKES_TRUST.items():
            with subtests.test(name):
                assert takes_trust(name, value, Place(project, has_vaults=True))
        for name, value in {
            "index.chunk_size": 1024,
            "index.chunk_overlap": 0,
            "search.transforms": ["multi_query", "HyDE"],
            "search.refresh": "never",
            "ollama.enabled": False,
            "routes.classifier": "embedding",
            "routes.rules": {"a": {"keywords": ["x"], "mode": "dense", "transforms": ["hyde"]}},
            "planner.audit": False,
            "warm": False,
            "search.top_k": 3,
            "vaults_dir": Path("/project/notes"),
            "target_vaults": ["a"],
        }.items():
            with subtests.test(name, value=value):
                assert not takes_trust(name, value, Place(project))

    def test_transforms_that_take_no_trust_are_the_built_in_ones(self):
        assert {*registry._BUILT_IN, *registry._ALIASES} == TRANSFORMS

    def test_routes_count_together_or_not_at_all(self, project):
        rules = "[routes.rules.a]\nkeywords = ['x']\ntransforms = ['a-plug-in']\n"
        write(project / "rag.toml", "[routes]\nclassifier = 'keyword'\ndefault = 'a'\n" + rules)
        config = load(project)
        assert set(config.left_out) == {"routes.classifier", "routes.default", "routes.rules"}
        assert config.routes.classifier == ""


def test_what_is_so_already_asks_for_nothing(project):
    """In the user's own file, or by the environment."""
    write(user_file(), "[ollama]\nurl = 'http://mine:1'\n")
    write(project / "rag.toml", "[ollama]\nurl = 'http://mine:1'\nembedding_model = 'bge-m3'\n")
    config = load(project)
    assert (config.project, dict(config.left_out)) == (None, {})
    write(project / "rag.toml", EVIL)
    config = load(project, RAG_OLLAMA__URL="http://mine:2")
    assert (config.ollama.url, dict(config.left_out)) == ("http://mine:2", {})


# -- which file ------------------------------------------------------------------------


def test_one_that_the_user_names_is_trusted_and_one_that_is_found_is_not(project):
    file = write(project / "rag.toml", EVIL)
    (project / "a/b").mkdir(parents=True)
    for config in (
        load_config(file, {}, project),
        load_config("rag.toml", {}, project),
        load(project, RAG_CONFIG=str(file)),
    ):
        assert config.ollama.url == "http://evil:1"
    # A variable that says `rag.toml` means another file in each folder.
    for config in (load(project), load(project / "a/b"), load(project, RAG_CONFIG="rag.toml")):
        assert "ollama.url" in config.left_out
    own = write(user_file(), EVIL)
    assert load(own.parent).ollama.url == "http://evil:1", "wherever it lies"


def test_a_link_is_the_file_that_it_leads_to_and_a_copy_is_another(project, trust):
    write(project / "mine/rag.toml", EVIL)
    trust(project / "mine")
    (project / "other").mkdir()
    (project / "other/rag.toml").symlink_to("../mine/rag.toml")
    assert load(project / "other").ollama.url == "http://evil:1"
    assert [*read_trust()] == [str(project / "mine/rag.toml")]
    write(project / "copy/rag.toml", EVIL)
    assert "ollama.url" in load(project / "copy").left_out


def test_a_changed_file_is_another(project, trust):
    file = write(project / "rag.toml", EVIL)
    trust(project)
    assert load(project).ollama.url == "http://evil:1"
    file.write_text(EVIL + "# by another hand\n")
    assert "ollama.url" in load(project).left_out


def test_a_file_that_changes_between_two_looks_at_it_is_looked_at_once(project, monkeypatch):
    write(project / "rag.toml", EVIL)
    opened, really = [], os.open

    def watched(path: Path, *arguments: int) -> int:
        opened.append(str(path))
        return really(path, *arguments)

    monkeypatch.setattr(os, "open", watched)
    load(project)
    assert opened == [str(project / "rag.toml")]


def test_what_the_program_wrote_is_trusted_for_that(project, tmp_path):
    file = write(project / "rag.toml", EVIL)
    trust_own(file, ["ollama.embedding_model"])
    assert "ollama.url" in load(project).left_out
    trust_own(file, ["ollama.url"])
    assert load(project).ollama.url == "http://evil:1"
    (project / "vaults").mkdir()  # a link that was there before
    (project / "vaults/linked").symlink_to(tmp_path)
    trust_own(file, ["ollama.url"])
    assert set(load(project).left_out) == {"ollama.url", "vaults_dir"}


class TestFolders:
    def vaults(self, project: Path, **env: str) -> set[str]:
        return set(configured_vaults(load(project, RAG_DATA_DIR=str(project / ".data"), **env)))

    @pytest.fixture
    def private(self, tmp_path) -> Path:
        """A folder outside of the project, with a folder of notes in it."""
        (tmp_path / "private/diary").mkdir(parents=True)
        return tmp_path / "private"

    def test_folders_below_the_project_are_vaults(self, project):
        (project / "notes/a").mkdir(parents=True)
        write(project / "rag.toml", "vaults_dir = 'notes'\ntarget_vaults = ['a']\n")
        assert self.vaults(project) == {"a"}
        assert dict(load(project).left_out) == {}

    @pytest.mark.parametrize("written", ["../private", "notes", "notes/..", "~", ""])
    def test_others_are_not(self, project, private, empty_home, written):
        """Neither is the folder beside the file, when it is a link."""
        (project / ("notes" if written else "vaults")).symlink_to(private)
        (empty_home / "diary").mkdir()
        write(project / "rag.toml", f"vaults_dir = '{written}'\n" if written else "")
        assert self.vaults(project) == set()
        assert "vaults_dir" in load(project).left_out

    def test_nor_is_what_lies_beside_the_file_that_a_link_leads_to(self, project, private):
        write(private / "rag.toml", "")
        (private / "vaults/diary").mkdir(parents=True)
        (project / "rag.toml").symlink_to(private / "rag.toml")
        assert self.vaults(project) == set()

    def test_nor_is_a_link_out_of_it_until_it_is_trusted_for_where_it_leads(
        self, project, private, trust
    ):
        (project / "vaults/own").mkdir(parents=True)
        link = project / "vaults/linked"
        link.symlink_to(private / "diary")
        (project / "vaults/alias").symlink_to("own")
        (project / "vaults/loop").symlink_to("loop")
        write(project / "rag.toml", "")
        assert self.vaults(project) == {"own", "alias"}
        assert str(private / "diary") in load(project).left_out["vaults_dir"].value
        trust(project)
        assert self.vaults(project) == {"own", "alias", "linked"}
        link.unlink()
        link.symlink_to(private)
        assert self.vaults(project) == {"own", "alias"}

    def test_the_user_s_own_vaults_are_neither_narrowed_nor_kept_within(self, project, private):
        (project / "vaults/own").mkdir(parents=True)
        write(project / "rag.toml", "target_vaults = ['nothing']\n")
        (private / "linked").symlink_to(private / "diary")
        assert self.vaults(project, RAG_VAULTS_DIR=str(private)) == {"diary", "linked"}


# -- the list --------------------------------------------------------------------------


def test_the_list_is_for_its_owner_alone(project):
    trust_file().parent.mkdir(parents=True, mode=0o755)
    record(project / "rag.toml", "0")
    assert stat.S_IMODE(trust_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(trust_file().parent.stat().st_mode) == 0o700
    assert [*trust_file().parent.iterdir()] == [trust_file()]


@hypothesis_settings(
    deadline=None,
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example({"\udcff": "0"})  # a name that is no text
@given(st.dictionaries(st.text(min_size=1), st.text("0123abcd")))
def test_what_was_said_is_what_is_known(tmp_path, said):
    for name, digest in said.items():
        record(tmp_path / name, digest)
    for name, digest in said.items():
        entry = read_trust()[str(tmp_path / name)]
        assert (entry.sha256, entry.trusted) == (digest, True)
        assert forget(tmp_path / name)
    assert read_trust() == {}


def test_a_project_does_not_switch_on_what_the_user_has_switched_off(project):
    write(user_file(), "warm = false\n[ollama]\nenabled = false\n")
    write(project / "rag.toml", "warm = true\n[ollama]\nenabled = true\n")
    config = load(project)
    assert (config.warm, config.ollama.enabled) == (False, False)
