"""How each dialect says the same edits: hunks of a text that the caller has read, as calls of that tool.

`regex_replace` is left out: it is `edit_replace` with a pattern in place of the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from bench.merge_aligners import Hunk

PATH: Final = "f.txt"


@dataclass(frozen=True)
class Wish:
    """What a caller has read, and what it wants to be made of that."""

    lines: list[str]  # without their breaks
    final_break: bool
    rows: Sequence[str]  # as the read showed them
    version: str
    sha256: str
    hunks: Sequence[Hunk]  # in order, with unchanged lines between them
    wanted: str  # the whole result
    patch: str  # the same as hunks of a unified diff, with three lines of context

    @property
    def ended(self) -> list[str]:
        """The lines with their breaks."""
        return [line + "\n" for line in self.lines[:-1]] + [self.lines[-1] + "\n" * self.final_break]

    @cached_property
    def _count(self) -> Counter[str]:
        return Counter(self.lines)

    def is_good(self, line: int) -> bool:
        """Of a read with hashes: does the hash of this line (0-based) name it alone?"""
        return self._count[self.lines[line]] == 1 and not self.rows[line].partition("|")[0].endswith("[low]")

    def hash(self, line: int) -> str:
        """Of a read with hashes: the hash of this line, without its number."""
        return self.rows[line].split(" ")[0].split("#")[1]

    def occurrence(self, line: int) -> dict[str, Any]:
        """Of a read with hashes: this line by its hash, and by which one of those that read alike it is."""
        return {"hash": self.hash(line), "occurrence": self.lines[: line + 1].count(self.lines[line])}


@dataclass(frozen=True)
class Call:
    """One call of a tool, and which hunks of the wish it is about."""

    tool: str
    args: dict[str, Any]
    hunks: Sequence[Hunk]


Calls = Sequence[Call] | None
"""None: the dialect cannot say this."""


@dataclass(frozen=True)
class Way:
    """A row of the table: a dialect, how it reads a file, and how it says a wish."""

    name: str
    shape: str
    say: Callable[[Wish], Calls]


# ── lines that are named ─────────────────────────────────────────────────────


def _edit(wish: Wish) -> Calls:
    """Hash anchors with the line number as a hint; `occurrence` for lines that are blank or only brackets."""
    operations = [_operation(wish, hunk) for hunk in wish.hunks]
    return [Call("edit", {"operations": operations, "expected_file_version": wish.version}, wish.hunks)]


def _operation(wish: Wish, hunk: Hunk) -> dict[str, Any]:
    content = {"content": _whole(hunk.lines)} if hunk.lines else {}
    what = "replace" if hunk.lines else "delete"
    if hunk.start == hunk.stop:
        where = "insert_after" if hunk.start else "insert_before"
        return {"op": where, **_anchor(wish, max(hunk.start - 1, 0)), **content}
    if hunk.stop - hunk.start == 1:
        return {"op": f"{what}_line", **_anchor(wish, hunk.start), **content}
    ends = {
        "start_hash": wish.rows[hunk.start].split(" ")[0],
        "end_hash": wish.rows[hunk.stop - 1].split(" ")[0],
    }
    return {"op": f"{what}_range", **ends, **content}


def _edit_by_hash(wish: Wish) -> Calls:
    """Hashes alone, as the manual asks for it: a hunk whose lines are no good anchors is wrapped in lines that are.

    Where there are none around one of them, every line is named with its `occurrence`.
    """
    spans: list[tuple[int, int, tuple[Hunk, ...]]] = []
    for hunk in wish.hunks:
        wrapped = (hunk.start, hunk.stop) if _by_hash(wish, hunk) else _wrapped(wish, hunk)
        if wrapped is None:
            operations = [one for hunk in wish.hunks for one in _by_occurrence(wish, hunk)]
            return [Call("edit", {"operations": operations, "expected_file_version": wish.version}, wish.hunks)]
        spans.append((*wrapped, (hunk,)))
    operations = [
        (_by_hash(wish, hunks[0]) if len(hunks) == 1 else None) or _range(wish, start, stop, hunks)
        for start, stop, hunks in joined(spans)
    ]
    return [Call("edit", {"operations": operations, "expected_file_version": wish.version}, wish.hunks)]


def joined(spans: Sequence[tuple[int, int, tuple[Hunk, ...]]]) -> list[tuple[int, int, tuple[Hunk, ...]]]:
    """Spans of lines around hunks; those that overlap are one."""
    out: list[tuple[int, int, tuple[Hunk, ...]]] = []
    for start, stop, hunks in spans:
        while out and out[-1][1] > start:
            before, after, others = out.pop()
            start, stop, hunks = min(before, start), max(after, stop), (*others, *hunks)
        out.append((start, stop, hunks))
    return out


def _wrapped(wish: Wish, hunk: Hunk) -> tuple[int, int] | None:
    """The hunk with the lines around it up to two good anchors."""
    start, last = min(hunk.start, len(wish.lines) - 1), max(hunk.stop - 1, hunk.start)
    start -= hunk.start == hunk.stop and start > 0
    while start > 0 and not wish.is_good(start):
        start -= 1
    last = max(last, start + 1)
    while last < len(wish.lines) - 1 and not wish.is_good(last):
        last += 1
    good = last < len(wish.lines) and wish.is_good(start) and wish.is_good(last)
    return (start, last + 1) if good else None


def _range(wish: Wish, start: int, stop: int, hunks: Sequence[Hunk]) -> dict[str, Any]:
    """The hunks, and what is between them, as the replacement of one range."""
    lines = wish.lines[start:stop]
    for hunk in reversed(hunks):
        lines[hunk.start - start : hunk.stop - start] = hunk.lines
    content = {"content": _whole(lines)} if lines else {}
    what = "replace_range" if lines else "delete_range"
    return {"op": what, "start_hash": wish.hash(start), "end_hash": wish.hash(stop - 1), **content}


def _by_hash(wish: Wish, hunk: Hunk) -> dict[str, Any] | None:
    """The hunk as one operation whose hashes name one line each; None where they do not."""
    content = {"content": _whole(hunk.lines)} if hunk.lines else {}
    what = "replace" if hunk.lines else "delete"
    if hunk.start == hunk.stop:
        for where, line in (("insert_after", hunk.start - 1), ("insert_before", hunk.start)):
            if 0 <= line < len(wish.lines) and wish.is_good(line):
                return {"op": where, "hash": wish.hash(line), **content}
        return None
    first, last = hunk.start, hunk.stop - 1
    if not (wish.is_good(first) and wish.is_good(last)):
        return None
    if first == last:
        return {"op": f"{what}_line", "hash": wish.hash(first), **content}
    return {"op": f"{what}_range", "start_hash": wish.hash(first), "end_hash": wish.hash(last), **content}


def _by_occurrence(wish: Wish, hunk: Hunk) -> list[dict[str, Any]]:
    """The hunk line by line, each by its hash and which of the lines with that hash it is."""
    content = {"content": _whole(hunk.lines)} if hunk.lines else {}
    if hunk.start == hunk.stop:
        where, line = ("insert_after", hunk.start - 1) if hunk.start else ("insert_before", 0)
        return [{"op": where, **wish.occurrence(line), **content}]
    first = {"op": "replace_line" if hunk.lines else "delete_line", **wish.occurrence(hunk.start), **content}
    others = range(hunk.start + 1, hunk.stop)
    return [first, *({"op": "delete_line", **wish.occurrence(line)} for line in others)]


def _anchor(wish: Wish, line: int) -> dict[str, Any]:
    """The anchor of one line (0-based), as the read showed it: `119#c812f1 [high]|text`."""
    anchor, quality = wish.rows[line].partition("|")[0].split(" ")
    return {"hash": anchor} if quality != "[low]" else wish.occurrence(line)


def _hashline_edit(wish: Wish) -> Calls:
    """References to lines, as read: `119#xy`."""
    edits = [_hashline(wish, hunk) for hunk in wish.hunks]
    return [Call("hashline_edit", {"edits": edits}, wish.hunks)]


def _hashline(wish: Wish, hunk: Hunk) -> dict[str, Any]:
    if hunk.start == hunk.stop:
        place = {"after": _reference(wish, hunk.start - 1)} if hunk.start else {"before": _reference(wish, 0)}
        return {**place, "inserted_lines": list(hunk.lines)}
    first = _reference(wish, hunk.start)
    if hunk.stop - hunk.start == 1:
        return {"target": first, "new_content": list(hunk.lines)}
    return {"first": first, "last": _reference(wish, hunk.stop - 1), "new_content": list(hunk.lines)}


def _reference(wish: Wish, line: int) -> str:
    return wish.rows[line].partition("|")[0]


def _by_number(wish: Wish) -> Calls:
    """`replace_lines` and `insert_lines`: a call for each hunk, from the bottom up, all with the version read."""
    calls = []
    for hunk in reversed(wish.hunks):
        if hunk.start < hunk.stop:
            span = {"start_line": hunk.start + 1, "end_line": hunk.stop}
            args = {**span, "new_text": _whole(hunk.lines), "base": wish.version}
            calls.append(Call("replace_lines", args, [hunk]))
        elif hunk.start == len(wish.lines) and not wish.final_break:
            return None  # it would end the last line
        else:
            args = {"line_number": hunk.start + 1, "text": _whole(hunk.lines), "base": wish.version}
            calls.append(Call("insert_lines", args, [hunk]))
    return calls


def _whole(lines: Sequence[str]) -> str:
    """Lines as a content; each with a break behind it, so that a blank last one counts."""
    return "".join(line + "\n" for line in lines)


# ── texts that are named ─────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Exchange:
    """Lines start..stop of a text, which stand there once, and what they become."""

    start: int
    stop: int
    old: str
    new: str
    hunks: tuple[Hunk, ...]


def _in_the_base(wish: Wish) -> list[_Exchange]:
    """The hunks with as many lines around them as they need to stand in the base once; those that meet are one."""
    spans = [(*_grown(wish.ended, hunk.start, hunk.stop), (hunk,)) for hunk in wish.hunks]
    made = []
    for start, stop, hunks in joined(spans):
        lines = wish.ended[start:stop]
        unended = stop == len(wish.lines) and not wish.final_break
        made.append(_Exchange(start, stop, "".join(lines), _changed(lines, start, hunks, unended), hunks))
    return made


def _edit_file(wish: Wish) -> Calls:
    edits = [{"oldText": one.old, "newText": one.new} for one in _in_the_base(wish)]
    return [Call("edit_file", {"expectedSha256": wish.sha256, "edits": edits}, wish.hunks)]


def _one_by_one(wish: Wish) -> list[_Exchange]:
    """The hunks from the bottom up, each as a text that stands once in what the ones before have made."""
    lines = list(wish.ended)
    made = []
    for hunk in reversed(wish.hunks):
        start, stop = _grown(lines, hunk.start, hunk.stop)
        unended = stop == len(lines) and not wish.final_break
        new = _changed(lines[start:stop], start, [hunk], unended)
        made.append(_Exchange(start, stop, "".join(lines[start:stop]), new, (hunk,)))
        lines[start:stop] = _split(new)
    return made


def _split(text: str) -> list[str]:
    """The lines of a text, with their breaks."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _grown(lines: Sequence[str], start: int, stop: int) -> tuple[int, int]:
    """These lines, and the fewest around them with which they stand in the text only once."""
    whole = "".join(lines)
    below = False
    while start == stop or whole.find(old := "".join(lines[start:stop])) != whole.rfind(old):
        if (start > 0 and not below) or stop == len(lines):
            start -= 1
        else:
            stop += 1
        below = not below
    return start, stop


