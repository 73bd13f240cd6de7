"""Filters of records by path, writer, agent session, turn, kind and burst. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from quire_daemon.config import globs
from quire_daemon.tools.history.writers import ME, WRITER_ID, Ownership, Whose, agents_named
from quire_journal.history import History, parse_point
from quire_journal.model import (
    BY_KIND,
    FOLDER,
    BytesDisplaced,
    Record,
    Refusal,
    did_you_mean,
    inside_escaped,
    is_escaped,
    journal_path,
    parse_tag,
    paths_of,
    percent_escaped,
    unescaped,
)
from quire_journal.views import OUTSIDE_WRITES, TOOL_WRITES
from quire_journal.views.indexes import term_index

VERSION_KINDS: Final = frozenset(event.kind for event in (*TOOL_WRITES, *OUTSIDE_WRITES, BytesDisplaced))
"""Kinds of records that create a version of a path or hold displaced bytes."""

SHOWN_KINDS: Final = VERSION_KINDS | {"checkpoint_named", "checkpoint_dropped", "git_ran"}
"""Kinds of records listed by default."""

BURST_KINDS: Final = frozenset({"burst_begun", "burst_ended"})

_STARS: Final = re.compile(r"[*?]")


def stretch_between(since: str, until: str, history: History) -> tuple[int, int]:
    """Return (record before the first, last record) of the stretch between two points; "" means the beginning or the
    end of the log. Raises `Refusal` if the points are in the wrong order.
    """
    after = int(parse_point(since, history, "since")) if since else 0
    upto = int(parse_point(until, history, "until")) if until else int(history.head())
    if since and until and after > upto:
        message = f"since: {since[:80]!r} is later than {until[:80]!r} of until, so nothing is between them; swap them."
        raise Refusal("schema_invalid", message, argument="since")
    return after, upto


def relative_path(given: str) -> str:
    """Return a path argument as the journal spells it, without following links. Raises `Refusal` for a path outside the
    workspace.
    """
    plain = posixpath.normpath(given)
    if plain == ".." or plain.startswith(("../", "/")):
        raise _outside(given)
    return plain


def _outside(given: str) -> Refusal:
    return Refusal("outside_workspace", f"{given} leads out of the workspace.", path=given)


def known_path(given: str, history: History) -> str:
    """Return a path as `relative_path`, with a percent-escaped name decoded unless a file has that literal name."""
    plain = relative_path(given)
    disk = unescaped(plain)
    return plain if disk is None or history.file(plain) is not None else journal_path(disk)


def as_glob(given: str, history: History) -> str | None:
    """Return the glob as the journal spells paths; None for a plain name, or if a known name has its `[` literally.
    Raises `Refusal` for a glob outside the workspace.
    """
    if not globs.is_glob(given):
        return None
    plain = posixpath.normpath(given)
    if not globs.is_glob(plain) or history.file(plain) is not None:
        return None
    if "[" in plain and not _STARS.search(plain):  # `[x]` may be a folder's literal name
        inside = f"{plain}/"
        if history.path_numbers(f"in {inside}", lambda path: path.startswith(inside), inside, most=0):
            return None
    if plain.startswith("../"):
        raise _outside(given)
    return f"{plain}/" if given.endswith("/") else plain


def named_paths(path: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments `path` and `paths` without duplicates. Raises `Refusal` for an empty entry."""
    if "" in paths:  # ignoring it would select everything
        raise Refusal("schema_invalid", "paths: one of them is empty; `.` names everything.", argument="paths")
    return tuple(dict.fromkeys((path, *paths) if path else paths))


def glob_matches(glob: str) -> Callable[[str], object]:
    """Return the predicate of a glob on paths (`globs.matches`). Raises `Refusal` for an invalid glob."""
    try:
        return globs.matches(glob)
    except ValueError as error:
        raise Refusal("schema_invalid", f"path: {glob!r} is not a glob: {error}.", argument="path") from None


def path_filter(given: str, history: History) -> Callable[[str], object]:
    """Return a predicate on paths for a file, everything in a folder, or a glob as in `.gitignore`; its result is
    truthy or falsy. Raises `Refusal` for an invalid glob and a path outside the workspace.
    """
    if not given:
        return lambda path: True
    glob = as_glob(given, history)
    if glob is not None:
        fits = glob_matches(glob)
        if "/" not in glob:
            return fits
        return lambda path: fits(percent_escaped(path) if is_escaped(path) else path)
    wanted = known_path(given, history)
    if wanted == ".":
        return lambda path: True
    names = {wanted, inside_escaped(wanted)}  # a folder can hold names that are not UTF-8
    return re.compile(f"(?:{'|'.join(map(re.escape, names))})(?:/|\\Z)").match


