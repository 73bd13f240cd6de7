"""The tool `edit_file`: the dialect, and its own word for a folder.

What `appliedEdits` and `beforeSha256` say is about the file that the texts were matched in: the one whose sha256 the
caller names, also where the edits were then carried over the work of others.
"""

from __future__ import annotations

from typing import Final

from quire_daemon.dialects.edit_file import EDIT_FILE, FileParams
from quire_daemon.handlers.base import Decision, FileNow, Tool, World
from quire_daemon.handlers.edit import answering, decide_on
from quire_journal.refusals import Refused


def decide(params: FileParams, world: World) -> Decision:
    """Edit one file. Raises `Refused`."""
    return answering(params, world, lambda now: _decide(params, now, world))


def _decide(params: FileParams, now: FileNow, world: World) -> Decision:
    if now.kind == "folder":
        raise Refused("not_found", f"{now.path} is a folder.", "check_path", path=now.path)
    return decide_on(EDIT_FILE, params, now, world)


EDIT_FILE_TOOL: Final = Tool(
    name=EDIT_FILE.name,
    params=FileParams,
    paths=lambda params: (params.path,),
    decide=decide,
    writes=True,
)
