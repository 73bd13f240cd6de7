"""What the manuals of all writing tools say alike: common arguments, and what a change by another writer means."""

from __future__ import annotations

from typing import Final

NAME: Final = "writing"

_ARGUMENTS: Final = """\
- `base`: the `version` that your call is made for. Without it, what you were last shown of the file counts: by a \
read, the `diff` of a reply, or a refusal. A caller that was never shown the file is judged on the file as it is.
- `on_stale`: `reject` | `rebase`, for when another writer changed the file since. `reject`, the default, is told \
below. `rebase` carries your edit over the change if the lines that you touch and their neighbours are as they were \
(`cross_version: true` in the reply); if not, it is refused all the same, with the `conflict`.
- `dry_run`: `true` does everything but write; `valid` in the reply says whether the call would be applied.
- `safety_check`: `strict` | `warn` | `off`. `strict`, the default of `edit`, refuses a result that breaks what was \
sound; `warn`, the default of the others, writes it and warns. `[safety]` in the settings goes before it.
- `idempotency_key`: a text of your choice. The same call with the same key is not applied again for 24 hours: the \
first success is answered once more. Other arguments with the same key are refused.
- `allow_uncaptured`: `true` lets the call overwrite or remove bytes that the journal does not hold (too large, \
secret). There is no undo of that.
"""

_REPLIES: Final = """\
- The `safety_status` of a reply is `clean`, `suspicious` (see `safety_warnings`), or `off`: nothing was checked.
- A warning `never_read` says that you removed a file, or named lines by number, that you were never shown: read first.
- A reply with `outcome: "unknown"` (the connection was lost, or time is up) has an `op`. Do not repeat the call; ask \
`op_status` with that `op`: `applied`, `superseded` (applied, and changed since), `not_applied`, or `unknown` (ask \
again).
"""

_REFUSED: Final = """\
- A refusal shows lines as they are now, and they count as shown. Read what it shows before you call again: the same \
call may then be applied.
- Lines that you name by number or hash and that were never shown to you, or not under that number, are refused once \
others have changed the file (`reason: "unseen"`).
"""

_ANY: Final = "refused on any change, wherever it is"
_TEXT: Final = (
    "the text that you replace is the proof, and the change is only reported (`changed_since_your_read`): a line that "
    'somebody changed since is edited, with a warning, if it still contains the text. `on_stale: "rebase"` checks the '
    "line, too"
)
_AT_AN_END: Final = "the top and the end of a file are where they are, and the change is only reported"
_BY_LINES: Final = (
    "line by line: the lines that you name must be where they were, as they were (`hash_mismatch`); the rest may "
    "differ. With `delete` or `rename`: refused on any change (`stale_base`)"
)
_PATCH: Final = (
    "with `expectedSha256ByPath` or `base`, refused on any change (`stale_file`), and so is a file section that only "
    "deletes. Else the patch's own lines are the proof, and the change is only reported"
)
_WRITE: Final = (
    "refused on any change (`write_conflict`, `stale_file`). "
    '`on_stale: "rebase"` merges your content with theirs, and refuses on a conflict'
)

CHANGED: Final[dict[str, str]] = {
    "edit": f"{_ANY} (`anchor_stale`)",
    "hashline_edit": _BY_LINES,
    "edit_file": f"{_ANY}, by whomever (`stale_file`)",
    "edit_replace": _TEXT,
    "insert_lines": f"{_ANY} (`stale_base`). Of lines 0 and -1: {_AT_AN_END}",
    "replace_lines": f"{_ANY} (`stale_base`)",
    "multi_edit": _TEXT,
    "text_editor": f"of `insert`, {_ANY} (`stale_base`), but at line 0 only reported. Of `str_replace`: {_TEXT}",
    "regex_replace": _TEXT,
    "apply_patch": _PATCH,
    "write_file": _WRITE,
    "delete_file": f"{_ANY} (`stale_base`), with `rebase`, too",
    "move_file": f"{_ANY} (`stale_base`), with `rebase`, too",
}
"""Tool → what it means for a call that another writer changed the file since."""

_TABLE: Final = f"""\
| Tool | When another writer changed the file since |
|---|---|
| `edit` | {_ANY} (`anchor_stale`) |
| `edit_file` | {_ANY}, by whomever (`stale_file`) |
| `replace_lines`, `insert_lines`, `insert` of `text_editor`, `delete_file`, `move_file` | {_ANY} (`stale_base`) |
| of these, `insert_lines` at 0 and -1, and `insert` at 0 | {_AT_AN_END} |
| `hashline_edit` | {_BY_LINES} |
| `edit_replace`, `multi_edit`, `regex_replace`, `str_replace` of `text_editor` | {_TEXT} |
| `apply_patch` | {_PATCH} |
| `write_file` | {_WRITE} |
"""

WRITING_MANUAL: Final = (
    f"# `{NAME}`: what every writing tool takes, and what a change by others means\n\n"
    f"{_ARGUMENTS}\n{_REPLIES}\n{_TABLE}\n{_REFUSED}"
)


def below(manual: str, tool: str) -> str:
    """The manual of `tool`, and below it what holds for all writing tools; of one that does not write, as it is."""
    if tool not in CHANGED:
        return manual
    changed = f"- Another writer changed the file since: {CHANGED[tool]}.\n"
    return f"{manual}\n## What every writing tool takes\n\n{_ARGUMENTS}\n{_REPLIES}{changed}{_REFUSED}"
