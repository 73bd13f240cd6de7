"""`describe`: what each tool takes and what it may do; with it a client that knows no tool can offer them.

The reply is made for listings such as MCP's: a flat JSON Schema of the arguments, a description in plain words, the
four annotations, and whether agents are offered the tool at all. Other names that a tool takes its arguments under
(`aliases`) are accepted and not shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

import msgspec

from quire_daemon.config import Offerable, Settings
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
from quire_daemon.dialects import hashline_edit
from quire_daemon.dialects.manuals import CHANGED, MOST, ascii_text, filled, notes, summary
from quire_daemon.tools.admin.manual import MANUALS, MOST_SHOWN
from quire_journal.model import Refusal, counted, did_you_mean

ANY_PATH: Final = ("apply_patch",)
"""Tools of the writing kind that name their files elsewhere: `path` means nothing there."""

_COMMON: Final = tuple(name for name in WriteArguments.__struct_fields__ if name != "path")


class Nature(msgspec.Struct, frozen=True):
    """What a listing says of a tool beside its arguments."""

    title: str
    about: str = ""  # where there is no manual
    destructive: bool = True  # it may change or remove what is there; of a reading tool it does not matter
    idempotent: bool = False  # the same call a second time changes nothing more
    aliases: tuple[str, ...] = ()  # arguments that another one means, too
    changes: bool = False  # it changes something, though no file of the workspace


NATURES: Final[dict[str, Nature]] = {
    "read_file": Nature("Read a file", aliases=("startLine", "endLine")),
    "write_file": Nature("Write a whole file", idempotent=True),
    "edit": Nature("Edit lines named by anchors", aliases=("file_path", "expected_file_version")),
    "hashline_edit": Nature("Edit lines named by LINE#ID"),
    "edit_file": Nature("Replace texts of a stated version", idempotent=True),
    "edit_replace": Nature("Replace exact text", aliases=("file",)),
    "insert_lines": Nature("Insert lines", aliases=("file",)),
    "replace_lines": Nature("Replace lines by number", aliases=("file",)),
    "multi_edit": Nature("Replace several exact texts", aliases=("file",)),
    "text_editor": Nature("View and edit a file"),
    "regex_replace": Nature("Replace what a pattern matches", aliases=("file",)),
    "apply_patch": Nature("Apply a patch"),
    "delete_file": Nature("Remove a file", idempotent=True),
    "move_file": Nature("Rename a file", idempotent=True),
    "log": Nature(
        "History",
        "List who changed what and when, newest first, a page of records. stories: true tells it as people look at it: "
        "each turn of an agent with its prompt, calls and files, each git operation, saves and bursts. next is the "
        "cursor of the next page; a page may be short, or empty, before the end.",
    ),
    "stories": Nature(
        "What happened",
        "Tell what happened, newest first, as people look at it: turns of agents with their prompts, calls and files, "
        "git operations, saves and bursts of files, one story each. Filters: path, writer, agent_session, turn, since, "
        "until, agents (only theirs). all: true lists every call and more files. next is the cursor of the next page.",
    ),
    "since": Nature(
        "What happened since",
        "List what was recorded after a cursor, by anybody: your own tools, other agents, people, programs. Without "
        "a cursor the reply gives the cursor of now; keep it and ask again later. wait_ms waits for something.",
    ),
    "show": Nature("Show a version", "Show the text of a version, or of path at a point of its history."),
    "diff": Nature(
        "Compare two points",
        "Show what changed between two points of history, as hunks: two versions of one file, or the files in path "
        "and paths between from and to (left out: now).",
    ),
    "blame": Nature(
        "Who wrote each line",
        "Tell for each line of a file which record or commit, writer and turn wrote it, and what brought it back.",
    ),
    "why": Nature(
        "Why it is so",
        "Tell who made a file, or one line of it, what it is: when, in which turn and call, by which operation, in "
        "place of what, and what else the same call changed.",
    ),
    "tree": Nature("List a tree", "List the files, links and empty folders that there were at a point, by pages."),
    "blobs": Nature("Bytes of versions", "Give the bytes with these addresses, in base64, for copies of a tree."),
    "undo": Nature(
        "Undo",
        "Undo what somebody did and keep what others did since. Without arguments your own last batch. plan: true says "
        "what would be done and what stands in the way, and gives a token; a call with that token does exactly that. "
        "redo takes an undo back.",
    ),
    "redo": Nature("Redo", "Bring back what was undone: without arguments, your own last undo is taken back."),
    "rollback": Nature("Go back to a checkpoint", "Undo what you did after a point, and keep what others did."),
    "restore": Nature(
        "Restore files",
        "Bring files back as they were at a point: path or paths, and at. What is there now stays in the journal.",
        idempotent=True,
    ),
    "checkpoint": Nature(
        "Checkpoint",
        "Name this moment, to compare with it or to come back to it: action create with a name. list, show, diff and "
        "drop look at the names and give them up. It costs next to nothing.",
        destructive=False,
    ),
    "claim": Nature(
        "Claim ground",
        "Say that you work on a file, folder, glob or lines. intent tells the others; exclusive also refuses what "
        "they write there. It ends by itself after ttl_s. dry_run only asks whether others are in the way.",
        destructive=False,
        idempotent=True,
    ),
    "release": Nature(
        "Give leases up",
        "Give up what you claimed: one of lease (its number), path, or all: true.",
        destructive=False,
        idempotent=True,
    ),
    "claims": Nature("Who works where", "List the leases that are in force: who works on what, until when, and why."),
    "who": Nature("Who is there", "List the agents and people that have called, and the files that they work on."),
    "status": Nature("Status", "Tell how the daemon and the journal are, and whether anything escapes the journal."),
    "burst": Nature("Burst", "Say which changes belong together, from begin to end.", destructive=False),
    "native": Nature(
        "A tool of the agent's own",
        "For agents' hooks: an own tool of the agent is about to write, or has written.",
        destructive=False,
    ),
    "op_status": Nature("What became of a call", "Tell whether an operation was applied, by its id (op)."),
    "manual": Nature("Manual", "The whole guidance for one tool: how to use it, and what its refusals mean."),
    "describe": Nature("Describe tools", "Tell what each tool takes and what it may do."),
    "verify": Nature("Check the journal", "Check the journal: its pages, its chain, every blob, every view."),
    "doctor": Nature("Check the daemon", "Tell which protections are active, and whether all is well."),
    "export": Nature(
        "Export the history",
        "Hand the history over in a format, by pages: the first call names the format, each further one the export "
        "and the page that the reply before it named.",
    ),
    "gc": Nature(
        "Drop bytes of the past",
        "Drop bytes of old versions that no rule of the settings keeps. dry_run: true says which, and why.",
        changes=True,
    ),
    "purge": Nature(
        "Remove a secret",
        "Remove bytes from everywhere that Quire controls: those of a path, of a blob, or what matches an expression. "
        "They do not come back. plan: true says what would go.",
        changes=True,
    ),
    "repair": Nature(
        "Put the journal right",
        "Tell what would be done about a damaged journal; execute: true does it, for which the daemon ends.",
        changes=True,
        idempotent=True,
    ),
    "shutdown": Nature(
        "End the daemon", "End the daemon; the next call starts another.", changes=True, idempotent=True
    ),
}
"""What listings say of each tool. A tool that has no line here is told of by its name only, and not offered."""

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
"""What agents are offered by default, beside the protocol that they know: reading, writing, undo and history.

