"""Settings: the layers, where each value came from, and what is refused."""

import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from disk_files import write
from rag import config as config_module
from rag.config import (
    OllamaConfig,
    default_toml,
    load_config,
    settings,
    unknown_in_environment,
    user_file,
)
from rag.config.sections import CHAT_PROVIDERS, EMBEDDING_PROVIDERS
from rag.exceptions import ConfigError
from tables import rows

REPO = Path(__file__).resolve().parents[2]


# -- layers ----------------------------------------------------------------------------


def test_without_any_file_every_setting_is_its_default(project):
    config = load_config(env={}, cwd=project)
    assert config.search.top_k == 10 and config.index_dir == config.data_dir / "index"
    assert config.origins == dict.fromkeys(settings(), "default")
    assert config.root is None


def test_later_layers_win_user_file_then_project_file_then_environment(project):
    user = write(user_file(), "[search]\ntop_k = 1\nmode = 'dense'\n[ask]\ntop_k = 1\n")
    file = write(project / "rag.toml", "[search]\ntop_k = 2\n[ask]\ntop_k = 2\n")
    config = load_config(env={"RAG_ASK__TOP_K": "3"}, cwd=project)
    assert (config.search.mode, config.search.top_k, config.ask.top_k) == ("dense", 2, 3)
    names = ("search.mode", "search.top_k", "ask.top_k", "ask.max_quotes")
    origins = [config.origins[name] for name in names]
    assert origins == [str(user), str(file), "environment", "default"]


def test_the_nearest_project_file_is_read_and_no_other(project):
    write(project / "rag.toml", "[search]\ntop_k = 1\nmode = 'dense'")
    (project / "a/b").mkdir(parents=True)
    assert load_config(env={}, cwd=project / "a/b").search.top_k == 1
    write(project / "config/rag.toml", "[search]\ntop_k = 2")
    found = load_config(env={}, cwd=project / "a/b")
    assert (found.search.top_k, found.search.mode, found.root) == (2, "auto", project)
    write(project / "a/rag.toml", "[search]\ntop_k = 3")
    assert load_config(env={}, cwd=project / "a/b").search.top_k == 3


def test_a_file_that_is_named_is_read_instead(project):
    write(project / "rag.toml", "[search]\ntop_k = 7")
    mine = write(project / "mine.toml", "[search]\ntop_k = 8")
    env = {"RAG_CONFIG": str(write(project / "other.toml", "[search]\ntop_k = 9"))}
    assert load_config(env=env, cwd=project).search.top_k == 9
    assert load_config(mine, env, project).search.top_k == 8
    assert load_config("mine.toml", {}, project).search.top_k == 8


def test_one_that_is_missing_or_no_file_is_an_error(project):
    (project / "folder.toml").mkdir()
    for name, says in (("nowhere.toml", "no configuration"), ("folder.toml", "is a folder")):
        for path, env in ((name, {}), (None, {"RAG_CONFIG": name})):
            with pytest.raises(ConfigError, match=says) as caught:
                load_config(path, env, project)
            assert name in caught.value.message and "--config" in caught.value.hint


# -- what is refused -------------------------------------------------------------------


def test_an_unknown_setting_is_refused_with_where_it_is_and_the_nearest_name(project, subtests):
    for toml, unknown, nearest in (
        ("[search]\ntopk = 3", "search.topk", "search.top_k"),
        ("vault_dir = 'x'", "vault_dir", "vaults_dir"),
        ("[index]\nchunksize = 3", "index.chunksize", "index.chunk_size"),
        ("[zzz]\ntop_k = 3", "zzz", ""),
        ("[serch]\ntop_k = 3", "serch", "search"),
    ):
        with subtests.test(unknown):
            file = write(project / "rag.toml", toml)
            with pytest.raises(ConfigError) as caught:
                load_config(env={}, cwd=project)
            assert f"unknown setting {unknown!r} in {file}" == caught.value.message
            assert (f"Did you mean '{nearest}'" in caught.value.hint) is bool(nearest)
    with pytest.raises(ConfigError, match=r"unknown setting 'search\.nope' in RAG_SEARCH__NOPE"):
        load_config(env={"RAG_SEARCH__NOPE": "1"}, cwd=project.parent)


