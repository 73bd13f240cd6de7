"""Refusals: understood requests that are declined, as values that cross the wire. Nothing has changed then.

A refusal is raised where the decision is made and becomes the reply at one place, `Refused.reply()`.
A fault (anything unexpected) is an exception of another kind; it is logged and answered as `fault` with a log id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from quire_journal.ids import is_utf8, journal_path, with_bytes_escaped

CODES: Final[dict[str, str]] = {
    # any tool
    "schema_invalid": "The arguments do not have the shape that the tool asks for.",
    "not_found": "The path does not exist.",
    "not_a_file": "The path is a folder, a FIFO, a device or a socket.",
    "binary_file": "The file holds NUL bytes; text tools leave it alone.",
    "file_too_large": "The file is over the size limit of the settings.",
    "outside_workspace": "The path leads out of the workspace.",
    "permission_denied": "The path is protected, or the disk does not allow the write.",
    "uncaptured": "The bytes that would be lost are not in the journal.",
    "already_exists": "The destination exists; nothing is overwritten.",
    "stale_base": "Another writer changed the file since the caller's base.",
    "lease_held": "Another agent session holds a lease there.",
    "plan_stale": "Something moved since the plan was made.",
    "conflict": "What should be undone was built upon by others.",
    "disk_full": "The disk is full; nothing was written.",
    "journal_damaged": "The journal cannot be trusted; it is read-only.",
    "busy": "Another program holds the file open for writing, or the daemon is overloaded.",
    "unknown_tool": "There is no tool of that name.",
    "expired": "The deadline had passed before the request was looked at.",
    "fault": "Something unexpected; the log id leads to it.",
    # `edit`
    "anchor_stale": "The anchor does not name a line of the file as it is now.",
    "anchor_ambiguous": "The anchor names several lines; a longer or context anchor would tell them apart.",
    "anchor_context_ambiguous": "The anchor names several lines that nothing tells apart.",
    "anchor_low_entropy": "The anchored line is blank or only punctuation.",
    "invalid_range_order": "The range has no lines, or its ends are in the wrong order.",
    "overlapping_operations": "Two operations touch one line.",
    "empty_operations": "There is no operation.",
    "safety_check_failed": "The result breaks what was sound before.",
    # `hashline_edit`
    "hash_mismatch": "A line that the call names is not the one that its caller was shown there.",
    "invalid_ref": "A reference does not have the form LINE#ID.",
    "invalid_variant": "An edit is not exactly one of the variants, or file operations exclude each other.",
    "line_out_of_range": "The file has no such line.",
    "invalid_range": "The range has no lines, or its ends are in the wrong order.",
    "anchors_not_adjacent": "`after` and `before` are not neighbours.",
    "empty_insert": "There is no line to insert.",
    "overlapping_edits": "Two edits touch the same text.",
    "no_op": "Nothing would change.",
    "old_text_not_found": "The text to be replaced is not in the file.",
    "multiple_matches": "The text to be replaced is there several times.",
    "patch_parse_error": "The patch cannot be read; `line` says where.",
    "patch_apply_error": "The patch does not fit the files; `reason` says why.",
    # `edit_file` and the tools of seed 001
    "empty_old_text": "The text to be replaced is empty.",
    "empty_edits": "There is no edit.",
    "too_many_edits": "The call makes more edits than one call may; `limit` says how many.",
    "pattern_not_found": "The pattern matches nothing in the file.",
    "invalid_regex": "The pattern is no regular expression.",
    "invalid_replacement": "The replacement does not fit the pattern.",
    "regex_timeout": "The pattern took longer than a search may, and was stopped.",
    "regex_failed": "The search came to no end: out of memory, or its process was killed.",
    # agents' configuration files (`quire setup`, in the client)
    "config_unusable": "A configuration file cannot be read, or holds something in our place.",
    "config_changed": "Another program changed the configuration file meanwhile.",
    "not_confirmed": "What cannot be taken back was not confirmed; nothing was done.",
    "not_installed": "There is no command `quire` that an agent could call.",
    # whole files
    "write_conflict": "The file is not what the caller wanted to replace.",
    "stale_file": "The bytes on disk are not those that the caller read.",
}
"""Every stable code with its meaning. Dialects add theirs in their own module's `CODES`."""

