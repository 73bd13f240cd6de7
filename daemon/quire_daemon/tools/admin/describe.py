"""`describe`: the arguments and properties of each tool, so that a client without built-in knowledge can offer them.

The reply suits listings such as MCP's: a flat JSON Schema, a plain description and MCP's four annotations (hints).
Alternative argument names (`aliases`) are accepted but not listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from quire_daemon.config import Settings
from quire_daemon.core import (
    Decision,
    Schema,
    Tool,
    World,
    WriteArguments,
    described,
    flat,
    no_paths,
    one_shape,
    without,
)
from quire_daemon.core.replies import DescribeReply, RefusalReply
from quire_daemon.dialects import hashline_edit
from quire_daemon.manuals import ToolPage, meanings, page
from quire_daemon.tools.admin.manual import MOST_SHOWN
from quire_daemon.tools.admin.placeholders import filled
from quire_journal.model import CODES, Refusal, capitalised, counted, did_you_mean

MOST: Final = 1900
"""Maximum number of characters of a description."""

_PLAIN: Final = str.maketrans(
    {"—": "-", "–": "-", "→": "->", "…": "...", "≤": "<=", "≥": ">=", "×": "x", "“": '"', "”": '"', "‘": "'", "’": "'"}
)


def ascii_text(text: str) -> str:
    """Return the text in ASCII; characters without a similar one become question marks."""
    return text.translate(_PLAIN).encode("ascii", "replace").decode("ascii")


def summary(manual: str, changed: str, name: str, most: int = MOST) -> str:
    """Return the manual of the tool `name`, shortened to `most` characters. `changed` tells what happens if another
    writer changed the file; "" omits this.
    """
    heading, _, body = manual.partition("\n")
    lead, *sections = _sections(body)
    about = heading.partition(": ")[2]
    parts = [f"{capitalised(about)}."]
    tail = f"If another writer changed the file since you read it: {changed}." if changed else ""
    more = f'The tool manual with {{"dialect": "{name}"}} tells more.'
    left = most - sum(len(ascii_text(part)) + 2 for part in (parts[0], tail, more))
    whole = True
    for paragraph in [*_paragraphs(lead), *sections]:
        size = len(ascii_text(paragraph)) + 2
        if size <= left:
            parts.append(paragraph)
            left -= size
        else:
            whole = False
    parts += [part for part in (tail, "" if whole else more) if part]
    return ascii_text("\n\n".join(parts))


def _sections(body: str) -> list[str]:
    lead, *rest = body.split("\n## ")
    return [lead.strip(), *(f"## {section.strip()}" for section in rest)]


def _paragraphs(text: str) -> Sequence[str]:
    found: list[str] = []
    fenced = False
    for block in text.split("\n\n"):
        if fenced:
            found[-1] += f"\n\n{block}"
        else:
            found.append(block)
        fenced ^= sum(line.startswith("```") for line in block.splitlines()) % 2 == 1
    return [block.strip() for block in found if block.strip()]


def reply_schema(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's replies: of a success (`shape`) and of a refusal."""
    (success, refusal), definitions = msgspec.json.schema_components(
        [shape, RefusalReply], ref_template="#/$defs/{name}"
    )
    definitions[shape.__name__]["properties"]["ok"] = {"const": True}
    definitions["RefusalReply"]["properties"]["ok"] = {"const": False}
    definitions["RefusalReply"]["properties"]["error"] = {"enum": sorted(CODES)}
    return {"anyOf": [success, refusal], "$defs": dict(definitions)}


ANY_PATH: Final = ("apply_patch",)

_COMMON: Final = tuple(name for name in WriteArguments.__struct_fields__ if name != "path")


OFFERED: Final = (
    "read_file",
    "edit",
    "write_file",
    "delete_file",
    "log",
    "diff",
    "blame",
    "undo",
    "redo",
    "restore",
    "manual",
)
"""Tools offered to agents in addition to the edit tool of `TRAINED`. There are twelve, which every client can handle;
the setting `[mcp] tools` selects others.
"""

TRAINED: Final = {"claude-code": "text_editor", "codex": "apply_patch", "gemini": "edit_replace"}
"""Edit tool that the models of an agent use with the fewest mistakes, by agent."""

UNLISTED: Final = ("idempotency_key", "dry_run", "content_base64", "allow_uncaptured")
UNLISTED_OF: Final = {
    "apply_patch": ("safety_check",),
    "delete_file": ("safety_check", "on_stale"),
    "diff": ("context", "ignore_space", "agent_session", "turn", "probable"),
    "log": ("agent", "agent_session", "burst", "kind", "stat", "order"),
    "edit_replace": ("safety_check", "on_stale"),
    "redo": ("writer", "agent_session", "turn", "burst", "from", "to", "probable", "paths", "last", "conflicts"),
    "restore": ("paths",),
    "text_editor": ("safety_check", "on_stale"),
    "undo": ("agent_session", "lines", "paths"),
    "write_file": ("safety_check", "on_stale", "expected_file_version"),
}
"""Accepted arguments that are omitted from listings for agents, as models seldom need them."""

