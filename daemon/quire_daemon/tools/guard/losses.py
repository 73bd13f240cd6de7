"""Predicts the losses of a command line: files and changes that its programs discard from the working tree if they
succeed. Pure.

Only programs whose purpose is to discard or remove files count. Text that only the shell can expand, and scripts, are
not predicted: an undo can restore their losses.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from quire_daemon.tools.evidence import (
    GIT_VALUED,
    LISTED,
    OF_NAMES,
    OPEN,
    TOP,
    Invocation,
    invocations,
    joined,
    listing,
    started_programs,
)
from quire_daemon.tools.guard.git_losses import (
    KEEPERS,
    VERBS,
    IndexChange,
    Loss,
    besides,
    git_losses,
    index_changes,
    over,
)

REMOVERS: Final = frozenset({"rm", "shred", "trash", "trash-put", "unlink"})
MOVERS: Final = frozenset({"cp", "gcp", "gmv", "mv"})

_LOOKERS: Final = frozenset({"find", "fd", "fdfind"})

MOST_ALIASES: Final = 4
"""Maximum depth of git aliases that expand to other aliases."""


class LossList(NamedTuple):
    """Losses of a command line, and `unknown`: words that are no known subcommands of git, and may be git aliases."""

    losses: list[Loss]
    unknown: list[str]


def losses(command: str, folder: str, aliases: Mapping[str, str]) -> LossList:
    """Return the losses of a command line that runs in `folder`. `aliases` has the known git aliases by name; "" means
    that there is none.
    """
    found = LossList([], [])
    changes = list[IndexChange]()
    for call in invocations(command, listing, folder):
        for one in started_programs(call):
            for effect in _of_program(one, aliases, found.unknown, MOST_ALIASES):
                placed = _placed(effect, one.folder, folder)
                if isinstance(placed, IndexChange):
                    changes.append(placed)
                elif placed is not None:
                    every = (placed, *besides(placed, changes))
                    found.losses.extend(loss for loss in every if loss not in found.losses)
    return found


def _of_program(
    one: Invocation, aliases: Mapping[str, str], unknown: list[str], depth: int
) -> Iterator[Loss | IndexChange]:
    name, words = one.argv[0], one.argv[1:]
    plain = [word for word in words if not word.startswith("-") or word == "-"]
    if name == "git":
        yield from _of_git(one, aliases, unknown, depth)
    elif name in REMOVERS and plain:
        yield Loss(name, "", tuple(plain), untracked=True, ignored=True)
    elif name in MOVERS and not {"-n", "--no-clobber"} & {*words}:
        at = next((n for n, word in enumerate(words) if word in ("-t", "--target-directory")), -1)
        ordered = plain if at < 0 else [word for word in plain if word != words[at + 1]] + [*words[at + 1 : at + 2]]
        yield Loss(name, "", over(ordered), untracked=True, ignored=True, inside=False)
    elif name in _LOOKERS and "-delete" in words:
        yield Loss("find -delete", "", tuple(listing(one)), untracked=True, ignored=True)
    elif name == "rsync" and any(word.startswith("--del") for word in words) and plain:
        yield Loss("rsync --delete", "", (plain[-1],), untracked=True, ignored=True)


def _of_git(
    one: Invocation, aliases: Mapping[str, str], unknown: list[str], depth: int
) -> Iterator[Loss | IndexChange]:
    verb, words, folder, given = _split(one.argv, one.folder)
    known = {**aliases, **given}
    yield from (change._replace(folder=folder) for change in index_changes(verb, words))
    if verb in VERBS:
        yield from (loss._replace(folder=folder) for loss in git_losses(verb, words))
    elif verb and verb not in KEEPERS and OPEN not in verb and depth:
        if verb not in known:
            unknown.append(verb)
        elif known[verb].startswith("!"):
            line = f"{known[verb][1:]} {shlex.join(words)}"
            for call in invocations(line, listing, folder):
                for inner in started_programs(call):
                    for loss in _of_program(inner, known, unknown, depth - 1):
                        yield loss._replace(folder=loss.folder or inner.folder)
        elif known[verb]:
            argv = ("git", *_words(known[verb]), *words)
            yield from _of_git(one._replace(argv=argv, folder=folder), known, unknown, depth - 1)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _split(argv: Sequence[str], folder: str) -> tuple[str, tuple[str, ...], str, dict[str, str]]:
    """Return (subcommand, words after it, its working folder, aliases defined by `-c` options) of a git command."""
    aliases: dict[str, str] = {}
    words = [*argv[1:]]
    while words and words[0].startswith("-"):
        option, equals, value = words.pop(0).partition("=")
        if option in GIT_VALUED and not equals:
            value = words.pop(0) if words else ""
        if option in ("-C", "--work-tree"):
            folder = joined(folder, value)
        elif option == "-c" and not equals and value.startswith("alias."):
            name, _, meant = value.removeprefix("alias.").partition("=")
            aliases[name] = meant
    return (words[0] if words else ""), tuple(words[1:]), folder, aliases


def _placed(loss: Loss | IndexChange, folder: str, base: str) -> Loss | IndexChange | None:
    """Return the loss or change with absolute paths, in the program's `folder`, or `base` if only the shell knows that;
    None if only the shell knows the paths.
    """
    at = loss.folder or folder
    at = base if OPEN in at else at
    paths = tuple(path for path in (_path(word, at) for word in loss.paths) if path)
    return None if loss.paths and not paths else loss._replace(folder=_topped(at), paths=paths)


def _path(word: str, folder: str) -> str:
    """Return a word as an absolute path, or as `:/…` relative to the top of the checkout; "" if only the shell can
    expand it.
    """
    if LISTED in word:
        top, _, listed = word.rpartition(LISTED)
        listed, _, glob = listed.partition(OF_NAMES)
        word = "/".join(part for part in (top.rstrip("/"), listed, "**" if glob else "", glob) if part)
    if OPEN in word or word.startswith("~"):
        return ""
    if word.startswith((":/", ":(top)")):
        return ":/" + word.removeprefix(":/").removeprefix(":(top)")
    return "" if word.startswith(":") else _topped(joined(folder, word))


def _topped(path: str) -> str:
    return f":/{path[len(TOP) :].lstrip('/')}" if path.startswith(TOP) else path
