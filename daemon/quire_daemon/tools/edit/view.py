"""View a path as text editor tools do: a file's numbered lines, or the entries of a folder."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.core import Decision, FileNow, Tool, World
from quire_daemon.tools import ReadParams, read
from quire_journal.model import Refusal, counted


def decide(params: ReadParams, world: World) -> Decision:
    """Return the lines of a file, as `read_file` does, or the paths in a folder, with "/" after folders. Raises
    `Refusal`.
    """
    now = world.files[params.path]
    return _folder(params, now) if now.kind == "folder" else read.decide(params, world)


def _folder(params: ReadParams, now: FileNow) -> Decision:
    if params.start_line is not None:
        message = f"view_range: {now.path} is a folder, which has no lines; view it without a range."
        raise Refusal("schema_invalid", message, argument="view_range")
    reply: dict[str, Any] = {
        "ok": True,
        "message": _sentence(now),
        "path": now.path,
        "lines": list(now.inside),
        "truncated": now.inside_cut,
    }
    return Decision(reply)


def _sentence(now: FileNow) -> str:
    many = counted(len(now.inside), "name")
    if now.inside_cut:
        return f"{now.path} is a folder: {many} in it, and there are more; view the folders in it one by one."
    return f"{now.path} is a folder: {many}, two levels deep, without hidden ones."


VIEW_TOOL: Final[Tool[ReadParams]] = Tool("view", ReadParams, lambda params: (params.path,), decide, journals=True)
"""Executes the command `view` of `text_editor`; not a tool of its own."""
