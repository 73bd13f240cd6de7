"""One file's change as git writes it in a patch: what `git apply` and `git am` take.

Texts become hunks with three lines around each change. What a mail would not carry as it is (a NUL, a CR, bytes that
are not UTF-8) becomes a binary patch, in both directions, so that it applies byte for byte.
"""

from __future__ import annotations

import hashlib
import zlib
from base64 import b85encode
from collections.abc import Iterator
from typing import Final

import msgspec

from quire_journal.model import disk_path
from quire_journal.text import Block, blocks, common_lines


def quoted(path: str, prefix: bytes = b"") -> bytes:
    """A path of the journal behind `prefix`: plain where it can be, else quoted."""
    raw = prefix + disk_path(path).encode("utf-8", "surrogateescape")
    if all(0x20 < byte < 0x7F and byte not in b'"\\' for byte in raw):
        return raw
    escaped = b"".join(bytes([b]) if 0x20 <= b < 0x7F and b not in b'"\\' else b"\\%03o" % b for b in raw)
    return b'"' + escaped + b'"'


CONTEXT: Final = 3
_NOTHING: Final = b"/dev/null"
_LINE: Final = 52  # bytes that one line of a binary patch holds


class Content(msgspec.Struct, frozen=True):
    """A file as git knows it."""

    mode: str  # "100644", "100755", "120000"
    data: bytes


def file_patch(path: str, old: Content | None, new: Content | None, moved_from: str = "") -> bytes:
    """The patch from `old` to `new` at `path`; `moved_from` is where `old` was, when that is another path.

    b"" when nothing differs. A file that becomes a link, or a link a file, is removed and made anew.
    """
    if old is not None and new is not None and (old.mode == "120000") != (new.mode == "120000"):
        return file_patch(moved_from or path, old, None) + file_patch(path, None, new)
    if old == new and not moved_from:
        return b""
    a, b = quoted(moved_from or path, b"a/"), quoted(path, b"b/")
    out = [b"diff --git " + a + b" " + b]
    if old is None and new is not None:
        out.append(b"new file mode " + new.mode.encode())
    elif new is None and old is not None:
        out.append(b"deleted file mode " + old.mode.encode())
    elif old is not None and new is not None and old.mode != new.mode:
        out += [b"old mode " + old.mode.encode(), b"new mode " + new.mode.encode()]
    if moved_from:
        same = old is not None and new is not None and old.data == new.data
        out.append(b"similarity index %d%%" % (100 if same else 50))
        out += [b"rename from " + quoted(moved_from), b"rename to " + quoted(path)]
    before, after = old.data if old else b"", new.data if new else b""
    if old is None or new is None or before != after:
        out += _content(old, new, a, b)
    return b"\n".join(out) + b"\n"


def changed_lines(before: bytes, after: bytes) -> list[Block]:
    """What differs between the lines of two texts (LF ends a line): lines i..j have become lines k..m."""
    a, b = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return _changed(a, b)


def is_plain(data: bytes) -> bool:
    """Can the bytes stand in a mail as they are?"""
    if b"\0" in data or b"\r" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _content(old: Content | None, new: Content | None, a: bytes, b: bytes) -> Iterator[bytes]:
    before, after = old.data if old else b"", new.data if new else b""
    mode = b" " + new.mode.encode() if old is not None and new is not None and old.mode == new.mode else b""
    yield b"index " + _name(old) + b".." + _name(new) + mode
    if not (is_plain(before) and is_plain(after)):
        yield b"GIT binary patch"
        yield from _literal(after)
        yield from _literal(before)
        return
    if before == after:  # both empty: the header says it all
        return
    yield b"--- " + (a if old is not None else _NOTHING)
    yield b"+++ " + (b if new is not None else _NOTHING)
    yield from _hunks(before.splitlines(keepends=True), after.splitlines(keepends=True))


def _hunks(a: list[bytes], b: list[bytes]) -> Iterator[bytes]:
    for group in _grouped(_changed(a, b)):
        start, stop = max(group[0][0] - CONTEXT, 0), min(group[-1][1] + CONTEXT, len(a))
        new_start, new_stop = group[0][2] - (group[0][0] - start), group[-1][3] + (stop - group[-1][1])
        yield b"@@ -%s +%s @@" % (_range(start, stop), _range(new_start, new_stop))
        at = start
        for i, j, k, m in group:
            yield from _marked(b" ", a[at:i])
            yield from _marked(b"-", a[i:j])
            yield from _marked(b"+", b[k:m])
            at = j
        yield from _marked(b" ", a[at:stop])


def _changed(a: list[bytes], b: list[bytes]) -> list[Block]:
    head, tail = common_lines(a, b)
    found = blocks(a[head : len(a) - tail], b[head : len(b) - tail])
    return [(i + head, j + head, k + head, m + head) for i, j, k, m in found]


def _grouped(found: list[Block]) -> Iterator[list[Block]]:
    """Blocks whose context would touch, together."""
    group: list[Block] = []
    for block in found:
        if group and block[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _marked(sign: bytes, lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        if line.endswith(b"\n"):
            yield sign + line[:-1]
        else:
            yield sign + line
            yield b"\\ No newline at end of file"


def _range(start: int, stop: int) -> bytes:
    """Lines start..stop in the words of a hunk's head: of no lines, the line before."""
    return b"%d,%d" % (start + (stop > start), stop - start)


def _name(content: Content | None) -> bytes:
    """The name that git gives the bytes; it wants the whole of it for a binary patch."""
    if content is None:
        return b"0" * 40
    head = b"blob %d\0" % len(content.data)
    return hashlib.sha1(head + content.data, usedforsecurity=False).hexdigest().encode()


def _literal(data: bytes) -> Iterator[bytes]:
    """The bytes in a binary patch: lines of a length sign and base 85."""
    yield b"literal %d" % len(data)
    packed = zlib.compress(data)
    for at in range(0, len(packed), _LINE):
        piece = packed[at : at + _LINE]
        size = len(piece)
        sign = bytes([size + 64 if size <= 26 else size + 70])
        yield sign + b85encode(piece, pad=True)
    yield b""