Twelve are few enough for every client. What else there is, `[mcp] tools` offers.
"""

TRAINED: Final = {"claude-code": "text_editor", "codex": "apply_patch", "gemini": "edit_replace"}
"""Agent → the edit protocol that its models were trained on, which they use with the fewest mistakes. The tool of
Anthropic's own interface; the patches of Codex; the one replacement of Gemini CLI. Agents for any model have none."""

UNLISTED: Final = ("idempotency_key", "dry_run", "content_base64", "allow_uncaptured")
UNLISTED_OF: Final = {
    "apply_patch": ("safety_check",),
    "delete_file": ("safety_check", "on_stale"),
    "diff": ("context", "ignore_space", "agent_session", "turn"),
    "log": ("agent", "agent_session", "burst", "kind", "stat", "order"),
    "edit_replace": ("safety_check", "on_stale"),
    "redo": ("writer", "agent_session", "turn", "burst", "from", "to", "probable", "paths", "last", "conflicts"),
    "restore": ("paths",),
    "text_editor": ("safety_check", "on_stale"),
    "undo": ("agent_session", "paths"),
    "write_file": ("safety_check", "on_stale", "expected_file_version"),
}
"""Arguments that a listing for agents leaves out: they are taken, and seldom of use to a model."""

MOST_BRIEF: Final = 800
"""Characters of a description in a listing for agents. What a change by others means, the server says once for all."""


class DescribeParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `describe`."""

    tool: str = ""  # only this one
    offered: bool = False  # only those that agents are offered


def offered(settings: Settings, agent: str = "") -> tuple[str, ...]:
    """The names of the tools that an agent is offered, in order."""
    match settings.mcp.tools:
        case "all":
            return get_args(Offerable)
        case "default":
            first, second, *rest = OFFERED
            trained = (TRAINED[agent],) if agent in TRAINED else ()
            return (first, second, *trained, *rest)
        case chosen:
            return tuple(dict.fromkeys(chosen))


def describe_tool(tools: Mapping[str, Tool[Any]]) -> Tool[DescribeParams]:
    """The tool that describes `tools`, and itself when it is put among them. Services are called as tools are."""

    def decide(params: DescribeParams, world: World) -> Decision:
        return Decision(answer(params, tools, world.settings, world.who.agent))

    return Tool("describe", DescribeParams, no_paths, decide)


def answer(
    params: DescribeParams, tools: Mapping[str, Tool[Any]], settings: Settings, agent: str = ""
) -> dict[str, Any]:
    """The reply: `tools` of `{name, title, description, writes, offered, annotations, schema, aliases}`.

    One that is asked for alone also has `reply`, the schema of what it answers (`replies`).
    Those that the `agent` is offered come first, in their order; where only these are wanted they are told of in few
    words. Raises `Refusal` for a tool that there is not.
    """
    if params.tool and params.tool not in tools:
        nearest = did_you_mean(params.tool, tools)
        message = f"There is no tool {params.tool[:MOST_SHOWN]!r}; there are {', '.join(tools)}.{nearest}"
        raise Refusal("not_found", message, "choose_tool", argument="tool")
    first = [name for name in offered(settings, agent) if name in tools]
    rest = () if params.offered else (name for name in tools if name not in first)
    names = [params.tool] if params.tool else [*first, *rest]
    listed = [_described(tools[name], name in first, settings, params.offered) for name in names]
    if params.tool:
        from quire_daemon.core.replies import reply_schema  # many shapes, which nothing else in the daemon needs

        listed[0]["reply"] = reply_schema(params.tool)
    if params.offered:
        listed = [tool for tool in listed if tool["offered"]]
    return {"ok": True, "message": f"{counted(len(listed), 'tool')}.", "tools": listed}


def _described(tool: Tool[Any], is_offered: bool, settings: Settings, brief: bool) -> dict[str, Any]:
    nature = NATURES.get(tool.name, Nature(tool.name))
    changes = tool.writes or nature.changes
    annotations = {
        "title": nature.title,
        "readOnlyHint": not changes,
        "destructiveHint": changes and nature.destructive,
        "idempotentHint": not changes or nature.idempotent,
        "openWorldHint": False,
    }
    return {
        "name": tool.name,
        "title": nature.title,
        "description": _description(tool.name, nature, settings, brief),
        "writes": changes,
        "offered": is_offered,
        "annotations": annotations,
        "schema": _schema(tool, nature, settings, brief),
        "aliases": list(nature.aliases),
    }


def _description(name: str, nature: Nature, settings: Settings, brief: bool) -> str:
    if name in MANUALS:
        manual = filled(MANUALS[name], settings)
        return summary(manual, "", name, MOST_BRIEF) if brief else summary(manual, CHANGED.get(name, ""), name, MOST)
    return ascii_text(nature.about)


def _schema(tool: Tool[Any], nature: Nature, settings: Settings, brief: bool) -> Schema:
    schema = flat(tool.params)
    if tool.name == hashline_edit.HASHLINE_EDIT.name:  # its edits are told apart by their fields, after decoding
        variants = hashline_edit.variants(settings.dialects.hashline_edit.allow_replace_text)
        schema["properties"]["edits"]["items"] = one_shape(variants)
    takes_path = issubclass(tool.params, WriteArguments) and tool.name not in ANY_PATH
    hidden = (*nature.aliases, *(("path",) if tool.name in ANY_PATH else ()))
    hidden += (*UNLISTED, *UNLISTED_OF.get(tool.name, ())) if brief else ()
    schema = without(schema, hidden, ("path",) if takes_path else ())
    return described({**schema, "properties": _own_first(schema["properties"])}, notes(tool.name))


def _own_first(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    """`path`, what only this tool takes, and then what all writing tools take."""
    common = [name for name in _COMMON if name in properties]
    own = [name for name in properties if name not in common]
    own.sort(key=lambda name: name != "path")
    return {name: properties[name] for name in (*own, *common)}
