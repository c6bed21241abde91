"""Settings: the layers, where each value came from, and what is refused."""

import re
import tomllib
from pathlib import Path

import platformdirs
import pytest

from rag import config as config_module
from rag.config import StoreConfig, default_toml, load_config, settings, values
from rag.config.layers import flatten
from rag.config.providers import CHAT_PROVIDERS, EMBEDDING_PROVIDERS
from rag.exceptions import ConfigError
from settings_files import write

REPO = Path(__file__).resolve().parents[2]


def write_user_file(text: str) -> Path:
    return write(Path(platformdirs.user_config_dir("rag", appauthor=False)) / "rag.toml", text)


# -- layers ----------------------------------------------------------------------------


def test_without_any_file_every_setting_is_its_default(project: Path) -> None:
    config = load_config(env={}, cwd=project)
    assert config.search.top_k == 10
    assert set(config.origins) == set(settings())
    assert set(config.origins.values()) == {"default"}
    assert config.root is None


def test_later_layers_win_user_file_then_project_file_then_environment(project: Path) -> None:
    user = write_user_file("[search]\ntop_k = 1\nmode = 'dense'\n[ask]\ntop_k = 1\n")
    file = write(project / "rag.toml", "[search]\ntop_k = 2\n[ask]\ntop_k = 2\n")
    config = load_config(env={"RAG_ASK__TOP_K": "3"}, cwd=project)
    assert (config.search.mode, config.search.top_k, config.ask.top_k) == ("dense", 2, 3)
    assert config.origins["search.mode"] == str(user)
    assert config.origins["search.top_k"] == str(file)
    assert config.origins["ask.top_k"] == "environment"
    assert config.origins["ask.max_quotes"] == "default"


def test_config_rag_toml_wins_over_rag_toml_of_the_same_folder(project: Path) -> None:
    write(project / "rag.toml", "[search]\ntop_k = 1")
    write(project / "config/rag.toml", "[search]\ntop_k = 2")
    assert load_config(env={}, cwd=project).search.top_k == 2


def test_the_project_file_is_found_from_a_folder_below_it(project: Path) -> None:
    write(project / "config/rag.toml", "[search]\ntop_k = 7")
    below = project / "a/b"
    below.mkdir(parents=True)
    config = load_config(env={}, cwd=below)
    assert config.search.top_k == 7
    assert config.root == project


def test_the_nearest_project_file_is_read_and_no_other(project: Path) -> None:
    write(project / "rag.toml", "[search]\ntop_k = 7\nmode = 'dense'")
    write(project / "inner/rag.toml", "[search]\ntop_k = 8")
    config = load_config(env={}, cwd=project / "inner")
    assert (config.search.top_k, config.search.mode) == (8, "auto")


def test_rag_config_names_the_project_file(project: Path) -> None:
    write(project / "rag.toml", "[search]\ntop_k = 7")
    other = write(project / "other.toml", "[search]\ntop_k = 9")
    assert load_config(env={"RAG_CONFIG": str(other)}, cwd=project).search.top_k == 9


def test_a_given_path_wins_over_rag_config(project: Path) -> None:
    mine = write(project / "mine.toml", "[search]\ntop_k = 8")
    other = write(project / "other.toml", "[search]\ntop_k = 9")
    assert load_config(mine, {"RAG_CONFIG": str(other)}, project).search.top_k == 8
    assert load_config("mine.toml", {}, project).search.top_k == 8


def test_a_named_file_that_is_missing_is_an_error(project: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        load_config("nowhere.toml", {}, project)
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        load_config(None, {"RAG_CONFIG": "nowhere.toml"}, project)


@pytest.mark.parametrize("target", ["nowhere.toml", "rag.toml"])
def test_a_link_that_leads_nowhere_is_an_error(project: Path, target: str) -> None:
    (project / "rag.toml").symlink_to(target)
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(cwd=project)


def test_so_is_one_of_the_users_own_file(project: Path) -> None:
    file = write_user_file("")
    file.unlink()
    file.symlink_to("nowhere.toml")
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(cwd=project)


def test_a_link_to_an_empty_device_sets_nothing(project: Path) -> None:
    (project / "rag.toml").symlink_to("/dev/null")
    assert load_config(cwd=project).search.top_k == 10


def test_a_file_with_a_byte_order_mark_is_read(project: Path) -> None:
    write(project / "rag.toml", "\ufeff[search]\ntop_k = 7")
    assert load_config(env={}, cwd=project).search.top_k == 7


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "unknown", "nearest"),
    [
        ("[search]\ntopk = 3", "search.topk", "search.top_k"),
        ("vault_dir = 'x'", "vault_dir", "vaults_dir"),
        ("[index]\nchunksize = 3", "index.chunksize", "index.chunk_size"),
        ("[searching]\ntop_k = 3", "searching", None),
    ],
)
def test_an_unknown_setting_is_refused_with_its_file_and_the_nearest_name(
    project: Path, toml: str, unknown: str, nearest: str | None
) -> None:
    file = write(project / "rag.toml", toml)
    with pytest.raises(ConfigError) as caught:
        load_config(env={}, cwd=project)
    assert repr(unknown) in caught.value.message
    assert str(file) in caught.value.message
    assert repr(nearest) in caught.value.hint if nearest else "Did you mean" in caught.value.hint


