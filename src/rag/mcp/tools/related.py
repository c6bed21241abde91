"""The tool `related`: notes related to a note, or those that links lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag.app.requests import LinksRequest, RelatedRequest
from rag.app.schema.related import links_to_json, related_to_json
from rag.mcp.arguments import ArgumentError
from rag.mcp.calls import Call
from rag.mcp.library import Library
from rag.mcp.remedies import worded
from rag.mcp.results import ToolResult, as_data, blocks_that_fit, clean, clean_line, uri_of
from rag.mcp.uris import name_of
from rag.text.messages import brief, plural

if TYPE_CHECKING:
    from rag.app.related import RelatedReport
    from rag.app.related.walk import LinksReport

_LIMIT = 10
_PASSAGE = 300  # characters


def run(library: Library, arguments: dict[str, Any], call: Call) -> ToolResult:
    """Return the notes related to a note; with `links`, those that its links lead to.

    :raises ArgumentError: for a name that is none, and for a depth without links.
    :raises RAGError: as `Workspace.related` and `Workspace.links`.
    """
    name, direction = name_of(arguments["note"]), arguments.get("links")
    if direction is None and "depth" in arguments:
        raise ArgumentError("depth goes with links")
    others = [one for one in ("include_linked", "all_vaults", "min_score") if one in arguments]
    if direction is not None and others:
        raise ArgumentError(f"{others[0]} does not go with links")
    with library.reader() as workspace:
        call.check()
        if direction is not None:
            depth = arguments.get("depth", 1)
            walk = LinksRequest(name, direction, depth, arguments.get("limit"))
            return _linked(workspace.links(walk))
        request = RelatedRequest(
            name,
            limit=arguments.get("limit", _LIMIT),
            include_linked=arguments.get("include_linked", False),
            min_score=arguments.get("min_score"),
            all_vaults=arguments.get("all_vaults", False),
        )
        return _related(workspace.related(request))


def _related(report: RelatedReport) -> ToolResult:
    structured = related_to_json(report)
    for found in structured["results"]:
        found["title"] = clean_line(found["title"])
        found["uri"] = uri_of(found["vault"], found["path"])
        for passage in found["passages"]:
            passage["text"] = brief(clean(passage["text"]), _PASSAGE)
    title = clean_line(report.note.row.title)
    left_out = ""
    if report.left_out:
        left_out = f"{plural(report.left_out, 'note')} that it is linked with left out"
    blocks = blocks_that_fit(_block(found) for found in structured["results"])
    structured["results"] = structured["results"][: len(blocks)]
    if not blocks:
        text = f"No note is clearly related to {title!r}."
    else:
        text = f"Related to {title!r}, by {report.by}, best first.\n{as_data(chr(10).join(blocks))}"
    notes = [worded(notice) for notice in report.notices] + [left_out]
    return ToolResult("\n".join([text, *(f"Note: {one}" for one in notes if one)]), structured)


def _block(found: dict[str, Any]) -> str:
    """Return a related note as text: title, place, why, passages."""
    why = found["reasons"]
    parts = [f"words {', '.join(why['words'])}" if why["words"] else ""]
    parts += [f"meaning {why['likeness']:.2f}" if why["likeness"] else ""]
    parts += [
        f"tags {' '.join(f'#{clean_line(tag)}' for tag in why['tags'])}" if why["tags"] else ""
    ]
    parts += [f"names {', '.join(why['names'])}" if why["names"] else ""]
    if linking := len(why["linked_by"]):
        parts.append(f"{plural(linking, 'note')} {'links' if linking == 1 else 'link'} to both")
    lines = [
        f"{found['rank']}. {found['title']}  ({found['score']:.2f})",
        f"   {clean_line(found['vault'] + '/' + found['path'])}  {clean_line(found['link'])}",
        f"   {clean_line(' · '.join(filter(None, parts)))}",
    ]
    return "\n".join([*lines, *(f"   {one['line']}: {one['text']}" for one in found["passages"])])


def _linked(report: LinksReport) -> ToolResult:
    title = clean_line(report.note.row.title)
    links = links_to_json(report)["links"]
    blocks = blocks_that_fit(_link_block(link) for link in links)
    if not blocks:
        return ToolResult(f"{title!r} has no such links.", {"results": [], "links": []})
    text = f"Links of {title!r}, the nearest first.\n{as_data(chr(10).join(blocks))}"
    if len(blocks) < report.total:
        text += f"\n{report.total - len(blocks)} more are left out."
    return ToolResult(text, {"results": [], "links": links[: len(blocks)]})


def _link_block(link: dict[str, Any]) -> str:
    """Return a link as text: from where, and to what."""
    source = f"{link['from']['vault']}/{link['from']['path']}:{link['line']}"
    ends = ", ".join(f"{one['vault']}/{one['path']}" for one in link["to"])
    state = "" if link["state"] == "ok" else f" ({link['state']})"
    return clean_line(
        f"{link['depth']}. {link['direction']}: {source} → {ends or link['target']}{state}"
    )
