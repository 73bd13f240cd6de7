"""Bytes that result from an agent's claim, in each way that agents' tools are known to write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from quire_daemon.core import Cell, Content, Hunks, Removal, Replace, Replacement
from quire_daemon.dialects.patch import FilePatch
from quire_daemon.tools.evidence.accounts import Account
from quire_daemon.tools.evidence.effort import Effort
from quire_daemon.tools.evidence.patches import patched
from quire_journal.text import BOM, same_end, same_start

_BY_NUMBER: Final = re.compile(r"cell-(\d{1,6})")


def fits_cell(account: Cell, before: bytes, found: bytes, effort: Effort) -> bool:
    """True if the notebooks differ only by this cell's change and the outputs that it clears."""
    for data in (before, found):
        effort.spend(4 * len(data), (data.count(b",") + data.count(b"[") + data.count(b"{")) // 2)
    old, new = _notebook(before), _notebook(found)
    if old is None or new is None or {**old, "cells": ()} != {**new, "cells": ()}:
        return False
    was, now = old["cells"], new["cells"]
    at = _cell_at(account.cell, was)
    if account.mode == "insert":
        at = 0 if at is None and not account.cell else -1 if at is None else at + 1
        return at >= 0 and len(now) == len(was) + 1 and was == [*now[:at], *now[at + 1 :]] and _holds(account, now[at])
    if at is None:
        return False
    if account.mode == "delete":
        return bool(now == [*was[:at], *was[at + 1 :]])
    if len(now) != len(was) or was[:at] != now[:at] or was[at + 1 :] != now[at + 1 :]:
        return False
    return _holds(account, now[at]) and was[at].get("id") == now[at].get("id")


def _holds(account: Cell, cell: Any) -> bool:
    source = cell.get("source")
    text = "".join(map(str, source)) if isinstance(source, list) else source
    return text == account.source and account.type in ("", cell.get("cell_type"))


def _cell_at(named: str, cells: Sequence[Any]) -> int | None:
    found = next((at for at, cell in enumerate(cells) if named and cell.get("id") == named), None)
    number = _BY_NUMBER.fullmatch(named)
    if found is None and number is not None and int(number[1]) < len(cells):
        return int(number[1])
    return found


def _notebook(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    cells = found.get("cells") if isinstance(found, dict) else None
    return found if isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells) else None


BytesAt = Callable[[str], Iterator[bytes]]
"""Path → the current and earlier bytes of that file, for a patch that moves it."""


def results(
    account: Account, path: str, before: bytes | None, found: bytes | None, bytes_at: BytesAt, effort: Effort
) -> Iterator[bytes | None]:
    """Yield the possible bytes at `path` after the claim is applied to `before`; None for no file. Parts that the claim
    does not determine (a new cell's id, blanks) are taken from `found`. Raises `EffortSpentError`.
    """
    effort.spend(len(before or b""))
    match account:
        case Content(text=text):
            yield from _written(text, before, effort)
        case Replace(edits=edits):
            yield from _replaced(edits, before, effort)
            if before and found and len(edits) == 1 and _is_like(edits[0], before, found, effort):
                yield found
        case FilePatch():
            yield from patched(account, path, before, bytes_at, effort)
        case Cell():
            if before is not None and found is not None and fits_cell(account, before, found, effort):
                yield found
        case Hunks():
            yield from _hunked(account, before, effort)
        case Removal():
            if before is not None:
                yield None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# ── whole contents ───────────────────────────────────────────────────────────


def _written(text: str, before: bytes | None, effort: Effort) -> Iterator[bytes]:
    """Yield the content as sent, with the old file's line ends and byte order mark, and with a final line break."""
    effort.spend(2 * len(text))
    data = _encoded(text)
    yield data
    if before is not None and before.startswith(BOM) and not data.startswith(BOM):
        yield BOM + data
        data = BOM + data
    if before is not None and b"\r\n" in before and b"\r\n" not in data:
        effort.spend(2 * len(data))
        yield data.replace(b"\n", b"\r\n")
    elif data and not data.endswith(b"\n"):
        yield data + b"\n"


# ── replacements ─────────────────────────────────────────────────────────────


def _replaced(edits: Sequence[Replacement], before: bytes | None, effort: Effort) -> Iterator[bytes]:
    """Yield the results of the replacements in the bytes, in the lines without CR, and in the text with invalid UTF-8
    replaced.
    """
    if not before:
        if len(edits) == 1 and not edits[0].old:
            yield _encoded(edits[0].new)
        return
    yield from _made(edits, before, effort)
    if b"\r" in before and b"\r\n" in before:  # searching one byte is ten times faster than two
        effort.spend(4 * len(before))
        flat = [Replacement(_flat(edit.old), _flat(edit.new), edit.all) for edit in edits]
        for made in _made(flat, before.replace(b"\r\n", b"\n"), effort):
            yield made.replace(b"\n", b"\r\n")
            yield made  # for tools that give mixed line ends the most frequent style
    if before.isascii():
        return
    effort.spend(len(before))
    read = before.decode("utf-8", "replace")
    if "\ufffd" in read:
        yield from _made(edits, _encoded(read), effort)


def _flat(text: str) -> str:
    return text.replace("\r\n", "\n")


def _made(edits: Sequence[Replacement], before: bytes, effort: Effort) -> Iterator[bytes]:
    """Yield the text with the replacements applied in order. A replacement by nothing may also remove the line
    break.
    """
    removing = any(not edit.new and not edit.old.endswith("\n") for edit in edits)
    for with_break in (False, True) if removing else (False,):
        text, taken = before, False
        for edit in edits:
            old, new = _encoded(edit.old), _encoded(edit.new)
            effort.spend(len(text))
            if with_break and not new and not old.endswith(b"\n") and old + b"\n" in text:
                old, taken = old + b"\n", True
            if not old or old not in text:
                break
            places = text.count(old) if edit.all else 1
            effort.spend(places * (len(new) + PLACE))
            text = text.replace(old, new) if edit.all else text.replace(old, new, 1)
        else:
            if taken or not with_break:
                yield text


PLACE: Final = 100
"""Cost of one replacement, in copied bytes."""

MOST_BLANKS: Final = 100
"""Maximum ratio of a text's bytes to its non-blank bytes; texts with more blanks are not compared."""

_BLANKS: Final = b" \t\r\n\f\v"
_CURLY: Final = (("‘", "'"), ("’", "'"), ("“", '"'), ("”", '"'))


def _is_like(edit: Replacement, before: bytes, found: bytes, effort: Effort) -> bool:
    """True if the change is the edit, except for blanks and curly quotes, which agents match loosely. The edit must
    change more than blanks.
    """
    effort.spend((len(before) + len(found)) // 4)
    old, new = _plain(_encoded(edit.old)), _plain(_encoded(edit.new))
    if not old or old == new:
        return False
    head = same_start(before, found)
    tail = same_end(before, found, head)
    if not _is_within(before[head : len(before) - tail], old) or not _is_within(found[head : len(found) - tail], new):
        return False
    effort.spend(4 * (len(before) + len(found)))
    was, now = _plain(before), _plain(found)
    first, stop = len(_plain(before[:head])), len(was) - len(_plain(before[len(before) - tail :]))
    at = was.find(old, max(0, stop - len(old)), first + len(old))
    while at >= 0:
        effort.spend(2 * len(was))
        if was[:at] + new + was[at + len(old) :] == now:
            return was.count(old) == 1
        at = was.find(old, at + 1, first + len(old))
    return False


def _is_within(changed: bytes, plain: bytes) -> bool:
    return len(changed) <= MOST_BLANKS * (len(plain) + 1) and _plain(changed) in plain


def _plain(text: bytes) -> bytes:
    if b"\xe2\x80" in text:
        for curly, straight in _CURLY:
            text = text.replace(curly.encode(), straight.encode())
    return text.translate(None, _BLANKS)


# ── hunks ────────────────────────────────────────────────────────────────────


def _hunked(account: Hunks, before: bytes | None, effort: Effort) -> Iterator[bytes]:
    """Yield the old text with the hunks applied; nothing if the payload lacks the old text, as its hunks then prove
    nothing.
    """
    if before is None or account.before is None or not account.hunks:
        return
    effort.spend(4 * len(before) + len(account.before))
    flat = before.replace(b"\r\n", b"\n")
    read = _encoded(account.before).replace(b"\r\n", b"\n")
    if read not in (flat, flat.removeprefix(BOM), _encoded(flat.decode("utf-8", "replace"))):
        return
    made = _with_hunks(read, account, effort)
    if made is None:
        return
    for one in dict.fromkeys((made, made.removesuffix(b"\n"), made + b"\n")):
        for marked in (one, BOM + one) if flat.startswith(BOM) and not read.startswith(BOM) else (one,):
            yield marked.replace(b"\n", b"\r\n") if b"\r\n" in before else marked


def _with_hunks(flat: bytes, account: Hunks, effort: Effort) -> bytes | None:
    effort.spend(len(flat), flat.count(b"\n") // 4 + sum(len(hunk.lines) for hunk in account.hunks))
    rows = flat.split(b"\n")
    made: list[bytes] = []
    at = 0
    for hunk in account.hunks:
        start = max(hunk.start - 1, 0)
        if start < at:
            return None
        made += rows[at:start]
        at = start
        for line in hunk.lines:
            mark, said = line[:1], _encoded(line[1:]).removesuffix(b"\r")
            if mark == "\\":
                continue
            if mark == "+":
                made.append(said)
            elif at < len(rows) and rows[at] == said:
                made += [said] if mark == " " else []
                at += 1
            else:
                return None
    return b"\n".join([*made, *rows[at:]])