def test_a_section_that_is_no_table_is_refused(project: Path) -> None:
    write(project / "rag.toml", "planner = 3")
    with pytest.raises(ConfigError, match=r"planner in .* must be a table, not 3"):
        load_config(env={}, cwd=project)


@pytest.mark.parametrize(
    "toml", ['aliases = { "" = "x" }', 'aliases = { x = "" }', 'fields = { x = [""] }']
)
def test_a_name_of_the_planner_is_not_empty(project: Path, toml: str) -> None:
    write(project / "rag.toml", f"[planner]\n{toml}")
    with pytest.raises(ConfigError, match=r"planner.* must be a table"):
        load_config(env={}, cwd=project)


@pytest.mark.parametrize(
    "toml",
    [
        "[search]\ntop_k = 'many'",
        "[search]\ntop_k = 1.5",
        "[search]\ntop_k = true",
        "[search]\nfreshness = 1",
        "[search]\nmode = 3",
        "[index]\nmax_note_mb = true",
        "[index]\nignore = [1, 2]",
        "[index]\nonly = ['a']",
        "vaults_dir = 3",
        "target_vaults = { a = 1 }",
        "[search]\nmode = 'psychic'",
        "[search]\ntop_k = 0",
        "[ask]\ntop_k = -1",
        "[ask]\nmax_quotes = 0",
        "[index]\nchunk_size = 0",
        "[index]\nchunk_overlap = -1",
        "[index]\nchunk_size = 50\nchunk_overlap = 50",
        "[index]\nmax_note_mb = 0",
        "[index]\nmax_note_mb = nan",
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_its_name_and_file(
    project: Path, toml: str
) -> None:
    file = write(project / "rag.toml", toml)
    key = re.findall(r"(\w+) = ", toml)[-1] if "{" not in toml else "target_vaults"
    with pytest.raises(ConfigError, match=key) as caught:
        load_config(file, {}, project)
    assert str(file) in str(caught.value)


def test_something_else_in_the_place_of_a_named_file_is_said_to_be_that(project: Path) -> None:
    (project / "folder.toml").mkdir()
    with pytest.raises(ConfigError, match=r"folder\.toml is a folder, not a file"):
        load_config("folder.toml", {}, project)


@pytest.mark.parametrize("kind", ["embedding", "chat"])
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_a_provider_that_does_not_exist_is_refused_with_those_that_do(
    project: Path, kind: str, enabled: str
) -> None:
    off = f"[ollama]\nenabled = {enabled}\n"
    file = write(project / "rag.toml", f"{off}[{kind}]\nprovider = 'gemini'")
    kinds = {"embedding": EMBEDDING_PROVIDERS, "chat": CHAT_PROVIDERS}
    known = ", ".join(["auto", *kinds[kind]])
    says = f"{kind}.provider must be one of {known}, not 'gemini' (from "
    with pytest.raises(ConfigError) as caught:
        load_config(file, {}, project)
    assert str(caught.value) == f"{says}{file})"
    variable = f"RAG_{kind.upper()}__PROVIDER"
    with pytest.raises(ConfigError) as caught:
        load_config(env={variable: "gemini"}, cwd=project.parent)
    assert str(caught.value) == f"{says}{variable})"


def test_a_provider_is_chosen_in_a_file_or_in_the_environment(project: Path, monkeypatch) -> None:
    monkeypatch.setitem(CHAT_PROVIDERS, "mine", ("nowhere", "Nothing"))
    file = write(project / "rag.toml", "[chat]\nprovider = 'mine'")
    config = load_config(file, {"RAG_EMBEDDING__PROVIDER": "ollama"}, project)
    assert (config.chat.provider, config.embedding.provider) == ("mine", "ollama")
    assert config.origins["chat.provider"] == str(file)


@pytest.mark.parametrize("content", [b"top_k = ", b"[search", b"a = '\xff'"])
def test_a_file_that_does_not_parse_is_refused_by_name(project: Path, content: bytes) -> None:
    file = project / "rag.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config(env={}, cwd=project)
    assert str(file) in caught.value.message
    assert caught.value.details


def test_a_whole_number_will_do_for_a_decimal_one(project: Path) -> None:
    file = write(project / "rag.toml", "[index]\nmax_note_mb = 2")
    found = load_config(file, {}, project).index.max_note_mb
    assert (found, type(found)) == (2.0, float)


# -- the environment -------------------------------------------------------------------


def test_the_environment_gives_numbers_booleans_lists_and_tables_as_text(project: Path) -> None:
    env = {
        "RAG_SEARCH__TOP_K": "3",
        "RAG_SEARCH__FRESHNESS": "False",
        "RAG_INDEX__MAX_NOTE_MB": "1.5",
        "RAG_INDEX__IGNORE": "drafts/, *.tmp.md ,",
        "RAG_INDEX__ONLY": '{"normalized": true}',
        "RAG_TARGET_VAULTS": '["日記", "a,b"]',
    }
    config = load_config(env=env, cwd=project)
    assert config.search.top_k == 3
    assert config.search.freshness is False
    assert config.index.max_note_mb == 1.5
    assert config.index.ignore == ["drafts/", "*.tmp.md"]
    assert config.index.only == {"normalized": True}
    assert config.target_vaults == ["日記", "a,b"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RAG_SEARCH__TOP_K", "many"),
        ("RAG_SEARCH__FRESHNESS", "perhaps"),
        ("RAG_INDEX__ONLY", "{"),
        ("RAG_INDEX__IGNORE", "[1]"),
    ],
)
def test_text_that_is_no_such_value_is_refused(project: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError, match="environment"):
        load_config(env={name: value}, cwd=project)


def test_a_variable_of_another_program_is_ignored(project: Path) -> None:
    config = load_config(env={"RAG_X": "1", "RAG_TIME__SIGNATURE": "4/4"}, cwd=project)
    assert config == load_config(env={}, cwd=project)


def test_an_unknown_name_in_a_known_section_of_the_environment_is_refused(project: Path) -> None:
    with pytest.raises(ConfigError, match=r"search\.nope"):
        load_config(env={"RAG_SEARCH__NOPE": "1"}, cwd=project)


def test_an_empty_variable_counts_as_unset(project: Path) -> None:
    config = load_config(env={"RAG_DATA_DIR": "", "RAG_SEARCH__TOP_K": ""}, cwd=project)
    assert config.origins["data_dir"] == config.origins["search.top_k"] == "default"


def test_without_an_environment_given_the_process_has_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_SEARCH__TOP_K", "4")
    assert load_config(cwd=project).search.top_k == 4


# -- folders ---------------------------------------------------------------------------


def test_a_path_of_the_project_file_is_relative_to_the_project(project: Path) -> None:
    file = write(project / "config/rag.toml", "data_dir = 'state'\nvaults_dir = '../notes'")
    config = load_config(file, {}, project)
    assert config.data_dir == project / "state"
    assert config.vaults_dir == project.parent / "notes"


def test_a_path_of_a_rag_toml_is_relative_to_its_folder(project: Path) -> None:
    write(project / "rag.toml", "vaults_dir = 'notes'")
    below = project / "below"
    below.mkdir()
    assert load_config(env={}, cwd=below).vaults_dir == project / "notes"


def test_a_path_of_the_user_file_is_relative_to_that_file(project: Path) -> None:
    user = write_user_file("vaults_dir = 'notes'")
    assert load_config(env={}, cwd=project).vaults_dir == user.parent.resolve() / "notes"


def test_a_path_of_the_environment_is_relative_to_the_working_folder(project: Path) -> None:
    assert load_config(env={"RAG_DATA_DIR": "x"}, cwd=project).data_dir == project / "x"


def test_a_tilde_is_the_home_folder(project: Path, empty_home: Path) -> None:
    file = write(project / "rag.toml", "vaults_dir = '~/notes'")
    assert load_config(file, {}, project).vaults_dir == empty_home.resolve() / "notes"


def test_the_folder_vaults_beside_the_project_file_is_the_default_and_says_so(
    project: Path,
) -> None:
    write(project / "config/rag.toml", "")
    assert load_config(env={}, cwd=project).vaults_dir is None
    (project / "vaults").mkdir()
    config = load_config(env={}, cwd=project)
    assert config.vaults_dir == project / "vaults"
    assert config.origins["vaults_dir"] == "default, beside the project file"


def test_the_vaults_folder_named_in_the_file_wins_over_the_one_beside_it(project: Path) -> None:
    (project / "vaults").mkdir()
    write(project / "rag.toml", "vaults_dir = 'notes'")
    assert load_config(env={}, cwd=project).vaults_dir == project / "notes"


def test_the_index_lies_in_the_data_folder(project: Path) -> None:
    config = load_config(env={"RAG_DATA_DIR": "/somewhere"}, cwd=project)
    assert config.index_dir == Path("/somewhere/index")


def test_the_module_gives_the_index_and_vaults_folders_by_name(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("RAG_DATA_DIR", "/somewhere")
    monkeypatch.setenv("RAG_VAULTS_DIR", "/notes")
    assert Path("/somewhere/index") == config_module.QDRANT_PATH
    assert Path("/notes") == config_module.VAULTS_DIR
    with pytest.raises(AttributeError, match="NO_SUCH_NAME"):
        config_module.NO_SUCH_NAME  # noqa: B018


# -- the file that sets nothing --------------------------------------------------------


def test_values_shows_every_setting_with_its_value(project: Path) -> None:
    shown = values(load_config(env={"RAG_SEARCH__TOP_K": "3", "RAG_DATA_DIR": "d"}, cwd=project))
    assert set(shown) == set(settings())
    assert (shown["search.top_k"], shown["data_dir"]) == (3, str(project / "d"))


def test_the_default_file_changes_nothing(project: Path) -> None:
    before = load_config(env={}, cwd=project)
    write(project / "rag.toml", default_toml())
    after = load_config(env={}, cwd=project)
    assert after == before
    assert set(after.origins.values()) == {"default"}


def test_the_default_file_shows_every_setting_with_its_default(project: Path) -> None:
    (project / "vaults").mkdir()
    write(project / "rag.toml", "")
    defaults = values(load_config(env={}, cwd=project))
    uncommented = re.sub(r"(?m)^# (\w+ = )", r"\1", default_toml())
    shown = flatten(tomllib.loads(uncommented))
    assert list(shown) == list(settings())
    write(project / "rag.toml", uncommented)
    config = load_config(env={}, cwd=project)
    origins = {name: o for name, o in config.origins.items() if not name.endswith(".key_hosts")}
    assert set(origins.values()) == {str(project / "rag.toml")}
    assert values(config) == defaults


def test_the_default_file_says_in_a_line_what_each_setting_is() -> None:
    lines = default_toml().splitlines()
    for name, (_, _, text) in settings().items():
        at = next(i for i, line in enumerate(lines) if line == f"# {text}")
        assert lines[at + 1].startswith(f"# {name.rpartition('.')[2]} = ")


def test_the_repository_s_configuration_is_the_default_file() -> None:
    assert (REPO / "config/rag.toml").read_text("utf-8") == default_toml()


# -- Ollama ----------------------------------------------------------------------------


def test_one_address_serves_all_unless_others_are_named(project: Path) -> None:
    ollama = load_config(env={"RAG_OLLAMA__URL": "http://one:1"}, cwd=project).ollama
    assert (ollama.embedding_urls, ollama.local_url) == (["http://one:1"], "http://one:1")
    env = {
        "RAG_OLLAMA__URLS": "http://two:2, http://three:3, http://two:2",
        "RAG_OLLAMA__GENERATION_URL": "https://four",
    }
    ollama = load_config(env=env, cwd=project).ollama
    assert ollama.embedding_urls == ["http://two:2", "http://three:3"]
    assert (ollama.remote_url, ollama.local_url) == ("http://two:2", "https://four")


@pytest.mark.parametrize(
    "line",
    [
        "url = ''",
        "url = 'localhost:11434'",
        "url = 'http://me:secret@host'",
        "url = 'http://host:99999'",
        "url = 'http://host:0'",
        "url = 'http://[::1'",
        "url = 'http://ho st'",
        "urls = ['http://host', 'host']",
        "generation_url = 'ftp://host'",
        "multilingual = 'maybe'",
        "keep_alive = '10'",
        "keep_alive = 'for ever'",
        "max_context = 0",
        "batch_tokens = 0",
        "max_in_flight = 0",
        "retries = -1",
        "connect_timeout = 0",
        "read_timeout = inf",
        "request_timeout = nan",
        "query_timeout = -1",
    ],
)
def test_an_ollama_setting_that_cannot_be_meant_is_refused(project: Path, line: str) -> None:
    file = write(project / "rag.toml", f"[ollama]\n{line}")
    with pytest.raises(ConfigError, match=rf"ollama\.{line.split()[0]}"):
        load_config(file, {}, project)


@pytest.mark.parametrize("keep_alive", ["0", "30s", "1h30m", "-1m", "1.5h", "500ms"])
def test_durations_are_those_ollama_reads(project: Path, keep_alive: str) -> None:
    config = load_config(env={"RAG_OLLAMA__KEEP_ALIVE": keep_alive}, cwd=project)
    assert config.ollama.keep_alive == keep_alive


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:11434", "https://host/ollama/", "http://[::1]:1"]
)
def test_addresses_may_have_a_port_and_a_path(project: Path, url: str) -> None:
    assert load_config(env={"RAG_OLLAMA__URL": url}, cwd=project).ollama.url == url


# -- the Qdrant server -----------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "url = 'localhost:6333'",
        "url = 'http://user:password@host'",
        "url = 'http://one:1, localhost:6333'",
        "url = ['http://one:1', 'http://user:password@two']",
        "url = ['http://one:1', 2]",
        "url = ','",
        'url = "http://one:1,http://two:2\\u0085"',
        "api_key_env = 'sk-not-a-name'",
        "collection = ''",
        "collection = '../other'",
        "collection = 'メモ'",
        "timeout = 0",
        "timeout = inf",
        "shard_number = -1",
        "replication_factor = 0",
        "write_consistency_factor = 2",
        "write_consistency_factor = 0",
        "quantization = 'product'",
        "hnsw_m = -1",
        "hnsw_m = 1000",
    ],
)
def test_a_store_setting_that_cannot_be_meant_is_refused(project: Path, line: str) -> None:
    file = write(project / "rag.toml", f"[store]\n{line}")
    with pytest.raises(ConfigError, match=rf"store\.{line.split()[0]}"):
        load_config(file, {}, project)