REFUSED = {
    "": ["planner = 3", "vaults_dir = 3", "target_vaults = { a = 1 }"],
    "index": [
        *("max_note_mb = true", "max_note_mb = 0", "max_note_mb = nan", "ignore = [1, 2]"),
        *("only = ['a']", "chunk_size = 0", "chunk_overlap = -1", "chunk_overlap = 512"),
    ],
    "search": [
        *("top_k = 'many'", "top_k = 1.5", "top_k = true", "top_k = 0", "freshness = 1"),
        *("mode = 3", "mode = 'psychic'", "refresh = 'always'"),
    ],
    "ask": ["top_k = -1", "max_quotes = 0", "temperature = 3"],
    "planner": [
        *('aliases = { "" = "x" }', 'aliases = { x = "" }', 'fields = { x = [""] }'),
        *("router = ' '", "confidence_threshold = 2", "tag_keep = 9", "audit_days = -1"),
    ],
    "embedding": ["path = 'model.onnx'", "pooling = 'max'", "threads = 257"],
    "ollama": [
        *("url = ''", "url = 'localhost:11434'", "url = 'http://me:secret@host'"),
        *("url = 'http://host:99999'", "url = 'http://host:0'", "url = 'http://[::1'"),
        *("url = 'http://ho st'", "url = 'http://a,http://b'", "urls = ['http://host', 'host']"),
        *("generation_url = 'ftp://host'", "multilingual = 'maybe'", "max_context = 0"),
        *("keep_alive = '10'", "keep_alive = 'for ever'", "batch_tokens = 0", "retries = -1"),
        *("max_in_flight = 0", "connect_timeout = 0", "read_timeout = inf"),
        *("request_timeout = nan", "query_timeout = -1"),
    ],
    "store": [
        *("url = 'localhost:6333'", "url = 'http://user:password@host'", "url = ','"),
        *("url = 'http://one:1, localhost:6333'", "url = ['http://one:1', 2]"),
        'url = "http://one:1,http://two:2\\u0085"',
        *("api_key_env = 'sk-not-a-name'", "collection = ''", "collection = '../other'"),
        *("collection = 'メモ'", "timeout = 0", "timeout = inf", "shard_number = -1"),
        *("replication_factor = 0", "write_consistency_factor = 2"),
        *("write_consistency_factor = 0", "quantization = 'product'", "hnsw_m = -1"),
        "hnsw_m = 1000",
    ],
}


@pytest.mark.parametrize("section", REFUSED)
def test_a_value_that_cannot_be_meant_is_refused_with_its_name_and_file(project, section, subtests):
    for line in REFUSED[section]:
        with subtests.test(line[:40]):
            name = f"{section}.{line.split()[0]}".removeprefix(".")
            file = write(project / "rag.toml", (f"[{section}]\n" if section else "") + line)
            with pytest.raises(ConfigError, match=rf"^{name} .*must be .*") as caught:
                load_config(file, {}, project)
            assert str(file) in str(caught.value) and caught.value.hint


def test_a_provider_that_does_not_exist_is_refused_with_those_that_do(project):
    for kind, known in {"embedding": EMBEDDING_PROVIDERS, "chat": CHAT_PROVIDERS}.items():
        says = f"{kind}.provider must be one of {', '.join(['auto', *known])}, not 'gemini' (from "
        file = write(project / "rag.toml", f"[{kind}]\nprovider = 'gemini'")
        with pytest.raises(ConfigError, match=re.escape(f"{says}{file})")):
            load_config(file, {}, project)
        variable = f"RAG_{kind.upper()}__PROVIDER"
        with pytest.raises(ConfigError, match=re.escape(f"{says}{variable})")):
            load_config(env={variable: "gemini"}, cwd=project.parent)


