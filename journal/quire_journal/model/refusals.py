"""Refusals: requests declined before anything changes, as values that cross the wire. Anything unexpected is another
exception, answered as `fault` with a log id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from quire_journal.model.ids import is_utf8, journal_path, with_bytes_escaped


class Code(NamedTuple):
    """Meaning of a refusal code, and the default identifier of the action that the caller should take next."""

    meaning: str
    next: str


CODES: Final[dict[str, Code]] = {
    # any tool
    "schema_invalid": Code("The arguments do not have the shape that the tool asks for.", "fix_arguments"),
    "not_found": Code("The path does not exist.", "check_path"),
    "not_a_file": Code("The path is a folder, a FIFO, a device or a socket.", "check_path"),
    "binary_file": Code("The file holds NUL bytes; text tools leave it alone.", "leave_file"),
    "file_too_large": Code("The file is over the size limit of the settings.", "raise_limit"),
    "outside_workspace": Code("The path leads out of the workspace.", "choose_another_path"),
    "permission_denied": Code("The path is protected, or the disk does not allow the write.", "choose_another_path"),
    "uncaptured": Code("The bytes that would be lost are not in the journal.", "log"),
    "record_lost": Code(
        "The record needed is lost to damage of the journal; `gaps` has the numbers.",
        "choose_another_point",
    ),
    "already_exists": Code("The destination exists; nothing is overwritten.", "choose_another_path"),
    "stale_base": Code("Another writer changed the file since the caller's base.", "re-read_file"),
    "lease_held": Code("Another agent session holds a lease there.", "wait"),
    "plan_stale": Code("The files changed since the plan was made.", "plan_again"),
    "conflict": Code("Other changes build on what should be undone.", "narrow_the_choice"),
    "disk_full": Code("The disk is full; nothing was written.", "free_space"),
    "journal_damaged": Code("The journal cannot be trusted; it is read-only.", "run_doctor"),
    "busy": Code("Another program holds the file open for writing, or the daemon is overloaded.", "retry"),
    "unknown_tool": Code("There is no tool of that name.", "describe"),
    "expired": Code("The deadline had passed before the request was looked at.", "retry"),
    "fault": Code("An unexpected error; the daemon's log has it under the log id.", "report"),
    # `edit`
    "anchor_stale": Code("The anchor does not name a line of the file as it is now.", "re-read_file"),
    "anchor_ambiguous": Code(
        "The anchor names several lines; a longer or context anchor would tell them apart.", "use_candidate_anchor"
    ),
    "anchor_context_ambiguous": Code(
        "The anchor names several lines that nothing tells apart.", "use_candidate_anchor"
    ),
    "anchor_low_entropy": Code("The anchored line is blank or only punctuation.", "use_neighbor_anchor"),
    "invalid_range_order": Code("The range has no lines, or its ends are in the wrong order.", "swap_range_ends"),
    "overlapping_operations": Code("Two operations touch one line.", "separate_operations"),
    "empty_operations": Code("There is no operation.", "provide_at_least_one_operation"),
    "safety_check_failed": Code("The result breaks what was sound before.", "fix_content"),
    # `hashline_edit`
    "hash_mismatch": Code(
        "A line that the call names is not the one that its caller was shown there.", "use_fresh_anchors"
    ),
    "invalid_ref": Code("A reference does not have the form LINE#ID.", "copy_reference"),
    "invalid_variant": Code(
        "An edit is not exactly one of the variants, or file operations exclude each other.", "fix_arguments"
    ),
    "line_out_of_range": Code("The file has no such line.", "re-read_file"),
    "invalid_range": Code("The range has no lines, or its ends are in the wrong order.", "fix_arguments"),
    "anchors_not_adjacent": Code("`after` and `before` are not neighbours.", "use_adjacent_anchors"),
    "empty_insert": Code("There is no line to insert.", "fix_content"),
    "overlapping_edits": Code("Two edits touch the same text.", "merge_edits"),
    "no_op": Code("Nothing would change.", "re-read_file"),
    "old_text_not_found": Code("The text to be replaced is not in the file.", "re-read_file"),
    "multiple_matches": Code("The text to be replaced is there several times.", "add_context"),
    "patch_parse_error": Code("The patch cannot be read; `line` says where.", "fix_patch"),
    "patch_apply_error": Code("The patch does not fit the files; `reason` says why.", "re-read_file"),
    # `edit_file` and the tools of seed 001
    "empty_old_text": Code("The text to be replaced is empty.", "fix_arguments"),
    "empty_edits": Code("There is no edit.", "fix_arguments"),
    "too_many_edits": Code("The call makes more edits than one call may; `limit` says how many.", "split_the_call"),
    "pattern_not_found": Code("The pattern matches nothing in the file.", "re-read_file"),
    "invalid_regex": Code("The pattern is no regular expression.", "fix_pattern"),
    "invalid_replacement": Code("The replacement does not fit the pattern.", "fix_replacement"),
    "regex_timeout": Code("The pattern took longer than a search may, and was stopped.", "simplify_pattern"),
    "regex_failed": Code("The search came to no end: out of memory, or its process was killed.", "simplify_pattern"),
    # agents' configuration files (`quire setup`, in the client)
    "config_unusable": Code("A configuration file cannot be read, or holds something in our place.", "repair_file"),
    "config_changed": Code("Another program changed the configuration file meanwhile.", "retry"),
    "not_confirmed": Code("The action cannot be undone and was not confirmed; nothing was done.", "confirm"),
    "not_installed": Code("There is no command `quire` that an agent could call.", "install_quire"),
    # whole files
    "write_conflict": Code("The file is not what the caller wanted to replace.", "re-read_file"),
    "stale_file": Code("The bytes on disk are not those that the caller read.", "re-read_file"),
}


class Refusal(Exception):
    """Declined request.

    `code` is stable (`CODES`), `message` one sentence that names the object, `action` an identifier of the next action
    (default: that of the code), `details` fields that help to repair the call. Disk paths in details become journal
    paths, the message UTF-8.
    """

    def __init__(self, code: str, message: str, action: str = "", **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = with_bytes_escaped(message)
        self.action = action or CODES[code].next
        self.details = {name: _in_utf8(said) for name, said in details.items()}

    def reply(self) -> dict[str, Any]:
        said = {"ok": False, "error": self.code, "message": self.message}
        return {**said, **self.details, "suggested_action": self.action}


def _in_utf8(said: Any) -> Any:
    return journal_path(said) if isinstance(said, str) and not is_utf8(said) else said


LONGEST_GUESS: Final = 80


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return ` Did you mean WORD?` with the closest known word, ignoring case; "" if none is close."""
    from difflib import get_close_matches  # imported late: takes milliseconds, needed only after a typo

    names = {name.lower(): name for name in known}
    found = get_close_matches(given.lower(), names, n=1, cutoff=0.6) if len(given) <= LONGEST_GUESS else []
    return f" Did you mean {names[found[0]]}?" if found else ""