def test_the_store_may_have_several_addresses(project: Path) -> None:
    both = ["http://one:1", "https://two:2/behind"]
    file = write(project / "rag.toml", f"[store]\nurl = {both}")
    assert load_config(file, {}, project).store.addresses == both
    given = load_config(env={"RAG_STORE__URL": "http://one:1, https://two:2/behind"}, cwd=project)
    assert given.store.addresses == both
    assert values(given)["store.url"] == "http://one:1, https://two:2/behind"
    assert load_config(env={}, cwd=project).store.addresses == []


@pytest.mark.parametrize("name", ["QDRANT_KEY", "RAG_KEY", ""])
def test_a_project_may_name_a_variable_that_holds_a_key_of_ours(project: Path, name: str) -> None:
    file = write(project / "rag.toml", f"[store]\napi_key_env = '{name}'")
    assert load_config(file, {}, project).store.api_key_env == name


def test_a_project_cannot_have_another_secret_sent_to_its_server(project: Path) -> None:
    lines = "[store]\napi_key_env = 'AWS_SECRET_ACCESS_KEY'"
    file = write(project / "rag.toml", lines)
    with pytest.raises(ConfigError, match=r"QDRANT or RAG .*project/rag\.toml") as caught:
        load_config(file, {}, project)
    assert "RAG_STORE__API_KEY_ENV" in caught.value.hint


def test_the_user_may_name_any_variable_for_the_key(project: Path) -> None:
    env = {"RAG_STORE__API_KEY_ENV": "MY_SECRET"}
    assert load_config(env=env, cwd=project).store.api_key_env == "MY_SECRET"
    write_user_file("[store]\napi_key_env = 'MY_OTHER'")
    assert load_config(env={}, cwd=project).store.api_key_env == "MY_OTHER"


def test_a_cluster_is_laid_out_by_the_project_and_named_by_the_environment(project: Path) -> None:
    file = write(
        project / "rag.toml",
        "[store]\nshard_number = 12\nreplication_factor = 2\nwrite_consistency_factor = 2\n"
        "on_disk = true\nquantization = 'binary'\n",
    )
    env = {"RAG_STORE__URL": "https://qdrant.example:6333"}
    store = load_config(file, env, project).store
    assert store == StoreConfig(
        url="https://qdrant.example:6333",
        shard_number=12,
        replication_factor=2,
        write_consistency_factor=2,
        on_disk=True,
        quantization="binary",
    )


def test_without_a_server_the_index_is_where_it_always_was(project: Path) -> None:
    config = load_config(env={}, cwd=project)
    assert config.index_dir == config.data_dir / "index"
