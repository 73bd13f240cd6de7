"""Kind of program that a command line runs, for display: `build (make)`, `formatter (ruff format)`. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from quire_daemon.tools.evidence.program_writes import called_programs
from quire_daemon.tools.evidence.programs import (
    FORMATS,
    FORMATTERS,
    GENERATORS,
    OUTPUT,
    PACKAGERS,
    RUNNERS,
    UNPACKERS,
    CallForm,
)

BUILD: Final = "build"
FORMATTER: Final = "formatter"

_BUILDS: Final = frozenset({"b", "bench", "build", "c", "check", "doc", "r", "run", "t", "test", "vet"})
"""Subcommands of package managers that build."""

MOST_KEPT: Final = 64


class ProgramKind(NamedTuple):
    """Kind and name of a program for display."""

    kind: str  # build, formatter, generator, packages, archive
    called: str  # the program with its subcommand or target


@lru_cache(MOST_KEPT)
def program_kind(command: str) -> ProgramKind | None:
    """Return the kind of the first program of a known kind in a command line; None if there is none."""
    return next((found for name, argv in called_programs(command) if (found := _kind(name, argv)) is not None), None)


def _kind(name: str, argv: tuple[str, ...]) -> ProgramKind | None:
    words = [word for word in argv[1:] if not word.startswith("-")]
    for called in (f"{name} {words[0]}" if words else "", name):
        if called in RUNNERS:
            target = next(iter(words[called.count(" ") :]), "")
            kind = FORMATTER if FORMATS.search(target) else BUILD
            return ProgramKind(kind, f"{called} {target}".strip())
    for kind, forms in (("formatter", FORMATTERS), ("generator", GENERATORS), ("packages", PACKAGERS)):
        if (form := _form(name, words, argv, forms)) is not None:
            built = (kind == "packages" and form.called.rpartition(" ")[2] in _BUILDS) or "dist/**" in form.files
            return ProgramKind(BUILD if built else kind, form.called)
    if name in OUTPUT and name not in ("sort", "tsort", "openssl"):
        return ProgramKind(BUILD, name)
    return ProgramKind("archive", name) if name in UNPACKERS and name != "patch" else None


def _form(name: str, words: list[str], argv: tuple[str, ...], forms: tuple[CallForm, ...]) -> CallForm | None:
    options = {word.partition("=")[0] for word in argv} | {*argv}
    fitting = [
        form
        for form in forms
        if form.called.split(" ") == [name, *words[: form.called.count(" ")]]
        and (not form.needs or not options.isdisjoint(form.needs))
        and options.isdisjoint(form.unless)
    ]
    return max(fitting, key=lambda form: len(form.called), default=None)