def _changed(lines: Sequence[str], offset: int, hunks: Sequence[Hunk], unended: bool) -> str:
    """These lines of a text, the first of which is line `offset`, after the hunks."""
    out = [line.removesuffix("\n") for line in lines]
    for hunk in reversed(hunks):
        out[hunk.start - offset : hunk.stop - offset] = hunk.lines
    return _whole(out).removesuffix("\n") if unended else _whole(out)


def _edit_replace(wish: Wish) -> Calls:
    """One call for each text; all of them state the version that they were read in."""
    return [
        Call("edit_replace", {"old_text": one.old, "new_text": one.new, "base": wish.version}, one.hunks)
        for one in _one_by_one(wish)
    ]


def _multi_edit(wish: Wish) -> Calls:
    exchanges = _one_by_one(wish)
    edits = [{"old_text": one.old, "new_text": one.new} for one in exchanges]
    return [Call("multi_edit", {"edits": edits}, [one.hunks[0] for one in exchanges])]


def _text_editor(wish: Wish) -> Calls:
    """`insert` for what is only new lines, `str_replace` for the rest; from the bottom up."""
    calls = []
    for one in _one_by_one(wish):
        (hunk,) = one.hunks
        if hunk.start == hunk.stop:
            place = {"insert_line": hunk.start, "insert_text": _whole(hunk.lines)}
            calls.append(Call("text_editor", {"command": "insert", **place, "base": wish.version}, one.hunks))
        else:
            args = {"command": "str_replace", "old_str": one.old, "new_str": one.new, "base": wish.version}
            calls.append(Call("text_editor", args, one.hunks))
    return calls


# ── files and patches ────────────────────────────────────────────────────────


def _apply_patch(wish: Wish) -> Calls:
    return [Call("apply_patch", {"patch": wish.patch, "expectedSha256ByPath": {PATH: wish.sha256}}, wish.hunks)]


def _patch_alone(wish: Wish) -> Calls:
    return [Call("apply_patch", {"patch": wish.patch}, wish.hunks)]


def _write_file(wish: Wish) -> Calls:
    return [Call("write_file", {"content": wish.wanted, "expected_file_version": wish.version}, wish.hunks)]


WAYS: Final = (
    Way("edit", "hashed", _edit),
    Way("edit, bare hashes", "hashed", _edit_by_hash),
    Way("hashline_edit", "hashline", _hashline_edit),
    Way("edit_file", "plain", _edit_file),
    Way("apply_patch with sha256", "plain", _apply_patch),
    Way("apply_patch", "plain", _patch_alone),
    Way("replace_lines, insert_lines", "numbered", _by_number),
    Way("edit_replace", "plain", _edit_replace),
    Way("multi_edit", "plain", _multi_edit),
    Way("text_editor", "numbered", _text_editor),
    Way("write_file", "plain", _write_file),
)
"""The rows of the table."""
