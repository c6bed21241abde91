"""The formats of what commands print: `--format`, with `--json` and `--paths` as short forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from rag.cli.framework.options import completing, value
from rag.cli.render.console import plural, print_file, say
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.search.results import SearchResult

# Those of `rag search`; `rag.cli.render.formats` writes what is neither for people, JSON nor files.
FORMATS = ("text", "table", "json", "jsonl", "csv", "md", "xml", "lines", "paths", "paths0")
NOTE_FORMATS = ("text", "json", "paths", "paths0")  # of other commands that name notes
_WITHOUT_TEXT = ("table", "lines", "paths", "paths0")
_WITHOUT_LINES = ("table", "paths", "paths0")

Format = Annotated[
    str,
    value(
        "--format",
        "|".join(FORMATS),
        "`lines` is file:line:text, as editors and fzf read it; `jsonl` an object a line;"
        " `paths0` the files with a NUL after each, for xargs -0.",
        completing(lambda: FORMATS),
    ),
]
NoteFormat = Annotated[
    str,
    value(
        "--format",
        "|".join(NOTE_FORMATS),
        "`paths0` is the files with a NUL after each, for xargs -0.",
        completing(lambda: NOTE_FORMATS),
    ),
]


@dataclass(frozen=True)
class Output:
    """What a command prints on stdout, and whether it says less on stderr."""

    format: str
    quiet: bool = False

    @property
    def as_json(self) -> bool:
        """Whether one JSON object is printed."""
        return self.format == "json"

    @property
    def names_files(self) -> bool:
        """Whether only files are printed."""
        return self.format in ("paths", "paths0")

    @property
    def is_data(self) -> bool:
        """Whether stdout is for programs."""
        return self.format not in ("text", "table")

    def printed(self, results: list[SearchResult]) -> list[SearchResult]:
        """Return the results that are printed: where files are named, those that are there."""
        if not (self.names_files or self.format == "lines"):
            return results
        there = [result for result in results if not result.gone]
        if len(there) < len(results) and not self.quiet:
            left = plural(len(results) - len(there), "note")
            say(f"left out {left}, gone since the last index (`rag index`)")
        return there

    def print_files(self, state: IndexState, results: list[SearchResult]) -> None:
        """Print the file of each note."""
        for file in dict.fromkeys(map(state.file, results)):
            print_file(file, nul=self.format == "paths0")


def chosen_output(
    name: str, *, json: bool, paths: bool, quiet: bool = False, among: tuple[str, ...] = FORMATS
) -> Output:
    """Return what is printed.

    :param name: the format of `--format`.
    :param json: whether `--json` was given: it goes before `--paths`, for a script that adds it.
    :raises UsageError: for a format that does not exist, or two that differ.
    """
    if name not in among:
        raise UsageError(f"no format {name!r}", hint=f"Use --format {', '.join(among)}.")
    for given, short in ((json, "json"), (paths, "paths")):
        if given and name not in ("text", "json", short):
            raise UsageError(f"--{short} is not --format {name}", hint="Leave one of the two out.")
    return Output("json" if json or name == "json" else "paths" if paths else name, quiet)


def check_body(output: Output, full: bool, context: int | None) -> None:
    """Refuse options that ask for more text than is printed.

    :raises UsageError: for both at once, or a format that has no room for them.
    """
    if full and context is not None:
        raise UsageError("--full and --context exclude each other", hint="Leave one out.")
    refused = _WITHOUT_TEXT if full else _WITHOUT_LINES if context is not None else ()
    if output.format in refused:
        option = "--full" if full else "--context"
        raise UsageError(
            f"{option} does not go with --format {output.format}", hint=f"Leave {option} out."
        )
