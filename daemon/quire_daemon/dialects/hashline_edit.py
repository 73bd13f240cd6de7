"""The `hashline_edit` tool: lines are named `LINE#ID`, as `read_file` shows them in its hashline format (seed 003).

The ID is derived from the line's text. A line that moved or changed is a mismatch, and is not searched elsewhere. All
edits of a request apply to one version. New text is inserted literally.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

import msgspec

from quire_daemon.config import Settings
from quire_daemon.core import WriteArguments
from quire_daemon.core.replies import HashlineReply
from quire_daemon.dialects.base import HASH_MISMATCH, Dialect, Plan, Proof, Sight
from quire_daemon.dialects.text import normalised, not_in, occurrences, replaced
from quire_journal.model import Refusal
from quire_journal.text import SHOWN_DIGITS, Splice, Text, content_lines, hash8, line_id

MOST_SHOWN: Final = 80

MOST_NAMED: Final = 10

_REFERENCE: Final = re.compile(r"(?:>>>\s*)?([1-9][0-9]{0,17})#(\w+)(?:\|.*)?", re.ASCII | re.DOTALL)


# ── arguments ────────────────────────────────────────────────────────────────


class _Variant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the kinds of edit in a `hashline_edit` request."""


class SetLine(_Variant, frozen=True, kw_only=True):
    """Edit that replaces one line; empty `new_content` deletes it."""

    target: str
    new_content: tuple[str, ...]


class SetRange(_Variant, frozen=True, kw_only=True):
    """Edit that replaces a range of lines; empty `new_content` deletes it."""

    first: str
    last: str
    new_content: tuple[str, ...]


class Insert(_Variant, frozen=True, kw_only=True):
    """Edit that inserts lines after or before a line, between neighbouring lines, or at the end of the file."""

    inserted_lines: tuple[str, ...]
    after: str | None = None
    before: str | None = None


class ReplaceText(_Variant, frozen=True, kw_only=True):
    """Edit that replaces a quoted text, if the setting `allow_replace_text` permits it."""

    old_text: str
    new_text: str
    all: bool = False


Edit: TypeAlias = SetLine | SetRange | Insert | ReplaceText

_VARIANTS: Final[tuple[tuple[type[Edit], frozenset[str], frozenset[str]], ...]] = (
    (SetLine, frozenset({"target", "new_content"}), frozenset()),
    (SetRange, frozenset({"first", "last", "new_content"}), frozenset()),
    (Insert, frozenset({"inserted_lines"}), frozenset({"after", "before"})),
    (ReplaceText, frozenset({"old_text", "new_text"}), frozenset({"all"})),
)
_FIELDS: Final = frozenset[str]().union(*(needed | optional for _, needed, optional in _VARIANTS))


def variants(allow_replace_text: bool) -> tuple[type[Edit], ...]:
    return tuple(shape for shape, _, _ in _VARIANTS if allow_replace_text or shape is not ReplaceText)


class HashlineParams(WriteArguments, frozen=True, kw_only=True):
    """Arguments of the `hashline_edit` tool: a file, and edits of its lines and a new name, or `delete`."""

    edits: tuple[dict[str, Any], ...] = ()  # variants above, distinguished by their fields
    delete: bool = False
    rename: str | None = None  # new path of the file


def proof(params: HashlineParams) -> Proof:
    """Return which changes by other writers since the base version make the request stale: "base" (any) if it deletes
    or renames the file, "text" (none) if it only quotes texts, else "lines" (those of named lines).
    """
    if params.delete or params.rename is not None:
        return "base"
    return "text" if params.edits and all(edit.get("old_text") is not None for edit in params.edits) else "lines"


def edits_of(params: HashlineParams, allow_replace_text: bool) -> tuple[Edit, ...]:
    """Convert the request's edits to structs. Raises `Refusal` for an edit of unknown form, one that replaces a text
    unless `allow_replace_text`, an empty `rename`, or `delete` with edits or `rename`.
    """
    if params.delete and (params.edits or params.rename is not None):
        message = "`delete` goes with neither `rename` nor edits."
        raise Refusal("invalid_variant", message, "fix_arguments", argument="delete")
    if params.rename == "":
        raise Refusal("schema_invalid", "`rename` is empty; leave it out to keep the name.", argument="rename")
    return tuple(_edit(index, fields, allow_replace_text) for index, fields in enumerate(params.edits))


