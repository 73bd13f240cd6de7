"""Tables of programs that agents call, and the files that they write (`programs.toml`). Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pkgutil import get_data
from typing import Any, Final, NamedTuple

from quire_daemon.tools.evidence.targets import Layout

_TABLES: Final[dict[str, Any]] = tomllib.loads((get_data(__package__, "programs.toml") or b"").decode())


def _names(table: str) -> frozenset[str]:
    return frozenset(_TABLES[table].split())


def _options(table: str) -> dict[str, frozenset[str]]:
    return {called: frozenset(options.split()) for called, options in _TABLES[table].items()}


def _globs(files: str) -> tuple[str, ...]:
    return tuple((_TABLES["globs"][files[1:]] if files.startswith("$") else files).split())


READERS: Final = _names("readers")
QUIET: Final = _names("quiet")
OPERANDS: Final = _names("operands")
OUTPUT: Final = _names("output")
LAST: Final = _names("last")
SHELLS: Final = _names("shells")
UNPACKERS: Final = _names("unpackers")
WRAPPERS: Final = _options("wrappers")
INTERPRETERS: Final = _options("interpreters")
RUNNERS: Final = _options("runners")
LANGUAGES: Final = {runner: _globs(files) for runner, files in _TABLES["languages"].items()}

WRITES: Final = re.compile(
    r"write|dump|save|remove|unlink|rmtree|rename|replace|copy|move|touch|mkdir|truncate|append|chmod|symlink"
    r"|File\.open|file_put_contents|createWriteStream|to_(?:csv|json|parquet|excel|yaml)"
    r"|[\"'](?:[wax]b?\+?t?|r\+b?|[wax]t)[\"']|>>?\s*[\"']|open\s*\([^)]*[\"']>",
)
"""Pattern of program text (`python -c`) that may write files; other program text writes none."""

DOES: Final = re.compile(
    r"fmt|format|prettier|fix|gen|proto|codegen|docs?\b|snap|update|upgrade|install|setup|init|clean|migrat|lock|vendor"
    r"|bump|release|version|sync|scaffold|i18n|locale|messages|bootstrap|compile-req|write|new\b|create|rename"
)
"""Pattern of names of a project's targets or scripts that change files. Names of tests and servers do not match."""

FORMATS: Final = re.compile(r"fmt|format|prettier|fix|lint|style")
"""Pattern of names of targets that change layout."""


class CallForm(NamedTuple):
    """Writes of a program with certain subcommands and options."""

    called: str  # program and subcommands
    files: tuple[str, ...] = ()  # globs of written files; empty: any
    needs: tuple[str, ...] = ()  # one of these options is required
    unless: tuple[str, ...] = ()  # options that make it read-only
    named: bool = False  # writes the named paths and below; by default, below its folder
    layout: Layout = "never"


def _formatters() -> Iterator[CallForm]:
    for called, row in _TABLES["formatters"].items():
        needs, unless = row.get("needs", "").split(), row.get("unless", "--check --diff").split()
        layout: Layout = "only" if row.get("only_layout") else "maybe"
        yield CallForm(called, _globs(row.get("files", "")), tuple(needs), tuple(unless), True, layout)


def _generators() -> Iterator[CallForm]:
    for called, row in _TABLES["generators"].items():
        needs, unless = row.get("needs", "").split(), row.get("unless", "").split()
        yield CallForm(called, _globs(row.get("files", "")), tuple(needs), tuple(unless))


def _packagers() -> Iterator[CallForm]:
    for row in _TABLES["packagers"]:
        for verb in row.get("verbs", "").split() or ("",):
            yield CallForm(f"{row['called']} {verb}".strip(), _globs(row.get("files", "")))


def _by_program(*forms: CallForm) -> dict[str, tuple[CallForm, ...]]:
    found: dict[str, list[CallForm]] = {}
    for one in forms:
        found.setdefault(one.called.partition(" ")[0], []).append(one)
    return {name: tuple(rows) for name, rows in found.items()}


FORMATTERS: Final = tuple(_formatters())
GENERATORS: Final = tuple(_generators())
PACKAGERS: Final = tuple(_packagers())

CHANGES: Final = _by_program(*FORMATTERS, *GENERATORS, *PACKAGERS)
