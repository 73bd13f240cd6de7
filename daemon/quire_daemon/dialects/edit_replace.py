"""The `edit_replace` tool: replaces an exact text (seed 001)."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.config import Settings
from quire_daemon.core.replies import ReplacedReply
from quire_daemon.dialects.base import Dialect, NamedFile, Plan, Sight, own_text
from quire_daemon.dialects.text import count_of, not_in, replaced_everywhere, require_few
from quire_journal.model import Refusal


class ReplaceParams(NamedFile, frozen=True, kw_only=True):
    """Arguments of the `edit_replace` tool: a file, the text to find, its replacement, and how often to replace."""

    old_text: str
    new_text: str
    count: int = 1  # most replacements, from the top; 0: all

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count < 0:
            raise ValueError(f"`count` is {self.count}; it must be a number of replacements, or 0 for all")


def plan(params: ReplaceParams, sight: Sight, settings: Settings) -> Plan:
    """Return the splices for the first `count` matches of `old_text`. Raises `Refusal` if there are none or too many,
    or the text is empty.
    """
    if not params.old_text:
        raise empty_old_text("`old_text`", replacements_made=0)
    found = count_of(sight.text, params.old_text)
    if not found:
        raise not_in(sight.text, params.old_text, "`old_text` is not in the file.", replacements_made=0)
    made = min(found, params.count) if params.count else found
    require_few(made)
    splices, final_break = replaced_everywhere(sight.text, params.old_text, params.new_text, made)
    warnings = (left_over(found, made, "`old_text`"),) if made < found else ()
    return Plan(splices, 1, final_break, warnings, {"replacements_made": made})


def empty_old_text(what: str, **details: Any) -> Refusal:
    """Build the refusal of an empty search text. `what` names the argument in the message."""
    message = f"{what} is empty; it must be the exact text to find. To add lines, use `insert_lines`."
    return Refusal("empty_old_text", message, "fix_arguments", **details)


def left_over(found: int, done: int, what: str) -> dict[str, Any]:
    """Build the warning that a text has `found` matches of which only the first `done` were replaced."""
    which = "the first one was" if done == 1 else f"the first {done} were"
    return {"type": "multiple_matches", "message": f"{what} matches {found} times; {which} replaced."}


EDIT_REPLACE: Final = Dialect(
    "edit_replace", ReplaceParams, plan, stale="stale_base", proof=own_text, reply=ReplacedReply
)
