"""The `insert_lines` tool: inserts lines before a line number (seed 001)."""

from __future__ import annotations

from typing import Final

from quire_daemon.config import Settings
from quire_daemon.core.replies import InsertedReply
from quire_daemon.dialects.base import Dialect, NamedFile, Plan, Proof, Sight
from quire_journal.model import Refusal
from quire_journal.text import Splice, content_lines

TOP: Final = 0
END: Final = -1
"""Line number that means the end of the file."""


class InsertParams(NamedFile, frozen=True, kw_only=True):
    """Arguments of the `insert_lines` tool: a file, a line number, and the text to insert before that line."""

    line_number: int  # 1-based; the text comes before this line. 0: at the top, -1: at the end
    text: str


def plan(params: InsertParams, sight: Sight, settings: Settings) -> Plan:
    """Return the splice that inserts the text as whole lines. Raises `Refusal` if the file has no such line."""
    length = len(sight.text)
    gap = {TOP: 0, END: length}.get(params.line_number, params.line_number - 1)
    if not 0 <= gap <= length:
        message = (
            f"There is no line {params.line_number} to insert before: the file has {length} in all. "
            f"Use 1 to {length + 1}, 0 for the top, -1 for the end."
        )
        details = {"line_number": params.line_number, "lineCount": length, "lines_inserted": 0}
        raise Refusal("line_out_of_range", message, "re-read_file", **details)
    new = content_lines(params.text)
    final_break = True if gap == length else None
    named = () if params.line_number in (TOP, END) or not length else (min(gap, length - 1),)
    fields = {"lines_inserted": len(new)}
    return Plan((Splice(gap, gap, tuple(new)),), 1, final_break, (), fields, named, by_number=bool(named))


def proof(params: InsertParams) -> Proof:
    """Return which changes by other writers since the base version make the request stale: "base" (any) for a line
    number, "text" (none) for the top and the end of the file.
    """
    return "text" if params.line_number in (TOP, END) else "base"


INSERT_LINES: Final = Dialect("insert_lines", InsertParams, plan, stale="stale_base", proof=proof, reply=InsertedReply)
