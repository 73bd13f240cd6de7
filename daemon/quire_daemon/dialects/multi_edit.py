"""The `multi_edit` tool: replaces texts in order, each in the result of the previous replacement (seed 001)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from quire_daemon.config import Settings
from quire_daemon.core.replies import MultiEditReply
from quire_daemon.dialects.base import Dialect, NamedFile, Plan, Sight, own_text
from quire_daemon.dialects.edit_replace import empty_old_text, left_over
from quire_daemon.dialects.text import Draft, nearest, not_in, replaced, require_searchable, why_not
from quire_journal.model import Refusal
from quire_journal.text import Text

MOST_HINTS: Final = 3

SHOWN_CHARS: Final = 80


class StringEdit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One edit of a `multi_edit` request: replace `old_text` by `new_text`."""

    old_text: str
    new_text: str


class MultiParams(NamedFile, frozen=True, kw_only=True):
    """Arguments of the `multi_edit` tool: a file and its text edits in order."""

    edits: tuple[StringEdit, ...]


def plan(params: MultiParams, sight: Sight, settings: Settings) -> Plan:
    """Return the splices of all edits. Each edit replaces the first match of its text in the result of the edits before
    it; texts not found are listed in the reply. Raises `Refusal` if no text is found, a text is empty, or there are no
    or too many edits.
    """
    if not params.edits:
        raise Refusal("empty_edits", "There is no edit; give at least one.", "fix_arguments", applied=0, failed=[])
    for number, edit in enumerate(params.edits, 1):
        if not edit.old_text:
            failed = [f"Edit {number}: empty old_text"]
            raise empty_old_text(f"`old_text` of edit {number}", editIndex=number - 1, applied=0, failed=failed)
    require_searchable(sight.text, len(params.edits))
    draft = Draft(sight.text)
    failures: list[int] = []
    warnings: list[dict[str, Any]] = []
    for index, edit in enumerate(params.edits):
        found = draft.replace_first(edit.old_text, edit.new_text)
        if not found:
            failures.append(index)
        elif found > 1:
            warnings.append(left_over(found, 1, f"`old_text` of edit {index + 1}"))
    applied = len(params.edits) - len(failures)
    failed = _told(params, failures, draft) if failures else []
    if not applied:
        message = f"No edit applied. `old_text` of edit {failures[0] + 1} is not in the file."
        first = params.edits[failures[0]].old_text
        raise not_in(sight.text, first, message, editIndex=failures[0], applied=0, failed=failed)
    splices, final_break = replaced(sight.text, draft.edits)
    return Plan(splices, applied, final_break, tuple(warnings), {"applied": applied, "failed": failed})


def _told(params: MultiParams, failures: list[int], draft: Draft) -> list[str]:
    text = Text.of(bytes(draft.now))
    out: list[str] = []
    for n, index in enumerate(failures):
        old = params.edits[index].old_text
        near = nearest(text, old) if n < MOST_HINTS else None
        out.append(f"Edit {index + 1}: old_text not found: {old[:SHOWN_CHARS]!r}.{why_not(old, near)}")
    return out


MULTI_EDIT: Final = Dialect("multi_edit", MultiParams, plan, stale="stale_base", proof=own_text, reply=MultiEditReply)