MOST_BRIEF: Final = 800


class DescribeParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    tool: str = ""  # only this tool
    offered: bool = False  # only tools offered to agents


def offered(settings: Settings, tools: Iterable[str], agent: str = "") -> tuple[str, ...]:
    """Return the names of the tools that clients offer to `agent`, in order."""
    match settings.mcp.tools:
        case "all":
            return tuple(name for name in tools if page(name).offerable)
        case "default":
            first, second, *rest = OFFERED
            trained = (TRAINED[agent],) if agent in TRAINED else ()
            return (first, second, *trained, *rest)
        case chosen:
            return tuple(dict.fromkeys(chosen))


def describe_tool(tools: Mapping[str, Tool[Any]]) -> Tool[DescribeParams]:
    def decide(params: DescribeParams, world: World) -> Decision:
        return Decision(answer(params, tools, world.settings, world.who.agent))

    return Tool("describe", DescribeParams, no_paths, decide, reply=DescribeReply)


def answer(
    params: DescribeParams, tools: Mapping[str, Tool[Any]], settings: Settings, agent: str = ""
) -> dict[str, Any]:
    """Return `tools` of `{name, title, description, writes, offered, annotations, schema, aliases}`; tools offered to
    `agent` are first, and have short descriptions if only these are requested. A single tool also has `reply`, the
    schema of its reply. Raises `Refusal` for an unknown tool.
    """
    if params.tool and params.tool not in tools:
        nearest = did_you_mean(params.tool, tools)
        message = f"There is no tool {params.tool[:MOST_SHOWN]!r}; there are {', '.join(tools)}.{nearest}"
        raise Refusal("not_found", message, "choose_tool", argument="tool")
    first = [name for name in offered(settings, tools, agent) if name in tools]
    rest = () if params.offered else (name for name in tools if name not in first)
    names = [params.tool] if params.tool else [*first, *rest]
    listed = [_described(tools[name], name in first, settings, params.offered) for name in names]
    if params.tool:
        listed[0]["reply"] = reply_schema(tools[params.tool].reply)
    if params.offered:
        listed = [tool for tool in listed if tool["offered"]]
    return {"ok": True, "message": f"{counted(len(listed), 'tool')}.", "tools": listed}


def _described(tool: Tool[Any], is_offered: bool, settings: Settings, brief: bool) -> dict[str, Any]:
    told = page(tool.name)
    changes = tool.writes or told.changes
    annotations = {
        "title": told.title,
        "readOnlyHint": not changes,
        "destructiveHint": changes and told.destructive,
        "idempotentHint": not changes or told.idempotent,
        "openWorldHint": False,
    }
    return {
        "name": tool.name,
        "title": told.title,
        "description": _description(tool.name, told, settings, brief),
        "writes": changes,
        "offered": is_offered,
        "annotations": annotations,
        "schema": _schema(tool, told, settings, brief),
        "aliases": list(told.aliases),
    }


def _description(name: str, told: ToolPage, settings: Settings, brief: bool) -> str:
    if not told.about:
        return ascii_text(told.text.strip())
    manual = filled(told.text, settings)
    return summary(manual, "", name, MOST_BRIEF) if brief else summary(manual, told.changed, name, MOST)


def _schema(tool: Tool[Any], told: ToolPage, settings: Settings, brief: bool) -> Schema:
    schema = flat(tool.params)
    if tool.name == hashline_edit.HASHLINE_EDIT.name:  # its edit kinds are distinguished by fields after decoding
        variants = hashline_edit.variants(settings.dialects.hashline_edit.allow_replace_text)
        schema["properties"]["edits"]["items"] = one_shape(variants)
    takes_path = issubclass(tool.params, WriteArguments) and tool.name not in ANY_PATH
    hidden = (*told.aliases, *(("path",) if tool.name in ANY_PATH else ()))
    hidden += (*UNLISTED, *UNLISTED_OF.get(tool.name, ())) if brief else ()
    schema = without(schema, hidden, ("path",) if takes_path else ())
    if brief:
        schema["properties"] = {name: _single(below) for name, below in schema["properties"].items()}
    return described({**schema, "properties": _own_first(schema["properties"])}, {**meanings(), **told.arguments})


def _single(schema: Schema) -> Schema:
    choices = schema.get("anyOf", ())
    one = [choice for choice in choices if choice.get("type") != "array"]
    return {**schema, "anyOf": one} if len(one) > 1 else {**schema, **one[0]} if one else schema


def _own_first(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    common = [name for name in _COMMON if name in properties]
    own = [name for name in properties if name not in common]
    own.sort(key=lambda name: name != "path")
    return {name: properties[name] for name in (*own, *common)}
