"""Formats diffs: patches for `git apply`, line counts, names, changed words."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render

if TYPE_CHECKING:
    from quire_client.api import Client

MOST_PATHS: Final = 100
MOST_PATH: Final = 4096

LETTERS: Final = {"added": "A", "removed": "D"}
_WORD: Final = re.compile(r"\w+|\s+|.", re.DOTALL)
_BINARY: Final = "GIT binary patch"


def whole(client: Client, reply: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to `asked` completed with its further pages and the full diffs of truncated files."""
    from quire_journal.model import shown_path  # distinguishes two files whose shown names are equal

    files: dict[str, dict[str, Any]] = {}
    page = reply
    while True:
        files |= {shown_path(file): file for file in page.get("files") or ()}
        if not page.get("next"):
            break
        page = client.call("diff", {**asked, "from": page["from"], "to": page["to"], "cursor": page["next"]})
        if not page.get("ok"):
            return page
    left = [path for path, file in files.items() if file.get("truncated") and not file.get("moved_from")]
    while left:
        some = left[:MOST_PATHS]
        wanted = {**asked, "from": reply["from"], "to": reply["to"], "paths": some}
        more = client.call("diff", {name: value for name, value in wanted.items() if name != "cursor"})
        told = {shown_path(file): file for file in more.get("files") or () if not file.get("truncated")}
        fitting = {path: told[path] for path in some if path in told}
        files |= fitting
        # If no file fits, each is larger than a reply.
        left = [path for path in left if path not in fitting] if fitting else left[len(some) :]
    made = [_made(client, file, asked) if file.get("truncated") else file for file in files.values()]
    return {**reply, "files": made}


