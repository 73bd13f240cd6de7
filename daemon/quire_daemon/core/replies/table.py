"""The shapes of replies, as structs: what callers may rely on, and where its JSON Schema is made from.

Only successes; a refusal is `ok: false` with `error`, `message`, `suggested_action` and what its code brings. Handlers
build plain dicts; the tests hold what they really answer against these shapes, strictly, so that no field is told to
nobody. Loaded when somebody asks for a schema: the daemon itself needs none of it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from quire_daemon.core.replies import admin, edits, history, leases, undo
from quire_daemon.core.replies.base import RefusalReply
from quire_journal.model import CODES

REPLIES: Final[dict[str, type[msgspec.Struct]]] = {
    "read_file": edits.ReadReply,
    "write_file": edits.WriteReply,
    "edit": edits.WriteReply,
    "hashline_edit": edits.HashlineReply,
    "edit_file": edits.EditFileReply,
    "edit_replace": edits.ReplacedReply,
    "insert_lines": edits.InsertedReply,
    "replace_lines": edits.ReplacedLinesReply,
    "multi_edit": edits.MultiEditReply,
    "regex_replace": edits.ReplacedReply,
    "apply_patch": edits.PatchReply,
    "text_editor": undo.TextEditorReply,
    "delete_file": edits.WriteReply,
    "move_file": edits.WriteReply,
    "log": history.LogReply,
    "stories": history.StoriesReply,
    "since": history.SinceReply,
    "show": history.ShowReply,
    "diff": history.DiffReply,
    "blame": history.BlameReply,
    "why": history.WhyReply,
    "tree": history.TreeReply,
    "blobs": history.BlobsReply,
    "undo": undo.UnwoundReply,
    "redo": undo.UnwoundReply,
    "rollback": undo.UnwoundReply,
    "restore": undo.UnwoundReply,
    "checkpoint": undo.CheckpointReply,
    "burst": undo.BurstReply,
    "native": undo.NativeReply,
    "claim": leases.ClaimReply,
    "release": leases.ReleaseReply,
    "claims": leases.ClaimsReply,
    "status": admin.StatusReply,
    "who": admin.WhoReply,
    "op_status": admin.OpStatusReply,
    "manual": admin.ManualReply,
    "describe": admin.DescribeReply,
    "verify": admin.VerifyReply,
    "gc": admin.GcReply,
    "doctor": admin.DoctorReply,
    "export": admin.ExportReply,
    "purge": admin.PurgeReply,
    "repair": admin.RepairReply,
    "shutdown": admin.ShutdownReply,
}
"""The shape of what each tool and service replies."""


def reply_schema(tool: str) -> dict[str, Any] | None:
    """The JSON Schema of what a tool answers, refusals included; None where no shape is stated."""
    shape = REPLIES.get(tool)
    if shape is None:
        return None
    (success, refusal), definitions = msgspec.json.schema_components(
        [shape, RefusalReply], ref_template="#/$defs/{name}"
    )
    definitions[shape.__name__]["properties"]["ok"] = {"const": True}
    definitions["RefusalReply"]["properties"]["ok"] = {"const": False}
    definitions["RefusalReply"]["properties"]["error"] = {"enum": sorted(CODES)}
    return {"anyOf": [success, refusal], "$defs": dict(definitions)}