def _edit(index: int, fields: dict[str, Any], allow_replace_text: bool) -> Edit:
    shape = _shape(fields)
    if shape is None:
        fields = {name: said for name, said in fields.items() if said is not None or name not in _FIELDS}
        shape = _shape(fields)
    if shape is None:
        names = (", ".join(sorted(fields)) or "nothing")[:MOST_SHOWN]
        message = f"Edit {index} ({names}) is not exactly one of the variants: {_shapes(allow_replace_text)}."
        raise Refusal("invalid_variant", message, "fix_arguments", edit_index=index)
    if shape is ReplaceText and not allow_replace_text:
        message = f"Edit {index} replaces a text, which `allow_replace_text` in the settings would have to allow."
        raise Refusal("invalid_variant", message, "use_anchors", edit_index=index)
    try:
        edit: Edit = msgspec.convert(fields, shape)
    except msgspec.ValidationError as error:
        raise Refusal("schema_invalid", f"Edit {index}: {error}.", "fix_arguments", edit_index=index) from None
    if isinstance(edit, Insert) and not edit.inserted_lines:
        message = f'Edit {index} inserts no line; a blank one is [""].'
        raise Refusal("empty_insert", message, "fix_content", edit_index=index)
    return edit


def _shape(fields: dict[str, Any]) -> type[Edit] | None:
    given = fields.keys()
    return next((s for s, needed, optional in _VARIANTS if needed <= given <= needed | optional), None)


def _shapes(allow_replace_text: bool) -> str:
    shown = _VARIANTS if allow_replace_text else _VARIANTS[:-1]
    return "; ".join("{" + ", ".join([*sorted(a), *(f"{o}?" for o in sorted(b))]) + "}" for _, a, b in shown)


# ── references ───────────────────────────────────────────────────────────────


class _Snapshot(msgspec.Struct):
    text: Text
    wrong: set[tuple[int, str]] = msgspec.field(default_factory=set)  # 0-based line, ID

    def line(self, reference: str, index: int) -> int:
        """Return the line (from 0) of a reference `LINE#ID`. A line with another ID is added to `wrong`; raises
        `Refusal` if the reference is malformed.
        """
        parsed = _REFERENCE.fullmatch(reference)
        if parsed is None:
            message = f"Edit {index}: {reference[:MOST_SHOWN]!r} is no reference; copy LINE#ID from a hashline read."
            raise Refusal("invalid_ref", message, "copy_reference", edit_index=index, reference=reference[:MOST_SHOWN])
        line, named = int(parsed[1]) - 1, parsed[2].lower()
        if line >= len(self.text) or not _is_id(named, self.text.lines[line]):
            self.wrong.add((line, named[:MOST_SHOWN]))
        return line


def _is_id(named: str, line: bytes) -> bool:
    return named == line_id(line) or (len(named) >= SHOWN_DIGITS and hash8(line).startswith(named))


def _references(edit: Edit) -> tuple[str, ...]:
    match edit:
        case SetLine():
            return (edit.target,)
        case SetRange():
            return edit.first, edit.last
        case Insert():
            return tuple(reference for reference in (edit.after, edit.before) if reference is not None)
        case _:
            return ()


class _Placed(msgspec.Struct, frozen=True):
    start: int
    stop: int
    lines: tuple[bytes, ...]
    named: tuple[int, ...]  # lines that the edit depends on


def _place(at: Sequence[int], index: int, edit: SetLine | SetRange | Insert, length: int) -> _Placed:
    match edit:
        case SetLine():
            return _Placed(at[0], at[0] + 1, _lines(edit.new_content), (at[0],))
        case SetRange():
            first, last = at
            if last < first:
                message = f"Edit {index}: `last` (line {last + 1}) is before `first` (line {first + 1})."
                raise Refusal("invalid_range", message, "swap_range_ends", edit_index=index)
            return _Placed(first, last + 1, _lines(edit.new_content), tuple(range(first, last + 1)))
        case Insert():
            if len(at) == 2 and at[1] != at[0] + 1:
                message = f"Edit {index}: lines {at[0] + 1} (`after`) and {at[1] + 1} (`before`) are not neighbours."
                raise Refusal("anchors_not_adjacent", message, "use_adjacent_anchors", edit_index=index)
            gap = length if not at else at[0] if edit.after is None else at[0] + 1
            return _Placed(gap, gap, _lines(edit.inserted_lines), tuple(at))