def common_part(given: str, history: History) -> str:
    """Return a text that all paths which `path_filter` admits contain; "" if none is known."""
    glob = as_glob(given, history)
    if glob is not None:
        return globs.common_part(glob)
    wanted = known_path(given, history)
    return wanted if wanted != "." and wanted in inside_escaped(wanted) else ""


def single_path(given: str, history: History) -> str | None:
    """Return the one file that `given` names; None for a glob, a folder or an unknown path."""
    if not given:
        return None
    try:
        wanted = known_path(given, history)
    except Refusal:
        return None
    head = history.file(wanted)
    return wanted if head is not None and head.entry != FOLDER else None


def named_burst(named: int | str, history: History) -> int:
    """Return the number of an existing burst. Raises `Refusal` if there is none of this number."""
    if isinstance(named, str):
        if not (named.isascii() and named.isdigit() and len(named) < 19):
            raise Refusal("schema_invalid", f"burst: {named!r} is not the number of a burst.", argument="burst")
        named = int(named)
    if history.burst(named) is None:
        raise Refusal("not_found", f"There is no burst {named}.", "list_bursts", burst=named)
    return named


def named_kinds(asked: str | list[str]) -> frozenset[str]:
    """Return the requested kinds of records, or `SHOWN_KINDS` if none is named. Raises `Refusal` for an unknown
    kind.
    """
    named = frozenset([asked] if isinstance(asked, str) else asked) - {""}
    unknown = sorted(named - BY_KIND.keys())
    if unknown:
        nearest = did_you_mean(unknown[0], BY_KIND)
        raise Refusal(
            "schema_invalid",
            f"kind: there is no kind {unknown[0]!r}." + (nearest or f" The kinds are {', '.join(sorted(BY_KIND))}."),
            argument="kind",
            kinds=sorted(BY_KIND),
        )
    return named or SHOWN_KINDS


def is_about(record: Record, path: Callable[[str], object], earlier: Mapping[str, int]) -> bool:
    """True if a record names a path that fits, or a name in `earlier`, up to the record given there, at which the file
    had that name last.
    """
    return any(path(name) or record.seq <= earlier.get(name, 0) for name in paths_of(record.event()))


class Filter(msgspec.Struct, frozen=True):
    """Conditions on the records to list."""

    history: History
    kinds: frozenset[str]
    writer: str = ""  # as `Whose` takes it
    agent: str = ""
    agent_session: str = ""
    turn: str = ""
    path: Callable[[str], object] | None = None
    burst: int = 0
    earlier: Mapping[str, int] = {}  # earlier names of the file at the path, as `earlier_names`

    def sought(self) -> list[term_index.Alternatives]:
        """Return the index terms that every admitted record has, the rarest first."""
        found: list[term_index.Alternatives] = []
        if self.turn:
            found.append([term_index.of_turn(self.turn)])
        if self.agent_session:
            found.append([term_index.of_session(self.agent_session)])
        if self.agent:
            found.append([term_index.of_agent(self.agent)])
        found += self._writer_terms()
        found.append([term_index.of_kind(kind) for kind in sorted(self.kinds)])
        return found

    def _writer_terms(self) -> list[term_index.Alternatives]:
        if not self.writer:
            return []
        by_id = WRITER_ID.fullmatch(self.writer)
        if self.writer == ME:
            return [[term_index.OUTSIDE_TERM, term_index.of_agent("")]]
        if by_id is None:
            return [
                [term_index.OUTSIDE_TERM]
                if self.writer == "outside"
                else [*map(term_index.of_agent, agents_named(self.writer))]
            ]
        who = self.history.writer(int(by_id[1]))
        return [[]] if who is None else [[term] for term in term_index.of_writer(who)]

    def claiming(self) -> Callable[[Record], Ownership]:
        """Return record → how surely the record is of the named writer, `NONE` if the record fails another
        condition.
        """
        whose = Whose(self.history, self.writer, self.agent, self.agent_session, self.turn)

        def claim(record: Record) -> Ownership:
            if parse_tag(record.kind)[0] not in self.kinds:
                return Ownership.NONE
            found = whose.of_record(record)
            if found and self.burst and not self._of_the_burst(record):
                return Ownership.NONE
            if found and self.path is not None and not is_about(record, self.path, self.earlier):
                return Ownership.NONE
            return found

        return claim

    def admitting(self, least: Ownership = Ownership.PROBABLE) -> Callable[[Record], bool | None]:
        """Return record → True if it is of the named writer at least as surely as `least`, None if less surely, False
        if not at all.
        """
        claiming = self.claiming()

        def admits(record: Record) -> bool | None:
            found = claiming(record)
            return found >= least or (None if found else False)

        return admits

    def _of_the_burst(self, record: Record) -> bool:
        if record.kind in BURST_KINDS:
            return self.burst in (record.seq, getattr(record.event(), "burst", 0))
        return self.history.in_burst(self.burst, record.batch)
