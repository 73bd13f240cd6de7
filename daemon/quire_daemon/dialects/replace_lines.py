"""The `replace_lines` tool: replaces a range of line numbers by a text (seed 001)."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.config import Settings
from quire_daemon.core.replies import ReplacedLinesReply
from quire_daemon.dialects.base import Dialect, NamedFile, Plan, Sight
from quire_journal.model import Refusal
from quire_journal.text import Splice, content_lines


class LinesParams(NamedFile, frozen=True, kw_only=True):
    """Arguments of the `replace_lines` tool: a file, a range of lines, and the new text."""

    start_line: int  # 1-based
    end_line: int  # 1-based, inclusive
    new_text: str  # "" removes the lines


def plan(params: LinesParams, sight: Sight, settings: Settings) -> Plan:
    """Return the splice that replaces the range; an end behind the last line is taken as that line, with a warning.
    Raises `Refusal` for an invalid range, or one that begins behind the last line.
    """
    length, start, end = len(sight.text), params.start_line, params.end_line
    where = {"start_line": start, "end_line": end, "lineCount": length, "lines_removed": 0, "lines_added": 0}
    if start < 1 or end < start:
        message = f"Lines {start} to {end} are no range: lines count from 1, and the start is not after the end."
        raise Refusal("invalid_range", message, "fix_arguments", **where)
    if start > length:
        message = f"There is no line {start}: the file has {length} in all."
        raise Refusal("line_out_of_range", message, "re-read_file" if length else "write_file", **where)
    warnings: tuple[dict[str, Any], ...] = ()
    if end > length:
        message = f"The file ends at line {length}; `end_line` {end} is taken as that one."
        warnings = ({"type": "end_line_clamped", "message": message, "line": length},)
        end = length
    new = content_lines(params.new_text) if params.new_text else []
    fields = {"lines_removed": end - start + 1, "lines_added": len(new)}
    named = tuple(range(start - 1, end))
    return Plan((Splice(start - 1, end, tuple(new)),), 1, None, warnings, fields, named, by_number=True)


REPLACE_LINES: Final = Dialect("replace_lines", LinesParams, plan, stale="stale_base", reply=ReplacedLinesReply)