# -- the environment -------------------------------------------------------------------


def test_the_environment_gives_numbers_booleans_lists_and_tables_as_text(project):
    env = {
        "RAG_SEARCH__TOP_K": "3",
        "RAG_SEARCH__FRESHNESS": "False",
        "RAG_INDEX__MAX_NOTE_MB": "1.5",
        "RAG_INDEX__IGNORE": "drafts/, *.tmp.md ,",
        "RAG_INDEX__ONLY": '{"normalized": true}',
        "RAG_TARGET_VAULTS": '["日記", "a,b"]',
        "RAG_OLLAMA__URL": "https://host/ollama/",
    }
    found, default = load_config(env=env, cwd=project), load_config(env={}, cwd=project)
    values = {name: attrgetter(name)(found) for name in settings()}
    assert {n: value for n, value in values.items() if value != attrgetter(n)(default)} == {
        "search.top_k": 3,
        "search.freshness": False,
        "index.max_note_mb": 1.5,
        "index.ignore": ["drafts/", "*.tmp.md"],
        "index.only": {"normalized": True},
        "target_vaults": ["日記", "a,b"],
        "ollama.url": "https://host/ollama/",
    }


@rows(
    "name, value, says",
    ("RAG_SEARCH__TOP_K", "many", "a whole number within 1 and 10,000, not 'many'"),
    ("RAG_SEARCH__TOP_K", "0", "a whole number within 1 and 10,000, not 0"),
    ("RAG_SEARCH__FRESHNESS", "perhaps", "true or false, not 'perhaps'"),
    ("RAG_INDEX__ONLY", "{", "a table"),
    ("RAG_INDEX__IGNORE", "[1]", "a list of texts"),
    ("RAG_DATA_DIR", "a\0", "the path of a folder"),
)
def test_text_that_is_no_such_value_is_refused(project, name, value, says):
    setting = name.removeprefix("RAG_").replace("__", ".").lower()
    with pytest.raises(ConfigError) as caught:
        load_config(env={name: value}, cwd=project)
    assert caught.value.message == f"{setting} must be {says} (from {name})"


def test_a_variable_that_sets_nothing_is_told_with_the_nearest_name(project):
    write(user_file(), "[chat]\napi_key = 'RAG_MY_KEY'\n")  # the name of a variable, which is known
    known = ("RAG_CONFIG", "RAG_DATA_DIR", "RAG_WARM", "RAG_TEST_WARM", "RAG_MY_KEY", "PATH")
    wrong = ("RAG_SERCH__TOP_K", "RAG_CONFG", "RAG_FOO")
    env = dict.fromkeys((*known, *wrong), "x") | {"RAG_EMPTY": ""}
    told = dict(zip(wrong, ("RAG_SEARCH__TOP_K", "RAG_CONFIG", ""), strict=True))
    assert unknown_in_environment(load_config(env={}, cwd=project), env) == told


# -- folders ---------------------------------------------------------------------------


def test_a_path_is_relative_to_where_it_is_written(project, empty_home):
    """To the project, whichever of its two files it is in; to the user's file; or to the working
    folder for one of the environment."""
    user = write(user_file(), "vaults_dir = 'notes'")
    assert load_config(env={}, cwd=project).vaults_dir == user.parent.resolve() / "notes"
    (project / "below").mkdir()
    write(project / "rag.toml", "vaults_dir = 'notes'")
    assert load_config(env={}, cwd=project / "below").vaults_dir == project / "notes"
    file = write(project / "config/rag.toml", "data_dir = '~/state'\nvaults_dir = '../notes'")
    config = load_config(file, {"RAG_DATA_DIR": ""}, project)
    assert config.vaults_dir == project.parent / "notes"
    assert config.data_dir == empty_home.resolve() / "state"
    assert load_config(env={"RAG_DATA_DIR": "x"}, cwd=project).data_dir == project / "x"


