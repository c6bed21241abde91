"""What we use of libraries, and of Python, that they do not promise to keep.

Each line says what would have to be written anew where a release changes it.
`test_private_parts.py` looks whether each part is there, and takes what it took, and
whether anything else is used. What libraries import in vain is in `rag.app.unused_libraries`.
"""

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


_COMMANDS = "cli/framework/lazy_group.py"

PRIVATE_PARTS = (
    # Typer has its own copy of Click.
    PrivatePart("typer._click:Command", _COMMANDS, "the types of commands"),
    PrivatePart("typer._click:Context", _COMMANDS, "the same"),
    PrivatePart("typer._click.exceptions:ClickException", _COMMANDS, "wrong command lines as ours"),
    PrivatePart("typer._click.exceptions:NoArgsIsHelpError", _COMMANDS, "the same"),
    PrivatePart("typer._click.exceptions:NoSuchOption", _COMMANDS, "the same"),
    PrivatePart("typer._click.formatting:HelpFormatter", _COMMANDS, "help that fits a terminal"),
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
    # Python itself.
    PrivatePart("_signal", "daemon/client.py", "a client that starts in 20 ms"),
    PrivatePart("_socket", "daemon/client.py", "the same"),
    PrivatePart("_socket", "daemon/control.py", "the same"),
    PrivatePart("_socket", "daemon/endpoint.py", "the same"),
    PrivatePart("sys:_xoptions", "daemon/endpoint.py", "a Python with options runs cold"),
    PrivatePart("threading:_shutdown", "support/process_exit.py", "an end without destructors"),
    PrivatePart("atexit:_run_exitfuncs", "support/process_exit.py", "the same"),
)
