"""`quire export-tree`: writes an old tree into a new folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from quire_client.cli import render
from quire_client.commands import (
    REFUSED,
    UNWRITTEN,
    Command,
    Invocation,
    MissingArgument,
    Option,
    Usage,
    point_of,
    status_of,
)
from quire_client.commands.history.ls import BEFORE_IT, began_later, beside

MOST_NAMED: Final = 50


def run(call: Invocation) -> int:
    from quire_client.export import RESERVED, DiskRefuses, ExportStop, Unwritable, export, fetch
    from quire_journal.model import Refusal

    call.at_most(2)
    if len(call.arguments) < 2:
        raise MissingArgument("POINT DIR")
    point, folder = point_of(call.arguments[0]), call.arguments[1]
    target = Path(os.path.abspath(call.folder / folder))
    inside = os.path.commonpath([call.place.root, os.path.realpath(target)]) == os.path.realpath(call.place.root)
    if inside:
        raise Usage(f"{folder!r} lies in the workspace, whose journal would record the copy; name a folder outside.")
    with call.connect() as client:
        try:
            tree = fetch(client, point, call.in_workspace(call.options["path"]) if "path" in call.options else "")
            if began_later(tree):
                return call.answer(Refusal("not_found", BEFORE_IT, "choose_another_point").reply(), lambda reply: "")
            missing = export(client, tree, target)
        except ExportStop as stopped:
            return call.answer(stopped.reply, lambda reply: "")
        except Unwritable as error:
            reply = {"ok": False, "error": "not_written", "message": str(error)}
            call.answer(reply, lambda reply: "")
            return UNWRITTEN if isinstance(error, DiskRefuses) else REFUSED
    reply = {
        "ok": True,
        "message": f"{len(tree.entries) - len(missing)} of {len(tree.entries)} entries are in {target}.",
        "at": tree.at,
        "time": tree.time,
        "complete": tree.complete,
        "folder": str(target),
        "entries": len(tree.entries),
        "uncaptured": missing,
        **tree.told_beside,
    }
    left_out = sum(entry["uncaptured"] == RESERVED for entry in missing)
    for sentence in beside(tree, len(missing) - left_out):
        call.say(sentence)
    if left_out:
        call.say(f"Left out, because there they would be git's or Quire's own: {render.counted(left_out, 'path')}.")
    for entry in missing[:MOST_NAMED]:
        why = render.one_line(entry["uncaptured"]).replace("_", " ")
        call.say(f"  {render.one_line(entry['path'], 4096)}: {why}")
    if len(missing) > MOST_NAMED:
        call.say(f"  and {len(missing) - MOST_NAMED} more; `--json` lists all of them")
    call.answer(reply, lambda reply: render.clean_text(str(reply["message"])))
    return status_of(reply)


COMMAND = Command(
    arguments="POINT DIR",
    about="Writes everything that there was at POINT into DIR, which must be new or empty and outside of the\n"
    "workspace: files, modes, links and empty folders. All of it or nothing.\n"
    "Files whose bytes are not in the journal are named, and what is left out as git's or Quire's own (.git, .quire).",
    example="quire export-tree before-refactoring ../as-it-was",
    run=run,
    options=(Option("path", "PATH", "only this file, folder, or quoted glob"),),
)
