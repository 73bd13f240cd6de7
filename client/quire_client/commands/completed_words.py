"""Shell completion of the last word on a `quire` command line, by the placeholders in the help."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from quire_client.commands.base import Command
from quire_client.commands.options import COMMON, VERSION_OPTION, Option
from quire_client.commands.table import COMMANDS, offered

FILES, FOLDERS, POINTS, RECORDS = "files", "folders", "points", "records"
FILE_OR_POINT = "files, with a point behind @"

KINDS: Final = {
    "PATH@POINT": FILE_OR_POINT,
    "PATH[@POINT]": FILE_OR_POINT,
    "PATH": FILES,
    "FILE": FILES,
    "DIR": FOLDERS,
    "POINT": POINTS,
    "CURSOR": POINTS,
    "NAME": POINTS,
    "A..B": POINTS,
    "WHO": "writers",
    "WRITER": "writers",
    "TOOL": "tools",
    "DIALECT": "tools",
    "KIND": RECORDS,
}
"""Placeholder → kind of words to complete; other placeholders have none."""

_OWN: Final = {"workspace": FOLDERS, "state-dir": FOLDERS, "agent": "", "session": ""}
_VALUE: Final = re.compile("|".join(re.escape(word) for word in sorted(KINDS, key=len, reverse=True)))


class Slot(NamedTuple):
    """The possible words at one position of a command line."""

    words: tuple[tuple[str, str], ...] = ()  # each with its meaning
    kinds: tuple[str, ...] = ()
    prefix: str = ""  # part of the typed word before the completion


class Offer(NamedTuple):
    """The completions for a shell."""

    words: list[tuple[str, str]]
    paths: str = ""  # "files" or "folders", completed by the shell


def completed(typed: Sequence[str], names: Callable[[str], Iterable[str]]) -> Offer:
    """Return completions of the last word of `typed` (without `quire`). `names` returns the journal's names of a kind,
    such as checkpoints.
    """
    current = typed[-1] if typed else ""
    slot = _slot(typed[:-1], current)
    words = list(slot.words)
    for kind in slot.kinds:
        if kind == RECORDS:
            words += [(word, "") for word in _records()]
        elif kind not in (FILES, FOLDERS, FILE_OR_POINT):
            words += [(word, "") for word in names(kind)]
    paths = FOLDERS if FOLDERS in slot.kinds else FILES if {FILES, FILE_OR_POINT} & {*slot.kinds} else ""
    fitting = [(slot.prefix + word, meaning) for word, meaning in words if (slot.prefix + word).startswith(current)]
    return Offer(fitting, paths)


def _slot(before: Sequence[str], current: str) -> Slot:
    name, number, waiting = "", 0, None
    for word in before:
        if waiting is not None:
            waiting = None
        elif word.startswith("-"):
            option = _option(word, name)
            waiting = option if option is not None and option.value else None
        elif not name:
            name = word
        else:
            number += 1
    if waiting is not None:
        return value(waiting)
    if current.startswith("-"):
        spelled, sign, _ = current.partition("=")
        option = _option(spelled, name) if sign else None
        return value(option)._replace(prefix=f"{spelled}=") if option is not None else Slot(_spelled(name))
    if not name:
        return Slot((*COMMANDS.items(), ("help", "Explain a command")))
    return _argument(name, number, current)


def _argument(name: str, number: int, current: str) -> Slot:
    if name == "help":
        return Slot(tuple(COMMANDS.items()) if number == 0 else ())
    command = _command(name)
    if command is None:
        return Slot()
    first, _, rest = command.arguments.partition(" ")
    if " | " in command.arguments and not command.words:  # alternatives
        first, rest = command.arguments, ""
    if number == 0 and (words := command.words or _literal(first)):
        return Slot(tuple((word, "") for word in words), _kinds(first))
    slot = Slot((), _kinds(first if number == 0 else rest))
    path, sign, _ = current.rpartition("@")
    return Slot((), (POINTS,), f"{path}@") if sign and FILE_OR_POINT in slot.kinds else slot


def _command(name: str) -> Command | None:
    return offered(name) if name in COMMANDS else None


def _options(name: str) -> tuple[Option, ...]:
    command = _command(name)
    return (*(command.options if command is not None else ()), *COMMON, *(() if name else (VERSION_OPTION,)))


def _option(spelled: str, name: str) -> Option | None:
    word = spelled.lstrip("-")
    return next((one for one in _options(name) if word and word in (one.name, one.short, *one.also)), None)


def _spelled(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"--{option.name}", option.meaning) for option in _options(name))


def value(option: Option) -> Slot:
    if option.choices or option in COMMON:
        return Slot(tuple((word, "") for word in option.choices), tuple(filter(None, [_OWN.get(option.name)])))
    return Slot((), _kinds(option.value))


def _literal(usage: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[\[\]|\s]+", usage) if re.fullmatch("[a-z][a-z-]+", word))


def _kinds(usage: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(KINDS[found] for found in _VALUE.findall(usage)))


def _records() -> tuple[str, ...]:
    from quire_journal.model import BY_KIND

    return tuple(sorted(BY_KIND))
