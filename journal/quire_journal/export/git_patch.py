"""Git patches: the change of one file in the form of `git apply` and `git am`. Texts become hunks with context, and the
enclosing function after `@@`; other bytes become a binary patch in both directions, in mails also texts with a CR or
bytes that are not UTF-8.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from base64 import b85encode
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from quire_journal.model import disk_path, is_escaped, pause
from quire_journal.text import Block, blocks, common_lines

CONTEXT: Final = 3

MOST_HEADING: Final = 80

NO_NEWLINE: Final = b"\\ No newline at end of file"
BINARY: Final = b"GIT binary patch"
_NOTHING: Final = b"/dev/null"
_RENAME: Final = (b"similarity index ", b"rename from ", b"rename to ")
_LINK: Final = "120000"
_LINE: Final = 52  # bytes in one line of a binary patch
_SHORT: Final = 10  # digits of an abbreviated blob hash
_ESCAPES: Final = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}


class Content(msgspec.Struct, frozen=True):
    mode: str  # "100644", "100755", "120000"
    data: bytes


class PatchStyle(msgspec.Struct, frozen=True):
    context: int = CONTEXT
    ignore_space: bool = False  # ignore differences in white space; `git apply` may refuse the patch
    mail: bool = False  # for a mail
    below: str = ""  # a folder with "/" in front of all paths: that of the workspace in its repository


USUAL: Final = PatchStyle()


class DiffHunk(msgspec.Struct, frozen=True):
    """Differing part of two texts. Starts are 1-based; for an empty side, the line before."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    rows: Sequence[bytes]  # lines with breaks, after ` `, `-` or `+`
    heading: bytes = b""  # the line of the enclosing function


