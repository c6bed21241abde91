"""The settings of a command: what a project's file may not set is said, or asked about."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from rag.cli.framework.lazy_group import option_value
from rag.cli.render.console import say
from rag.config import RAGConfig, keys_in_use, load_config, unknown_in_environment
from rag.config.servers import KEYS, KeyInUse, hosts_in, read_key
from rag.exceptions import ConfigError

_MOST_NAMES = 6  # in one line


def load_settings(config_file: Path | None, *, may_ask: bool = True) -> RAGConfig:
    """Read the settings in force for a command, and say on stderr which do not count.

    At a terminal the user is asked whether to trust a project's file that asks for it.

    :param may_ask: whether the command does something for which an answer is needed.
    :raises ConfigError: see `rag.config.load_config`.
    """
    config = load_config(config_file)
    if may_ask and config.left_out and _can_ask() and _ask(config):
        config = load_config(config_file)
    say_left_out(config)
    if not option_value("quiet"):
        say_unknown_variables(config)
    say_key(config)
    return config


def say_left_out(config: RAGConfig) -> None:
    """Say which settings do not count, and what makes them count."""
    of_keys = {key.variable for key in KEYS}
    by_reason: dict[tuple[str, str], list[str]] = {}
    for name, one in config.left_out.items():
        if name not in of_keys or os.environ.get(one.value):  # else there is no key
            by_reason.setdefault((one.reason, one.hint), []).append(name)
    for (reason, hint), names in by_reason.items():
        more = len(names) - _MOST_NAMES
        listed = ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        say(f"{reason}: left out {listed}. {hint}")


def say_unknown_variables(config: RAGConfig) -> None:
    """Say which variables look like settings and set nothing."""
    unknown = unknown_in_environment(config, os.environ)
    for name, nearest in [*unknown.items()][:_MOST_NAMES]:
        say(f"{name} in the environment sets nothing; did you mean {nearest}?")
    if len(unknown) > _MOST_NAMES:
        say(f"and {len(unknown) - _MOST_NAMES} more: `rag doctor`")


def say_key(config: RAGConfig) -> None:
    """Say of each host, the first time, that it gets an API key."""
    for use in keys_in_use(config):
        with suppress(ConfigError):  # a key that is not sent, a list that cannot be written
            _say_key(use, config.origins[use.setting.url])


def _say_key(use: KeyInUse, origin: str) -> None:
    from rag.config.trust import TrustList, remember_told

    urls, section, told = ",".join(use.addresses), use.setting.section, TrustList.load().told
    # A host that serves several sections may get several keys.
    names = {host: host if section == "store" else f"{host} ({section})" for host in hosts_in(urls)}
    new = sorted(host for host, name in names.items() if told.get(name) != use.variable)
    if not new:
        return
    read_key(use.variable, use.addresses, use.setting.url)
    for host in new:
        say(f"{host} gets the API key in {use.variable} ({urls}, from {origin})")
        remember_told(names[host], use.variable)


def _can_ask() -> bool:
    """Return whether somebody at a terminal sees a question and can answer it."""
    if any(map(option_value, ("quiet", "json", "paths"))):
        return False
    if option_value("output_format") not in (None, "text", "table"):
        return False
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if not all(stream is not None and stream.isatty() for stream in streams):
        return False
    from rag.daemon.client import is_in_background

    return not is_in_background()


def _ask(config: RAGConfig) -> bool:
    """Ask whether the project's file is trusted, once for what it is now; keep the answer."""
    project = config.project
    if project is None or project.answer is not None:
        return False
    from rag.config.trust import record, visible

    say(f"{visible(str(project.file))} asks for what a file needs your trust for:")
    for ask in project.asks:
        say(f"  {ask.name} = {ask.value}")
    sys.stderr.write("Do you trust it, as it is now? [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):  # Ctrl-D is no answer
        say("")
        return False
    trusted = answer.strip().lower() in ("y", "yes", "はい")
    record(project.file, project.digest, trusted)
    return trusted
