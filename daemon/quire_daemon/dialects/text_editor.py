"""The `text_editor` tool: Anthropic's text editor, one tool with five commands.

Other tools execute three of them: `view` (`tools/edit/view.py`), `create` (`write_file`) and `undo_edit` (`undo`).
Unlike the original, `create` overwrites only the version in `base`, and `undo_edit` keeps the changes of other writers.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from quire_daemon.config import Settings
from quire_daemon.core import WriteArguments
from quire_daemon.core.replies import TextEditorReply
from quire_daemon.dialects.base import Dialect, InOtherWords, Plan, Proof, Sight
from quire_daemon.dialects.text import LineIndex, count_of, normalised, not_in, occurrences, replaced
from quire_journal.model import Refusal
from quire_journal.text import Splice, content_lines

_NEEDED: Final = {"create": ("file_text",), "str_replace": ("old_str",), "insert": ("insert_line",)}
_TAKEN: Final = {
    "view": ("view_range",),
    "create": ("file_text",),
    "str_replace": ("old_str", "new_str"),
    "insert": ("insert_line", "insert_text", "new_str"),
    "undo_edit": (),
}

MOST_LISTED: Final = 20


class TextEditorParams(WriteArguments, frozen=True, kw_only=True):
    """Arguments of the `text_editor` tool: a command, a file, and the command's own arguments."""

    command: Literal["view", "create", "str_replace", "insert", "undo_edit"]
    view_range: tuple[int, int] | None = None  # first and last line, 1-based; -1 for the last of the file
    file_text: str | None = None
    old_str: str | None = None
    new_str: str | None = None
    insert_line: int | None = None  # the text comes after this line; 0: at the top
    insert_text: str | None = None  # name in newer versions of the tool; older ones use `new_str`

    def __post_init__(self) -> None:
        super().__post_init__()
        for names in _TAKEN.values():
            for name in names:
                if name not in _TAKEN[self.command] and getattr(self, name) is not None:
                    raise ValueError(f"`{name}` does not belong to the command {self.command}")
        for name in _NEEDED.get(self.command, ()):
            if getattr(self, name) is None:
                raise ValueError(f"Object missing required field `{name}` of the command {self.command}")
        first, last = self.view_range or (1, -1)
        if first < 1 or (last != -1 and last < first):
            raise ValueError(f"`view_range` is [{first}, {last}]; it takes the first and the last line, -1 for the end")
        if self.command == "insert" and (self.insert_text is None) == (self.new_str is None):
            raise ValueError("the command insert takes its text as `insert_text` (or as `new_str`), once")


def in_other_words(params: TextEditorParams) -> InOtherWords | None:
    """Return the request of the tool that executes `view`, `create` or `undo_edit`; None for the other commands."""
    if params.command == "view":
        lines = {}
        if params.view_range is not None:
            first, last = params.view_range
            lines = {"start_line": first} | ({} if last == -1 else {"end_line": last})
        return InOtherWords("view", {"path": params.path, "format": "numbered", **lines})
    if params.command == "create":
        return InOtherWords("write_file", {**_common(params), "content": params.file_text})
    if params.command == "undo_edit":
        return InOtherWords(
            "undo",
            {
                "path": params.path,
                "last": 1,
                "dry_run": params.dry_run,
                "allow_uncaptured": params.allow_uncaptured,
            },
        )
    return None


def _common(params: TextEditorParams) -> dict[str, Any]:
    return {name: getattr(params, name) for name in WriteArguments.__struct_fields__}


def proof(params: TextEditorParams) -> Proof:
    """Return which changes by other writers since the base version make the request stale: "text" (none) for
    `str_replace` and an insertion at the top, "base" (any) for other insertions.
    """
    return "text" if params.command == "str_replace" or params.insert_line == 0 else "base"


def plan(params: TextEditorParams, sight: Sight, settings: Settings) -> Plan:
    """Return the splices of `str_replace` or `insert`. Raises `Refusal` if the text is empty, not in the file, or there
    several times, or the line is not in the file.
    """
    return _str_replace(params, sight) if params.command == "str_replace" else _insert(params, sight)


def _str_replace(params: TextEditorParams, sight: Sight) -> Plan:
    assert params.old_str is not None  # `__post_init__`
    if not params.old_str:
        message = "`old_str` is empty; it must be the exact text to find. To add lines, use the command insert."
        raise Refusal("empty_old_text", message, "fix_arguments")
    count = count_of(sight.text, params.old_str)
    if not count:
        raise not_in(sight.text, params.old_str, "`old_str` is not in the file.")
    found = occurrences(sight.text, params.old_str, MOST_LISTED)
    if count > 1:
        lines = LineIndex(sight.text)
        at = [lines.at(start) + 1 for start, _ in found]
        more = ", …" if count > len(at) else ""
        message = f"`old_str` is there {count} times (lines {', '.join(map(str, at))}{more}); say more around it."
        raise Refusal("multiple_matches", message, "add_context", matchCount=count, match_lines=at)
    ((start, stop),) = found
    splices, final_break = replaced(sight.text, [(start, stop, normalised(params.new_str or ""))])
    return Plan(splices, 1, final_break)


def _insert(params: TextEditorParams, sight: Sight) -> Plan:
    gap, length = params.insert_line, len(sight.text)
    assert gap is not None  # `__post_init__`
    if not 0 <= gap <= length:
        message = f"There is no line {gap} to insert after: the file has {length}. 0 is the top."
        raise Refusal("line_out_of_range", message, "re-read_file", insert_line=gap, lineCount=length)
    new = params.new_str if params.insert_text is None else params.insert_text
    named = (gap - 1,) if gap else ()
    return Plan((Splice(gap, gap, tuple(content_lines(new or ""))),), 1, anchors=named, by_number=bool(named))


TEXT_EDITOR: Final = Dialect(
    "text_editor",
    TextEditorParams,
    plan,
    stale="stale_base",
    proof=proof,
    in_other_words=in_other_words,
    reply=TextEditorReply,
)
