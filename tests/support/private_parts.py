"""What we use of libraries, and of Python, that they do not promise to keep.

Each line says what would have to be written anew where a release changes it.
`test_private_parts.py` looks whether each part is there, and takes what it took, and
whether anything else is used. What libraries import in vain is in `rag.daemon.unused_libraries`.
"""

from __future__ import annotations

from typing import NamedTuple


class PrivatePart(NamedTuple):
    """A part of a library.

    :param name: `module:name`, or a module.
    :param used_by: our module, below `src/rag`.
    :param why: what we would lack without it.
    :param parameters: what it takes, where it is called or stood in for.
    """

    name: str
    used_by: str
    why: str
    parameters: str = ""


_OLLAMA_CHAT = "haystack_integrations.components.generators.ollama.chat.chat_generator:"
_COMMANDS = "cli/framework/lazy_group.py"
_OPENAI_CHAT = "haystack.components.generators.chat.openai:"

PRIVATE_PARTS = (
    # Typer has its own copy of Click.
    PrivatePart("typer._click:Command", _COMMANDS, "the types of commands"),
    PrivatePart("typer._click:Context", _COMMANDS, "the same"),
    PrivatePart("typer._click.exceptions:ClickException", _COMMANDS, "wrong command lines as ours"),
    PrivatePart("typer._click.exceptions:NoArgsIsHelpError", _COMMANDS, "the same"),
    PrivatePart("typer._click.exceptions:NoSuchOption", _COMMANDS, "the same"),
    PrivatePart(
        "typer._coercion:build_runtime_param",
        _COMMANDS,
        "60 ms of imports less for each command: checks are made when they are needed",
        "descriptor",
    ),
    PrivatePart("typer.core:TyperOption._runtime_param", _COMMANDS, "the same"),
    PrivatePart(
        "watchfiles._rust_notify:RustNotify",
        "vault/file_events.py",
        "changes before the first wait: the generator that watchfiles shows begins there",
    ),
    # Haystack's chat generators, over our transport.
    PrivatePart(
        f"{_OPENAI_CHAT}_convert_chat_completion_chunk_to_streaming_chunk",
        "clients/openai/chat_generator.py",
        "pieces of an answer in Haystack's form",
        "chunk previous_chunks component_info",
    ),
    PrivatePart(
        "haystack.components.generators.utils:_convert_streaming_chunks_to_chat_message",
        "clients/openai/chat_generator.py",
        "an answer of such pieces",
        "chunks",
    ),
    PrivatePart(
        f"{_OPENAI_CHAT}OpenAIChatGenerator._handle_stream_response",
        "clients/openai/chat_generator.py",
        "the reasoning, and pieces as they come",
        "self chat_completion callback",
    ),
    PrivatePart(
        f"{_OLLAMA_CHAT}OllamaChatGenerator._chat",
        "clients/ollama/chat_generator.py",
        "options that Ollama's client does not take, such as `truncate`",
        "self messages tools is_stream generation_kwargs",
    ),
    PrivatePart(
        f"{_OLLAMA_CHAT}OllamaChatGenerator._client",
        "clients/ollama/chat_generator.py",
        "our client in the place of theirs",
    ),
    # Ollama's client: plain dictionaries, a deadline, no key that the environment holds.
    PrivatePart("ollama:Client._client", "clients/ollama/http_client.py", "no key, and to close"),
    PrivatePart(
        "ollama:Client._request_raw",
        "clients/ollama/http_client.py",
        "requests whose arguments theirs does not take",
        "self args kwargs",
    ),
    PrivatePart(
        "ollama:Client._request",
        "clients/ollama/http_client.py",
        "the same, streamed",
        "self cls args stream kwargs",
    ),
    # Python itself.
    PrivatePart("_signal", "daemon/client.py", "a client that starts in 20 ms"),
    PrivatePart("_socket", "daemon/client.py", "the same"),
    PrivatePart("_socket", "daemon/control.py", "the same"),
    PrivatePart("_socket", "daemon/endpoint.py", "the same"),
    PrivatePart("sys:_xoptions", "daemon/endpoint.py", "a Python with options runs cold"),
    PrivatePart("threading:_shutdown", "support/process_exit.py", "an end without destructors"),
    PrivatePart("atexit:_run_exitfuncs", "support/process_exit.py", "the same"),
)
