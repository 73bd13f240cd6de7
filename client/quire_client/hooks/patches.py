"""Parses patches in the `apply_patch` envelope, also inside shell commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from quire_client.hooks.base import Intent

UPDATE: Final = "*** Update File: "
MOVE: Final = "*** Move to: "
HEADERS: Final = ("*** Add File: ", "*** Delete File: ", UPDATE, MOVE)

_FOLDER: Final = r"""(?:\bcd\s+(?P<folder>'[^'\n]*'|"[^"\n$`]*"|[^\s'"$`;&|]+)\s*&&\s*)?"""
_BEGIN: Final = r"""\b(?:apply_patch|applypatch)\s*<<-?\s*(?P<quote>['"]?)(?P<end>\w+)(?P=quote)[^\n]*\n"""
_HEREDOC: Final = _FOLDER + _BEGIN + r"(?P<patch>.*?)\n(?P=end)[ \t]*(?=\n|$)"


def rows(patch: str) -> Iterator[tuple[str, str, str]]:
    """Yield (header, file name, line) for each line of a patch; header and name are "" unless the line is a file's
    header.
    """
    updating = False
    for whole in patch.split("\n"):
        row = whole.removesuffix("\r")
        said = row if updating else row.strip()
        header = next((header for header in HEADERS if said.startswith(header)), "")
        if header:
            updating = header in (UPDATE, MOVE)
        yield header, said[len(header) :].strip() if header else "", row


def in_patch(patch: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (paths of the patch's files, texts that its hunks replace)."""
    paths: list[str] = []
    hunks: list[list[str]] = [[]]
    blank = 0  # unmarked empty lines; they are lines of the file if further lines of the hunk follow
    for header, name, row in rows(patch):
        if header:
            paths.append(name)
        if header or row.startswith("@@"):
            hunks.append([])
            blank = 0
        elif not row:
            blank += 1
        elif row[0] in " -":
            hunks[-1] += [*[""] * blank, row[1:]]
            blank = 0
    return tuple(dict.fromkeys(path for path in paths if path)), tuple("\n".join(hunk) for hunk in hunks if hunk)


def renamed(patch: str, name_of: Callable[[str], str | None]) -> str:
    """Return the patch with its files renamed by `name_of`, without files for which it returns None."""
    kept: list[str] = []
    named = True
    for header, name, row in rows(patch):
        if header:
            other = name_of(name)
            named = other is not None if header != MOVE else named
            row = f"{header}{name if other is None else other}"
        if named or row.strip() == "*** End Patch":
            kept.append(row)
    return "\n".join(kept)


def of_call(intent: Intent, patch: str) -> Intent | None:
    """Return `intent` with paths and payload of the patch that the call applies; None if the patch names no file."""
    paths, replaces = in_patch(patch)
    payload = {"kind": "patch", "text": patch}
    return intent._replace(paths=paths, replaces=replaces, payloads=(payload,)) if paths else None


def in_shell(command: str) -> tuple[str, bool]:
    """Return (patches, alone): the text of all patches that the command passes to `apply_patch` as here-documents, ""
    for none, and True if the command is one such call and nothing else.
    """
    if "*** Begin Patch" not in command:
        return "", False
    import re  # imported late: an event without a patch does not need it

    found = list(re.finditer(_HEREDOC, command, re.DOTALL))
    patches = [_below((match["folder"] or "").strip("'\""), match["patch"]) for match in found]
    alone = len(found) == 1 and found[0][0] == command.strip()
    return "\n".join(patches), alone


def _below(folder: str, patch: str) -> str:
    return renamed(patch, lambda name: os.path.join(folder, name)) if folder else patch