def _made(client: Client, file: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    from quire_client.export import ExportStop, bytes_of
    from quire_journal.export import CONTEXT, Content, PatchStyle, file_patch
    from quire_journal.model import shown_path

    sides = file.get("sides") or ()
    if not sides:
        return file
    try:
        held = {address: data or b"" for address, data in bytes_of(client, [one["sha256"] for one in sides if one])}
    except ExportStop:
        return file
    old, new = (Content(side["mode"], held[side["sha256"]]) if side else None for side in sides)
    style = PatchStyle(asked.get("context", CONTEXT), asked.get("ignore_space", False), below=asked.get("below", ""))
    moved_from = shown_path(sides[0]) if file.get("moved_from") else ""
    patch = file_patch(shown_path(file), old, new, moved_from, style)
    return {**file, "patch_base64": base64.b64encode(patch).decode("ascii"), "truncated": False}


# ── patches ──────────────────────────────────────────────────────────────────


def patches(reply: Mapping[str, Any], colours: render.Palette) -> Iterator[str]:
    """Yield a diff's lines: without control characters on a terminal, else as `git apply` takes them. A file without a
    patch is named on a line after `#`.
    """
    clean = _for_terminal if sys.stdout.isatty() else _as_it_is
    for file in reply.get("files") or ():
        patch = _patch(file)
        if not patch:
            yield f"# {_named(file)}: {_without_patch(file)}"
            continue
        if file.get("probable"):
            yield f"# {_named(file)}: a part is only probable (~)"
        if file.get("others"):
            yield f"# {_named(file)}: also changed by {render.one_line(', '.join(file['others']))}"
        yield from map(colours.diff_line, clean(patch))


def _patch(file: Mapping[str, Any]) -> str:
    if "patch_base64" in file:
        return base64.b64decode(file["patch_base64"]).decode("utf-8", "surrogateescape")
    return str(file.get("patch") or "")


def _as_it_is(patch: str) -> Iterator[str]:
    yield from patch.removesuffix("\n").split("\n")


def _for_terminal(patch: str) -> Iterator[str]:
    binary = False
    for line in _as_it_is(patch):
        if line == _BINARY:
            yield "Binary files differ"
        binary = line == _BINARY or (binary and not line.startswith("diff --git "))
        if not binary:
            yield _cleaned(line)


def _cleaned(line: str) -> str:
    text = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return render.clean(text, keep="\t") + ("^M" if line.endswith("\r") else "")


def _named(file: Mapping[str, Any]) -> str:
    old = f"{render.one_line(file['moved_from'], MOST_PATH)} -> " if file.get("moved_from") else ""
    return old + render.one_line(file.get("path", "?"), MOST_PATH)


def _without_patch(file: Mapping[str, Any]) -> str:
    entry = f"{render.one_line(file['entry'])} " if file.get("entry") else ""
    status = f"{entry}{render.one_line(file.get('status', 'changed'))}"
    if file.get("truncated"):
        return f"{status}; too long to be shown, `quire show` and `quire cat` print the whole of it"
    if file.get("mode"):
        return f"mode {' -> '.join(map(render.one_line, file['mode']))}"
    if file.get("binary") is False:
        return f"{status}; its bytes are not in the journal"
    return f"{status}, binary" if file.get("binary") else status


# ── counts and names ─────────────────────────────────────────────────────────


def counts(reply: Mapping[str, Any], colours: render.Palette) -> Iterator[str]:
    """Yield the numbers of added and removed lines of each file, and in total."""
    rows: list[tuple[str, str]] = []
    added = removed = 0
    for file in reply.get("files") or ():
        came, went = counted_lines(file)
        told = f"+{came} -{went}" if _patch(file) and not file.get("binary") else _without_patch(file)
        if file.get("mode") and not (came or went):
            told = f"mode change {' => '.join(f'100{render.one_line(mode)[-3:]}' for mode in file['mode'])}"
        rows.append((told, _named(file)))
        added, removed = added + came, removed + went
    if rows:
        yield from render.columns(rows, render.terminal_width())
    if len(rows) > 1:
        yield colours.paint(f"{render.counted(len(rows), 'file')}, +{added} -{removed}", "bold")


def counted_lines(file: Mapping[str, Any]) -> tuple[int, int]:
    if "hunks" in file:
        rows = [row for hunk in file["hunks"] for row in hunk["lines"]]
    else:
        rows = _patch(file).split("\n")
        begin = next((at for at, row in enumerate(rows) if row.startswith("+++ ")), len(rows)) + 1
        rows = [] if _BINARY in rows[:begin] else rows[begin:]
    return sum(row.startswith("+") for row in rows), sum(row.startswith("-") for row in rows)


def names(reply: Mapping[str, Any], colours: render.Palette) -> Iterator[str]:
    return (_exact(file) for file in reply.get("files") or ())


def names_with_status(reply: Mapping[str, Any], colours: render.Palette) -> Iterator[str]:
    """Yield the paths of changed files after a status letter: A, D, M, R."""
    for file in reply.get("files") or ():
        if file.get("moved_from"):
            yield f"R\t{_exact({'path': file['moved_from']})}\t{_exact(file)}"
        else:
            yield f"{LETTERS.get(file.get('status', ''), 'M')}\t{_exact(file)}"


def _exact(file: Mapping[str, Any]) -> str:
    return render.path(file.get("path", "?"))


# ── words ────────────────────────────────────────────────────────────────────


def words(reply: Mapping[str, Any], colours: render.Palette) -> Iterator[str]:
    """Yield diffs by words: removed ones in `[-…-]`, added ones in `{+…+}`."""
    for file in reply.get("files") or ():
        if not file.get("hunks"):
            yield from patches({"files": [file]}, colours)
            continue
        yield colours.paint(_named(file), "bold")
        for hunk in file["hunks"]:
            yield colours.paint(_hunk_head(hunk), "cyan")
            yield from _hunk_words(hunk["lines"], colours)


def _hunk_head(hunk: Mapping[str, Any]) -> str:
    old, new = f"-{hunk['old_start']},{hunk['old_lines']}", f"+{hunk['new_start']},{hunk['new_lines']}"
    return f"@@ {old} {new} @@ {render.clean(hunk.get('heading', ''))}".rstrip()


def _hunk_words(rows: Sequence[str], colours: render.Palette) -> Iterator[str]:
    went: list[str] = []
    came: list[str] = []
    for row in (*rows, ""):
        if row[:1] == "-":
            went.append(row[1:])
        elif row[:1] == "+":
            came.append(row[1:])
        else:
            if went or came:
                yield from changed_words("\n".join(went), "\n".join(came), colours.paint).split("\n")
            went, came = [], []
            if row:
                yield render.clean(row[1:], keep="\t")


def changed_words(before: str, after: str, paint: Callable[[str, str], str]) -> str:
    """Return both texts merged into one, with removed and added words marked, and painted by `paint` (text, colour)."""
    from quire_journal.text import blocks, common_lines

    a, b = (_WORD.findall(render.clean_text(text)) for text in (before, after))
    head, tail = common_lines(a, b)
    out = a[:head]
    at = head
    for i, j, k, m in blocks(a[head : len(a) - tail], b[head : len(b) - tail]):
        out += b[k + head - (i + head - at) : k + head]  # the common part before it
        out += _between("[-", a[i + head : j + head], "-]", "red", paint)
        out += _between("{+", b[k + head : m + head], "+}", "green", paint)
        at = j + head
    return "".join([*out, *a[at:]])


def _between(begin: str, parts: Sequence[str], end: str, colour: str, paint: Callable[[str, str], str]) -> list[str]:
    if not parts:
        return []
    lines = "".join(parts).split("\n")
    return ["\n".join(paint(f"{begin}{line}{end}", colour) if line else "" for line in lines)]