def test_the_folder_vaults_beside_the_project_file_is_the_default_and_says_so(project):
    write(project / "config/rag.toml", "")
    assert load_config(env={}, cwd=project).vaults_dir is None
    (project / "vaults").mkdir()
    config = load_config(env={}, cwd=project)
    assert config.vaults_dir == project / "vaults"
    assert config.origins["vaults_dir"] == "default, beside the project file"
    write(project / "config/rag.toml", "vaults_dir = 'notes'")
    assert load_config(env={}, cwd=project).vaults_dir == project / "notes"


def test_the_module_gives_the_index_and_vaults_folders_by_name(project, monkeypatch):
    monkeypatch.setenv("RAG_DATA_DIR", "/somewhere")
    monkeypatch.setenv("RAG_VAULTS_DIR", "/notes")
    assert Path("/somewhere/index") == config_module.QDRANT_PATH
    assert Path("/notes") == config_module.VAULTS_DIR
    with pytest.raises(AttributeError, match="NO_SUCH_NAME"):
        config_module.NO_SUCH_NAME  # noqa: B018


def test_the_vaults_folder_is_a_path_in_and_outside_of_a_project(project, monkeypatch):
    monkeypatch.delenv("RAG_VAULTS_DIR", raising=False)
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    assert project / "below/vaults" == config_module.VAULTS_DIR
    write(project / "rag.toml", "")
    assert project / "vaults" == config_module.VAULTS_DIR


# -- the file that sets nothing --------------------------------------------------------


def test_the_default_file_names_every_setting_and_changes_nothing(project):
    (project / "vaults").mkdir()
    write(project / "rag.toml", "")
    defaults = load_config(env={}, cwd=project)
    uncommented = re.sub(r"(?m)^# (\w+ = )", r"\1", default_toml())
    write(project / "rag.toml", uncommented)
    config = load_config(env={}, cwd=project)
    origins = {name: o for name, o in config.origins.items() if not name.endswith(".key_hosts")}
    assert set(origins.values()) == {str(project / "rag.toml")}
    assert config == defaults


def test_the_repository_s_configuration_is_the_default_file():
    assert (REPO / "config/rag.toml").read_text("utf-8") == default_toml()


# -- servers ---------------------------------------------------------------------------


def test_one_address_of_ollama_serves_all_unless_others_are_named(project):
    ollama = load_config(env={"RAG_OLLAMA__URL": "http://one:1"}, cwd=project).ollama
    assert (ollama.embedding_urls, ollama.local_url) == (["http://one:1"], "http://one:1")
    env = {
        "RAG_OLLAMA__URLS": "http://two:2, http://three:3, http://two:2",
        "RAG_OLLAMA__GENERATION_URL": "https://four",
    }
    ollama = load_config(env=env, cwd=project).ollama
    assert ollama.embedding_urls == ["http://two:2", "http://three:3"]
    assert (ollama.remote_url, ollama.local_url) == ("http://two:2", "https://four")


def test_ollama_takes_the_names_of_the_embedding_and_the_generation_server():
    both = OllamaConfig(remote_url="http://far:1", local_url="http://near:2", chat_model="m")
    assert (both.embedding_urls, both.local_url) == (["http://far:1"], "http://near:2")
    assert both == OllamaConfig(
        urls=["http://far:1"], generation_url="http://near:2", chat_model="m"
    )
    assert OllamaConfig(remote_url="http://far:1").local_url == OllamaConfig().url
    assert OllamaConfig(local_url="http://near:2").remote_url == OllamaConfig().url
    wrong: Any
    for wrong in ({"urls": ["http://a"]}, {"no_such": 1}):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            OllamaConfig(remote_url="http://far:1", **wrong)
