"""The tool `edit_file`: runs the dialect, refuses folders, and replies to a call without sha256 with a call that would
succeed.

`appliedEdits` and `beforeSha256` describe the file with the caller's sha256, even if the edits were then rebased.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from quire_daemon.core import Decision, FileNow, Tool, World
from quire_daemon.dialects import EDIT_FILE, FileParams
from quire_daemon.tools import require_text
from quire_daemon.tools.edit.engine import answering, decide_on
from quire_journal.model import Refusal


def decide(params: FileParams, world: World) -> Decision:
    return answering(params, world, lambda now: _decide(params, now, world))


def _decide(params: FileParams, now: FileNow, world: World) -> Decision:
    if now.kind == "folder":
        raise Refusal("not_found", f"{now.path} is a folder.", "check_path", path=now.path)
    if not params.expectedSha256 or params.dryRun is not None:
        raise _with_the_call_that_would_do(params, now, world)
    return decide_on(EDIT_FILE, params, now, world)


def _with_the_call_that_would_do(params: FileParams, now: FileNow, world: World) -> Refusal:
    """Return the refusal of a call in the form of MCP's filesystem server, which lacks the sha256 or has `dryRun`. The
    refusal contains a call that would succeed, or the reason why no edit matches.
    """
    argument = "dryRun" if params.expectedSha256 else "expectedSha256"
    said = "Object missing required field `expectedSha256`, the sha256 of the file that you read"
    if params.expectedSha256:
        said = "Object contains unknown field `dryRun`, which is `dry_run` here"
    details: dict[str, Any] = {"argument": argument, "path": now.path}
    if now.text is not None:
        details["sha256"] = now.text.blob.hex()
    try:
        sha256 = params.expectedSha256 or require_text(now, world).blob.hex()
        whole = replace(params, expectedSha256=sha256, dryRun=None, dry_run=params.dry_run or bool(params.dryRun))
        tried = decide_on(EDIT_FILE, replace(whole, dry_run=True), now, world).reply
        fault = None if tried["ok"] else str(tried["message"])
    except Refusal as refused:
        fault = refused.message
    if fault is None:
        details["call"] = {"tool": EDIT_FILE.name, "args": _as_sent(whole)}
        said += ". `call` is this call with it, for the file as it is now: send that if it is what you mean"
    else:
        said += f". With it, the call would be refused too: {fault.rstrip('.')}"
    return Refusal("schema_invalid", f"{EDIT_FILE.name}: {said}.", "fix_arguments", **details)


def _as_sent(struct: msgspec.Struct) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        value = getattr(struct, field.name)
        if value != field.default:
            sent[field.name] = [_as_sent(item) for item in value] if isinstance(value, tuple) else value
    return sent


EDIT_FILE_TOOL: Final[Tool[FileParams]] = Tool(
    name=EDIT_FILE.name,
    params=FileParams,
    paths=lambda params: (params.path,),
    decide=decide,
    writes=True,
    reply=EDIT_FILE.reply,
)