def _lines(content: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(line for element in content for line in content_lines(element))


# ── the plan ─────────────────────────────────────────────────────────────────


def plan(params: HashlineParams, sight: Sight, settings: Settings) -> Plan:
    """Return the splices of all edits. Raises a `Refusal` that lists all references whose line has another ID, or one
    for no edits, malformed edits, or edits that cannot be made together.
    """
    edits = edits_of(params, settings.dialects.hashline_edit.allow_replace_text)
    if not edits:
        raise Refusal("no_op", "There is no edit.", "provide_at_least_one_edit")
    at = _Snapshot(sight.text)
    named = [[at.line(reference, index) for reference in _references(edit)] for index, edit in enumerate(edits)]
    if at.wrong:
        raise _mismatch(at.wrong)
    placed = dict.fromkeys(  # identical edits count once
        _place(named[index], index, edit, len(sight.text))
        for index, edit in enumerate(edits)
        if not isinstance(edit, ReplaceText)
    )
    texts = {edit: index for index, edit in enumerate(edits) if isinstance(edit, ReplaceText)}
    spans, final_break = _replaced_texts(sight.text, texts)
    return Plan(
        splices=_in_order([*(Splice(p.start, p.stop, p.lines) for p in placed), *spans]),
        operations=len(placed) + len(texts),
        final_break=final_break,
        anchors=tuple(sorted({line for p in placed for line in p.named})),
        rename=params.rename or "",
    )


def _mismatch(wrong: Iterable[tuple[int, str]]) -> Refusal:
    pairs = sorted(wrong)
    numbers = sorted({line + 1 for line, _ in pairs})
    said = ", ".join(map(str, numbers[:MOST_NAMED])) + (", …" if len(numbers) > MOST_NAMED else "")
    message = f"The ID of line {said} is not that of what stands there."
    named = [f"{line + 1}#{name}" for line, name in pairs]
    return Refusal(HASH_MISMATCH, message, "use_fresh_anchors", mismatched_lines=numbers, mismatched=named)


def _in_order(splices: Sequence[Splice]) -> tuple[Splice, ...]:
    ordered = sorted(splices, key=lambda s: (s.start, s.stop))
    for one, other in pairwise(ordered):
        if other.start < one.stop:
            message = f"Two edits touch line {other.start + 1}."
            raise Refusal("overlapping_edits", message, "merge_edits", line=other.start + 1)
    return tuple(ordered)


def _replaced_texts(text: Text, edits: Mapping[ReplaceText, int]) -> tuple[tuple[Splice, ...], bool | None]:
    spans: list[tuple[int, int, bytes]] = []
    for edit, index in edits.items():
        if not edit.old_text:
            message = f"Edit {index}: `old_text` is empty."
            raise Refusal("schema_invalid", message, "fix_arguments", edit_index=index)
        found = occurrences(text, edit.old_text)
        if not found:
            message = f"Edit {index}: {edit.old_text[:MOST_SHOWN]!r} is not in the file."
            raise not_in(text, edit.old_text, message, edit_index=index)
        if len(found) > 1 and not edit.all:
            message = f"Edit {index}: {edit.old_text[:MOST_SHOWN]!r} is there {len(found)} times; say more, or `all`."
            raise Refusal("multiple_matches", message, "add_context", edit_index=index, match_count=len(found))
        spans += [(start, stop, normalised(edit.new_text)) for start, stop in found]
    spans.sort()
    for (_, end, _), (start, _, _) in pairwise(spans):
        if start < end:
            raise Refusal("overlapping_edits", "Two edits replace one text.", "merge_edits")
    return replaced(text, spans) if spans else ((), None)


HASHLINE_EDIT: Final = Dialect(
    name="hashline_edit",
    params=HashlineParams,
    plan=plan,
    stale="stale_base",
    proof=proof,
    in_place=True,
    reply=HashlineReply,
)