def quoted(path: str, prefix: bytes = b"") -> bytes:
    """Return a path of the journal after `prefix`, quoted as by git where necessary."""
    raw = prefix + disk_path(path).encode("utf-8", "surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in raw):
        return raw
    return b'"' + b"".join(map(_escaped, raw)) + b'"'


def _named(path: str, prefix: bytes, style: PatchStyle) -> bytes:
    """Return the path after `prefix`, in mails quoted as by git, else only if unreadable, as with
    `core.quotePath=off`.
    """
    whole = style.below + path
    readable = not is_escaped(path) and whole.isprintable() and whole == whole.strip() and not {*whole} & {*'"\\'}
    below = style.below.encode("utf-8", "surrogateescape")
    return prefix + whole.encode() if readable and not style.mail else quoted(path, prefix + below)


def _escaped(byte: int) -> bytes:
    if byte in _ESCAPES:
        return b"\\" + _ESCAPES[byte]
    return bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte


# ── a file ───────────────────────────────────────────────────────────────────


def file_patch(
    path: str, old: Content | None, new: Content | None, moved_from: str = "", style: PatchStyle = USUAL
) -> bytes:
    """Return the patch from `old` to `new` at `path`, b"" without a difference. `moved_from`: the path of `old`, if it
    differs. A change between file and link is a removal and a creation.
    """
    if is_remade(old, new):
        return file_patch(moved_from or path, old, None, "", style) + file_patch(path, None, new, "", style)
    before, after = old.data if old else b"", new.data if new else b""
    if is_binary(before, style) or is_binary(after, style):
        return _with_head(path, old, new, moved_from, _binary(before, after), style)
    found = hunks(split(before), split(after), style, path)
    return text_patch(path, old, new, found, moved_from, style)


def text_patch(
    path: str,
    old: Content | None,
    new: Content | None,
    found: Sequence[DiffHunk],
    moved_from: str = "",
    style: PatchStyle = USUAL,
) -> bytes:
    a = _named(moved_from or path, b"a/", style) if old is not None else _NOTHING
    b = _named(path, b"b/", style) if new is not None else _NOTHING
    return _with_head(path, old, new, moved_from, _text(found, a, b) if found else [], style)


def at_name(patch: bytes, path: str, style: PatchStyle = USUAL) -> bytes:
    """Return `patch` as the patch of a file that is named `path` before and after it."""
    a, b = _named(path, b"a/", style), _named(path, b"b/", style)
    names = {b"diff --git ": a + b" " + b, b"--- ": a + _after(a), b"+++ ": b + _after(b)}
    lines = iter(patch.split(b"\n"))
    head: list[bytes] = []
    for line in lines:
        start = next(filter(line.startswith, names), b"")
        if not line.startswith(_RENAME):
            head.append(start + names[start] if start and line[len(start) :] != _NOTHING else line)
        if line.startswith(b"@@ ") or line == BINARY:
            break
    return b"\n".join((*head, *lines))


def _after(name: bytes) -> bytes:
    return b"\t" if b" " in name else b""


def is_remade(old: Content | None, new: Content | None) -> bool:
    """True if a file became a link, or a link a file."""
    return old is not None and new is not None and (old.mode == _LINK) != (new.mode == _LINK)


def is_binary(data: bytes, style: PatchStyle = USUAL) -> bool:
    """True if a patch in this style must have these bytes in binary form."""
    return b"\0" in data or (style.mail and not is_plain(data))


def is_plain(data: bytes) -> bool:
    """True if the bytes can be in a mail unchanged."""
    if b"\0" in data or b"\r" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _with_head(
    path: str, old: Content | None, new: Content | None, moved_from: str, body: Sequence[bytes], style: PatchStyle
) -> bytes:
    moved = bool(moved_from) and moved_from != path
    if not (body or moved or old is None or new is None or old.mode != new.mode) or old is new:
        return b""
    out = [b"diff --git " + _named(moved_from or path, b"a/", style) + b" " + _named(path, b"b/", style)]
    if old is None and new is not None:
        out.append(b"new file mode " + new.mode.encode())
    elif new is None and old is not None:
        out.append(b"deleted file mode " + old.mode.encode())
    elif old is not None and new is not None and old.mode != new.mode:
        out += [b"old mode " + old.mode.encode(), b"new mode " + new.mode.encode()]
    if moved and old is not None and new is not None:
        out.append(b"similarity index %d%%" % _similarity(old.data, new.data))
        out += [b"rename from " + _named(moved_from, b"", style), b"rename to " + _named(path, b"", style)]
    if body or old is None or new is None:
        digits = None if style.mail or body[:1] == [BINARY] else _SHORT
        mode = b" " + new.mode.encode() if old is not None and new is not None and old.mode == new.mode else b""
        out += [b"index " + _name(old)[:digits] + b".." + _name(new)[:digits] + mode, *body]
    return b"\n".join(out) + b"\n"


def _similarity(before: bytes, after: bytes) -> int:
    if before == after:
        return 100
    kept = len(before) - sum(sum(map(len, split(before)[i:j])) for i, j, _, _ in changed(split(before), split(after)))
    return min(kept * 100 // max(len(before), len(after)), 99)


def _name(content: Content | None) -> bytes:
    if content is None:
        return b"0" * 40
    return git_blob_name(content.data).encode()


def git_blob_name(data: bytes) -> str:
    """Return git's sha1 of a blob with these bytes, in hex."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


# ── a text ───────────────────────────────────────────────────────────────────


def split(data: bytes) -> list[bytes]:
    """Return the lines with their breaks, split at LF only."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def changed_lines(before: bytes, after: bytes) -> list[Block]:
    """Return the differing blocks of two texts: lines i..j became lines k..m."""
    return changed(split(before), split(after))


def changed(a: Sequence[bytes], b: Sequence[bytes], ignore_space: bool = False) -> list[Block]:
    if ignore_space:
        a, b = [b"".join(line.split()) for line in a], [b"".join(line.split()) for line in b]
    head, tail = common_lines(a, b)
    found = blocks(a[head : len(a) - tail], b[head : len(b) - tail])
    return [(i + head, j + head, k + head, m + head) for i, j, k, m in found]


def hunks(a: Sequence[bytes], b: Sequence[bytes], style: PatchStyle = USUAL, path: str = "") -> list[DiffHunk]:
    """Return the hunks from lines `a` to `b`; the suffix of `path` selects the pattern of headings."""
    out: list[DiffHunk] = []
    heading_at = _headings(a, _begins_function(path))
    for group in _grouped(changed(a, b, style.ignore_space), style.context):
        pause()
        start, stop = max(group[0][0] - style.context, 0), min(group[-1][1] + style.context, len(a))
        new_start, new_stop = group[0][2] - (group[0][0] - start), group[-1][3] + (stop - group[-1][1])
        rows: list[bytes] = []
        at = start
        for i, j, k, m in group:
            rows += [b" " + line for line in a[at:i]]
            rows += [b"-" + line for line in a[i:j]]
            rows += [b"+" + line for line in b[k:m]]
            at = j
        rows += [b" " + line for line in a[at:stop]]
        old, new = stop - start, new_stop - new_start
        out.append(DiffHunk(start + (old > 0), old, new_start + (new > 0), new, rows, heading_at(start)))
    return out


def _grouped(found: list[Block], context: int) -> Iterator[list[Block]]:
    group: list[Block] = []
    for block in found:
        if group and block[0] - group[-1][1] > 2 * context:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _text(found: Sequence[DiffHunk], a: bytes, b: bytes) -> list[bytes]:
    out = [b"--- " + a + _after(a), b"+++ " + b + _after(b)]
    for hunk in found:
        pause()
        numbers = b"-%d,%d +%d,%d" % (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines)
        out.append(b"@@ " + numbers + b" @@" + (b" " + hunk.heading if hunk.heading else b""))
        for row in hunk.rows:
            if row.endswith(b"\n"):
                out.append(row[:-1])
            else:
                out += [row, NO_NEWLINE]
    return out


# ── functions ────────────────────────────────────────────────────────────────

_ANY_NAME: Final = re.compile(rb"[A-Za-z_$]")
_FUNCTIONS: Final = {
    (".py", ".pyi"): re.compile(rb"[ \t]*(class|(async[ \t]+)?def)[ \t]"),
    (".md", ".markdown"): re.compile(rb" {0,3}#{1,6}[ \t]"),
    (".rs",): re.compile(
        rb"[ \t]*(pub(\([^\)]+\))?[ \t]+)?((async|const|unsafe|extern([ \t]+\"[^\"]+\"))[ \t]+)?"
        rb"(struct|enum|union|mod|trait|fn|impl|macro_rules!)[< \t]"
    ),
    (".go",): re.compile(rb"[ \t]*(func[ \t]|type[ \t].*(struct|interface)[ \t]*\{?)"),
    (".rb",): re.compile(rb"[ \t]*(class|module|def)[ \t]"),
    (".js", ".jsx", ".ts", ".tsx", ".mjs"): re.compile(
        rb"[ \t]*(export[ \t]+)?(default[ \t]+)?(async[ \t]+)?(function|class|interface|enum|namespace)[ \t*]"
        rb"|[A-Za-z_$]"
    ),
}
"""Path suffixes → pattern of a function's first line, after git's own drivers."""


def _begins_function(path: str) -> re.Pattern[bytes]:
    return next((pattern for ends, pattern in _FUNCTIONS.items() if path.endswith(ends)), _ANY_NAME)


def _headings(lines: Sequence[bytes], begins: re.Pattern[bytes]) -> Callable[[int], bytes]:
    """Return a function from a hunk's first line to its heading, to be called in ascending order."""
    looked, found = 0, b""

    def heading_at(start: int) -> bytes:
        nonlocal looked, found
        for line in reversed(lines[looked:start]):
            if begins.match(line):
                found = line[:MOST_HEADING].decode("utf-8", "ignore").encode().strip()
                break
        looked = max(looked, start)
        return found

    return heading_at


# ── bytes ────────────────────────────────────────────────────────────────────


def _binary(before: bytes, after: bytes) -> list[bytes]:
    return [BINARY, *_literal(after), *_literal(before)] if before != after else []


def _literal(data: bytes) -> Iterator[bytes]:
    yield b"literal %d" % len(data)
    packed = zlib.compress(data)
    for at in range(0, len(packed), _LINE):
        piece = packed[at : at + _LINE]
        size = len(piece)
        sign = bytes([size + 64 if size <= 26 else size + 70])
        yield sign + b85encode(piece, pad=True)
    yield b""
