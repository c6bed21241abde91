"""Who gets an API key, of Qdrant or of a server of OpenAI's API: no host that a project names."""

import json
from operator import attrgetter

import pytest

from disk_files import write
from rag.app.settings import settings_report
from rag.config import keys_in_use, load_config, user_file
from rag.config.servers import KEYS, KeySetting
from rag.exceptions import ConfigError
from tables import rows

HOST = "models.example"
URL = f"https://{HOST}/v1"

each_key = pytest.mark.parametrize("key", KEYS, ids=[key.section for key in KEYS])


def section_of(key: KeySetting, **settings: str | list[str]) -> str:
    """Return the TOML of the section of a key; `api_key` is the name of its variable."""
    names = {"api_key": key.variable.rpartition(".")[2]}
    lines = [f"{names.get(name, name)} = {json.dumps(v)}" for name, v in settings.items()]
    return "\n".join([f"[{key.section}]", *lines]) + "\n"


def variable(setting: str) -> str:
    return "RAG_" + setting.upper().replace(".", "__")


@pytest.mark.parametrize("section", ["embedding", "chat"])
def test_what_cannot_be_meant_is_refused_and_a_key_never_repeated(project, section, subtests):
    for name, value in (
        *(("url", "localhost:8080"), ("url", "http://user:password@host/v1")),
        *(("url", "http://host/v1?key=1"), ("url", "http://one:1, http://two:2")),
        *(("api_key", "sk-proj-1234"), ("api_key", "gsk_0123456789abcdef")),
        *(("api_key", "hf_AbCd"), ("api_key", "deadbeef")),
    ):
        with subtests.test(value):
            file = write(project / "rag.toml", f"[{section}]\n{name} = '{value}'")
            with pytest.raises(ConfigError, match=rf"{section}\.{name} must be") as in_file:
                load_config(file, {}, project)
            set_by = variable(f"{section}.{name}")
            with pytest.raises(ConfigError, match=set_by) as in_environment:
                load_config(env={set_by: value}, cwd=project.parent)
            if name == "api_key":
                for caught in (in_file, in_environment):
                    assert value not in f"{caught.value} {caught.value.hint}"


def test_openai_without_a_server_or_a_model_is_refused(project):
    for toml, says in (
        ("[embedding]\nprovider = 'openai'", r"embedding\.url must be an address .* openai"),
        ("[chat]\nprovider = 'openai'", r"chat\.url must be an address .* openai"),
        (
            f"[embedding]\nprovider = 'openai'\nurl = '{URL}'",
            r"\.model must be the name of a model",
        ),
    ):
        with pytest.raises(ConfigError, match=says):
            load_config(write(project / "rag.toml", toml), {}, project)


@each_key
def test_a_trusted_project_s_server_gets_no_key(project, key, trust):
    write(user_file(), section_of(key, api_key="MY_KEY"))
    file = write(project / "rag.toml", section_of(key, url=URL))
    trust(project)
    for config in (load_config(env={}, cwd=project), load_config(file, {}, project)):
        assert attrgetter(key.url, key.variable)(config) == (URL, "")
        told = config.left_out[key.variable]
        assert (told.value, HOST in told.reason, key.hosts in told.hint) == ("MY_KEY", True, True)


@each_key
@pytest.mark.parametrize("how", ["hosts", "url", "env hosts", "env url"])
def test_a_host_that_the_user_names_does(project, key, how):
    own: dict[str, dict[str, str | list[str]]] = {
        "hosts": {"key_hosts": [HOST.title()]},
        "url": {"url": f"https://{HOST}/other"},
    }
    env = {
        "env hosts": {variable(key.hosts): f"other, {HOST}"},
        "env url": {variable(key.url): URL},
    }
    write(user_file(), section_of(key, api_key="MY_KEY", **own.get(how, {})))
    file = write(project / "rag.toml", section_of(key, url=URL))
    config = load_config(file, env.get(how, {}), project)
    assert attrgetter(key.variable)(config) == "MY_KEY" and dict(config.left_out) == {}


@each_key
def test_a_project_names_no_hosts_for_keys(project, key):
    file = write(project / "rag.toml", section_of(key, key_hosts=[HOST]))
    config = load_config(file, {}, project)
    assert attrgetter(key.hosts)(config) == []
    assert variable(key.hosts) in config.left_out[key.hosts].hint


@each_key
def test_a_project_has_no_secret_of_its_choice_sent_to_its_server(project, key):
    file = write(project / "rag.toml", section_of(key, url=URL, api_key="AWS_SECRET_ACCESS_KEY"))
    assert attrgetter(key.variable)(load_config(file, {}, project)) == ""


@rows(
    "line",
    "url = ['https://qdrant.example:6333', 'https://evil.example']",
    "url = 'https://qdrant.example:6333,https://evil.example'",
    "url = ' https://EVIL.example , https://qdrant.example:6333'",
)
def test_one_host_among_several_that_the_user_does_not_name_is_enough_for_no_key(project, line):
    write(user_file(), "[store]\nurl = 'https://qdrant.example:6333'\n")
    config = load_config(write(project / "rag.toml", f"[store]\n{line}\n"), {}, project)
    assert config.store.api_key_env == ""
    told = config.left_out["store.api_key_env"]
    assert "evil.example" in told.reason and '["evil.example"]' in told.hint
    assert "qdrant.example" not in told.reason


def test_a_key_is_known_by_its_variable(project, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    write(user_file(), f"[chat]\nurl = '{URL}'\napi_key = 'MY_KEY'\n")
    config = load_config(env={}, cwd=project)
    assert [*keys_in_use(config)] == ["MY_KEY"]
    shown = settings_report(config).settings
    assert "sk-secret" not in f"{shown} {config}"
    for provider in ("ollama", "none"):  # which is asked in the server's place
        config = load_config(env={"RAG_CHAT__PROVIDER": provider}, cwd=project)
        assert [*keys_in_use(config)] == []


def test_a_host_named_for_one_section_is_not_named_for_another(project):
    write(user_file(), f"[chat]\nurl = '{URL}'\n[embedding]\napi_key = 'MY_KEY'\n")
    file = write(project / "rag.toml", f"[embedding]\nurl = '{URL}'\n")
    assert load_config(file, {}, project).embedding.api_key == ""