NEXT: Final[dict[str, str]] = {
    # any tool
    "schema_invalid": "fix_arguments",
    "not_found": "check_path",
    "not_a_file": "check_path",
    "binary_file": "leave_file",
    "file_too_large": "raise_limit",
    "outside_workspace": "choose_another_path",
    "permission_denied": "choose_another_path",
    "uncaptured": "log",
    "already_exists": "choose_another_path",
    "stale_base": "re-read_file",
    "lease_held": "wait",
    "plan_stale": "plan_again",
    "conflict": "narrow_the_choice",
    "disk_full": "free_space",
    "journal_damaged": "run_doctor",
    "busy": "retry",
    "unknown_tool": "describe",
    "expired": "retry",
    "fault": "report",
    # `edit`
    "anchor_stale": "re-read_file",
    "anchor_ambiguous": "use_candidate_anchor",
    "anchor_context_ambiguous": "use_candidate_anchor",
    "anchor_low_entropy": "use_neighbor_anchor",
    "invalid_range_order": "swap_range_ends",
    "overlapping_operations": "separate_operations",
    "empty_operations": "provide_at_least_one_operation",
    "safety_check_failed": "fix_content",
    # `hashline_edit`
    "hash_mismatch": "use_fresh_anchors",
    "invalid_ref": "copy_reference",
    "invalid_variant": "fix_arguments",
    "line_out_of_range": "re-read_file",
    "invalid_range": "fix_arguments",
    "anchors_not_adjacent": "use_adjacent_anchors",
    "empty_insert": "fix_content",
    "overlapping_edits": "merge_edits",
    "no_op": "re-read_file",
    "old_text_not_found": "re-read_file",
    "multiple_matches": "add_context",
    "patch_parse_error": "fix_patch",
    "patch_apply_error": "re-read_file",
    # `edit_file` and the tools of seed 001
    "empty_old_text": "fix_arguments",
    "empty_edits": "fix_arguments",
    "too_many_edits": "split_the_call",
    "pattern_not_found": "re-read_file",
    "invalid_regex": "fix_pattern",
    "invalid_replacement": "fix_replacement",
    "regex_timeout": "simplify_pattern",
    "regex_failed": "simplify_pattern",
    # agents' configuration files (`quire setup`, in the client)
    "config_unusable": "repair_file",
    "config_changed": "retry",
    "not_confirmed": "confirm",
    "not_installed": "install_quire",
    # whole files
    "write_conflict": "re-read_file",
    "stale_file": "re-read_file",
}
"""What to do next after a refusal that names nothing of its own: every refusal says so, and these are for all codes."""


class Refused(Exception):
    """A request declined.

    `code` is stable (see `CODES`), `message` one sentence that names the thing, `action` a machine word for
    what to do next (`NEXT` has that of each code), `details` the fields that help to repair the call. Where they name
    paths as the disk has them, whoever catches it finds them in the journal's form, and the sentence in UTF-8.
    """

    def __init__(self, code: str, message: str, action: str = "", **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = with_bytes_escaped(message)
        self.action = action or NEXT[code]
        self.details = {name: _in_utf8(said) for name, said in details.items()}

    def reply(self) -> dict[str, Any]:
        """The reply that says so."""
        said = {"ok": False, "error": self.code, "message": self.message}
        return {**said, **self.details, "suggested_action": self.action}


def _in_utf8(said: Any) -> Any:
    """A path of the disk in the journal's form where it has to be; all else as it is."""
    return journal_path(said) if isinstance(said, str) and not is_utf8(said) else said


LONGEST_GUESS: Final = 80
"""Characters of a wrong word that is compared with the right ones."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A sentence, behind a blank, that names what looks most like `given`, in letters of whatever case; or nothing."""
    from difflib import get_close_matches  # costs milliseconds, where something was mistyped

    names = {name.lower(): name for name in known}
    found = get_close_matches(given.lower(), names, n=1, cutoff=0.6) if len(given) <= LONGEST_GUESS else []
    return f" Did you mean {names[found[0]]}?" if found else ""
