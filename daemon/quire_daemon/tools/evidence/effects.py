"""Changes that a program can make to a file's bytes, by its command line. Pure.

A change that a program cannot make has another writer. In doubt the program can make it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from quire_daemon.tools.evidence.effort import Effort

MOST_COMMANDS: Final = 8
"""Maximum number of commands of a script that are parsed. A longer script may make any change."""

_ADDRESS: Final = re.compile(r"((?:\d+|\$|/[^/\\\n]*/)(?:,\+?(?:\d+|\$|/[^/\\\n]*/))?!?)?\s*")
_FLAGS: Final = re.compile(r"([gmMiI\d]*)\s*(?:[;\n]\s*|$)")
_BEHIND: Final = re.compile(r"\s*(?:[;\n]\s*|$)")
_SPECIAL: Final = frozenset(".*[]^$")
_SPECIAL_EXTENDED: Final = frozenset("+?(){}|")


class Append(NamedTuple):
    """Effect of a program that appends to the file."""

    def can_make(self, before: bytes, after: bytes, effort: Effort) -> bool:
        """True if the program may have turned `before` into `after`. Raises `EffortSpentError`."""
        effort.spend(len(before))
        return after.startswith(before)


class Overwrite(NamedTuple):
    """Effect of a program that replaces the content once and then appends."""

    def can_make(self, before: bytes, after: bytes, effort: Effort) -> bool:
        """Return True, because the program may have made any change."""
        del before, after, effort
        return True


class Substitution(NamedTuple):
    """Replacement of literal texts, `s/OLD/NEW/`, by a stream editor."""

    old: bytes
    new: bytes
    all: bool = False  # every place in a line; otherwise the first
    somewhere: bool = False  # an address selects lines


class ScriptEdit(NamedTuple):
    """Effect of a program that edits or removes each line independently of the others."""

    substitutions: tuple[Substitution, ...] | None  # in order; None: a line may become any other
    deletes: bool = False

    def can_make(self, before: bytes, after: bytes, effort: Effort) -> bool:
        """True if the program may have turned `before` into `after`. Raises `EffortSpentError`."""
        old, new = before.split(b"\n"), after.split(b"\n")
        effort.spend(2 * (len(before) + len(after)), len(old) + len(new))
        if self.deletes:
            left = iter(old)
            return all(any(self._makes(line, made) for line in left) for made in new)
        return len(old) == len(new) and all(map(self._makes, old, new))

    def _makes(self, line: bytes, made: bytes) -> bool:
        if self.substitutions is None:
            return True
        found = {line}
        for one in self.substitutions:
            edited = {text.replace(one.old, one.new, -1 if one.all else 1) for text in found}
            found = found | edited if one.somewhere else edited
        return made in found


Effect = Append | Overwrite | ScriptEdit


def of_sed(scripts: Sequence[str], extended: bool) -> ScriptEdit | None:
    """Return the effect of `sed` with these scripts; None if unknown. `extended`: extended regular expressions."""
    found: list[Substitution] = []
    open_, deletes = False, False
    for command in (one for script in scripts for one in _commands(script, extended)):
        match command:
            case Substitution():
                found.append(command)
            case "s":
                open_ = True
            case "d":
                deletes = True
            case _:
                return None
    if len(found) > MOST_COMMANDS or not (found or open_ or deletes):
        return None
    return ScriptEdit(None if open_ else tuple(found), deletes)


def _commands(script: str, extended: bool) -> Iterator[Substitution | str]:
    at = len(script) - len(script.lstrip(" ;\n\t"))
    while at < len(script):
        address = _ADDRESS.match(script, at)
        assert address is not None, "it may be empty"
        at = address.end()
        if script[at : at + 1] == "s":
            parts, at = _parts(script, at + 1)
            flags = _FLAGS.match(script, at)
            if parts is None or flags is None:
                yield ""
                return
            at = flags.end()
            yield _substitution(parts, flags[1], bool(address[1]), extended)
        else:
            behind = _BEHIND.match(script, at + 1)
            if script[at : at + 1] != "d" or behind is None:
                yield ""
                return
            at = behind.end()
            yield "d"


def _parts(script: str, at: int) -> tuple[tuple[str, str] | None, int]:
    mark, found = script[at : at + 1], [""]
    if mark in ("", "\\", "\n"):
        return None, at
    at += 1
    while at < len(script) and len(found) < 3:
        if script[at] == "\\":
            found[-1] += script[at + 1 : at + 2] if script[at + 1 : at + 2] == mark else script[at : at + 2]
            at += 1
        elif script[at] == mark:
            found.append("")
        else:
            found[-1] += script[at]
        at += 1
    return ((found[0], found[1]), at) if len(found) == 3 else (None, at)


def _substitution(parts: tuple[str, str], flags: str, somewhere: bool, extended: bool) -> Substitution | str:
    if "\n" in parts[0] + parts[1] or "\\n" in parts[0] + parts[1]:
        return ""
    old = _plain(parts[0], _SPECIAL | _SPECIAL_EXTENDED if extended else _SPECIAL)
    new = _plain(parts[1], frozenset("&"))
    if not old or new is None or flags.strip("gmM"):
        return "s"
    return Substitution(old.encode(), new.encode(), "g" in flags, somewhere)


def _plain(text: str, special: frozenset[str]) -> str | None:
    found = ""
    letters = iter(text)
    for letter in letters:
        if letter == "\\":
            letter = next(letters, "")
            if (letter not in _SPECIAL and letter not in "&\\/") or not letter:
                return None
        elif letter in special:
            return None
        found += letter
    return found
