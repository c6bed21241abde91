"""The settings of servers of OpenAI's API, and who gets a key: no host that a project names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.config import load_config, trust_own, user_file, values
from rag.config.keys import KEYS, keys_in_use
from rag.exceptions import ConfigError
from settings_files import write

SECTIONS = ("embedding", "chat")
HOST = "models.example"
URL = f"https://{HOST}/v1"


def lines(section: str, *more: str, url: str = URL) -> str:
    own = ["provider = 'openai'", "model = 'm'", f"url = '{url}'"]
    return "\n".join([f"[{section}]", *own, *more]) + "\n"


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize(
    "line",
    [
        "url = 'localhost:8080'",
        "url = 'http://user:password@host/v1'",
        "url = 'http://host/v1?key=1'",
        "url = 'http://one:1, http://two:2'",
        "api_key = 'sk-proj-1234'",
        "api_key = 'gsk_0123456789abcdef'",
        "api_key = 'hf_AbCd'",
        "api_key = 'deadbeef'",
    ],
)
def test_what_cannot_be_meant_is_refused_and_a_key_never_repeated(
    project: Path, section: str, line: str
) -> None:
    name, _, value = line.partition(" = ")
    file = write(project / "rag.toml", f"[{section}]\n{line}")
    with pytest.raises(ConfigError, match=rf"{section}\.{name} must be") as caught:
        load_config(file, {}, project)
    if name == "api_key":
        assert value.strip("'") not in f"{caught.value} {caught.value.hint}"
        variable = f"RAG_{section.upper()}__API_KEY"
        with pytest.raises(ConfigError, match=variable) as caught:
            load_config(env={variable: value.strip("'")}, cwd=project.parent)
        assert value.strip("'") not in str(caught.value)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_project_that_is_not_trusted_sets_nothing_of_it(project: Path, section: str) -> None:
    write(project / "rag.toml", lines(section, "api_key = 'RAG_KEY'"))
    config = load_config(env={}, cwd=project)
    left_out = {f"{section}.{name}" for name in ("provider", "url", "model", "api_key")}
    assert left_out <= {*config.left_out}
    found = values(config)
    assert (found[f"{section}.url"], found[f"{section}.api_key"]) == ("", "")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_trusted_project_s_server_gets_no_key(
    project: Path, section: str, trust: Callable[[Path], None]
) -> None:
    write(user_file(), f"[{section}]\napi_key = 'MY_KEY'\n")
    write(project / "rag.toml", lines(section))
    trust(project)
    config = load_config(env={}, cwd=project)
    found = values(config)
    assert (found[f"{section}.url"], found[f"{section}.api_key"]) == (URL, "")
    told = config.left_out[f"{section}.api_key"]
    assert (told.value, HOST in told.reason) == ("MY_KEY", True)
    assert f"{section}.key_hosts" in told.hint


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("how", ["hosts", "url", "env hosts", "env url"])
def test_a_host_that_the_user_names_does(project: Path, section: str, how: str) -> None:
    own = {"hosts": f"key_hosts = ['{HOST}']\n", "url": f"url = 'https://{HOST}/other'\n"}
    env = {"env hosts": {f"RAG_{section.upper()}__KEY_HOSTS": f"other, {HOST}"}}
    env["env url"] = {f"RAG_{section.upper()}__URL": URL}
    write(user_file(), f"[{section}]\napi_key = 'MY_KEY'\n" + own.get(how, ""))
    file = write(project / "rag.toml", lines(section))
    config = load_config(file, env.get(how, {}), project)
    assert values(config)[f"{section}.api_key"] == "MY_KEY" and dict(config.left_out) == {}


def test_a_host_named_for_one_section_is_not_named_for_another(project: Path) -> None:
    write(user_file(), f"[chat]\nurl = '{URL}'\n[embedding]\napi_key = 'MY_KEY'\n")
    config = load_config(write(project / "rag.toml", lines("embedding")), {}, project)
    assert config.embedding.api_key == ""


@pytest.mark.parametrize("section", SECTIONS)
def test_a_project_names_no_hosts_and_no_secret_of_others(project: Path, section: str) -> None:
    file = write(project / "rag.toml", lines(section, f"key_hosts = ['{HOST}']"))
    config = load_config(file, {}, project)
    assert values(config)[f"{section}.key_hosts"] == []
    assert f"{section}.key_hosts" in config.left_out
    file = write(project / "rag.toml", f"[{section}]\napi_key = 'AWS_SECRET_ACCESS_KEY'\n")
    with pytest.raises(ConfigError, match="OPENAI or RAG") as caught:
        load_config(file, {}, project)
    assert f"RAG_{section.upper()}__API_KEY" in caught.value.hint


def test_what_is_said_of_a_key_names_its_hosts_and_no_key(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    write(user_file(), lines("chat", "api_key = 'MY_KEY'"))
    config = load_config(env={}, cwd=project)
    [use] = keys_in_use(config)
    assert (use.setting.section, use.variable, use.addresses) == ("chat", "MY_KEY", [URL])
    assert "sk-secret" not in json.dumps(values(config), default=str) + repr(config)


@pytest.mark.parametrize("provider", ["ollama", "none"])
def test_the_key_of_a_server_that_is_not_asked_is_not_in_use(
    project: Path, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    write(user_file(), lines("chat", "api_key = 'MY_KEY'"))
    config = load_config(env={"RAG_CHAT__PROVIDER": provider}, cwd=project)
    assert [*keys_in_use(config)] == []


def test_all_keys_have_the_same_three_settings() -> None:
    names = values(load_config(env={}))
    for key in KEYS:
        assert {key.variable, key.url, key.hosts} <= {*names}
        assert not key.is_ours("AWS_SECRET") and key.is_ours("RAG_KEY") and key.is_ours("")


def test_a_variable_of_a_key_is_no_unknown_setting(project: Path) -> None:
    from rag.config import unknown_in_environment

    write(user_file(), "[chat]\napi_key = 'RAG_MY_KEY'\n")
    config = load_config(env={}, cwd=project)
    assert unknown_in_environment(config, {"RAG_MY_KEY": "x"}) == {}


def test_a_file_of_the_program_s_own_is_trusted_for_what_it_wrote(project: Path) -> None:
    file = write(project / "rag.toml", lines("chat"))
    trust_own(file, ["chat.provider"])
    assert "chat.url" in load_config(env={}, cwd=project).left_out


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[embedding]\nprovider = 'openai'", r"embedding\.url must be an address .* is openai"),
        ("[chat]\nprovider = 'openai'", r"chat\.url must be an address .* is openai"),
        (lines("embedding").replace("'m'", "''"), r"embedding\.model must be the name of a model"),
    ],
)
def test_openai_without_a_server_or_a_model_is_refused(project: Path, toml: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load_config(write(project / "rag.toml", toml), {}, project)
