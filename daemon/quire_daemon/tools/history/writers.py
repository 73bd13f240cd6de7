"""Whose a write or a line is: of an agent, an agent session, `user`, `me`, `outside`. Pure."""

from __future__ import annotations

import re
from enum import IntEnum
from itertools import islice
from typing import Any, Final

from quire_daemon.core import Who
from quire_journal.history import History, LineOrigin, is_by_git
from quire_journal.model import DURING, OUTSIDE, READ, TRACED, WATCHED, Record, WriterIntroduced, did_you_mean
from quire_journal.views import Version

USER: Final = "user"
"""Name of callers without an agent name."""

ME: Final = "me"
"""Name for the person at this machine (`Whose`)."""

NEAR: Final = 16
"""Maximum number of bursts before an outside write that are searched for an open one."""

MOST_CALLERS: Final = 2000
"""Maximum number of callers whose names are compared with a name that may be misspelt."""

WRITER_ID: Final = re.compile(r"w(\d{1,9})", re.ASCII)


class Ownership(IntEnum):
    """How surely a write or a line is of the named writers, by the evidence."""

    NONE = 0
    POSSIBLE = 1  # one of several calls could have made it, among them theirs
    PROBABLE = 2  # shown with `~`: a command of theirs accounts for it; for `me`, nobody is known to have saved it
    PROVED = 3


class Whose:
    """The claims of the named writers to writes and lines: all tools answer "whose is this" with it.

    `me` is the person at this machine: callers without an agent's name, and, as probable, saves that nobody is known to
    have made. Without a name everybody is meant.
    """

    def __init__(
        self, history: History, writer: str = "", agent: str = "", agent_session: str = "", turn: str = ""
    ) -> None:
        """`writer`: as replies name it (`ann`, `ann/s1`, `user`, `outside`), `me`, `w3` or `*`."""
        self._history, self._writer = history, "" if writer == "*" else writer
        claimed = (("agent", agent), ("agent_session", agent_session), ("turn", turn))
        self._claimed = [(name, value) for name, value in claimed if value]
        self._known: dict[int, bool] = {}
        self._saves: dict[int, bool] = {}

    @property
    def everyone(self) -> bool:
        """True if no writer is named."""
        return not (self._writer or self._claimed)

    def named(self, writer: int) -> bool:
        """True if the writer with this number is a named one."""
        if writer not in self._known:
            self._known[writer] = self._is_named(writer)
        return self._known[writer]

    def _is_named(self, writer: int) -> bool:
        who = self._history.writer(writer)
        if self._claimed:
            known = who or WriterIntroduced(writer)
            if not all(value in values_of(known, name) for name, value in self._claimed):
                return False
        if self._writer in ("", "outside"):
            return not self._writer or writer == OUTSIDE
        if self._writer == ME:
            return who is not None and not who.agent
        if by_id := WRITER_ID.fullmatch(self._writer):
            return writer == int(by_id[1])
        return who is not None and self._writer in _names(who)

    def of_record(self, record: Record) -> Ownership:
        """Return how surely a write is of the named writers."""
        attribution = self._history.attribution(record)
        writer = record.writer if attribution is None else attribution.writer
        found = self._claim(writer, record.seq, "" if attribution is None else attribution.evidence)
        if found or self.everyone or attribution is None:
            return found
        bursts = map(self._history.burst, attribution.candidates)
        may_be = any(self.named(burst.writer) for burst in bursts if burst is not None)
        return Ownership.POSSIBLE if may_be else Ownership.NONE

    def of_version(self, version: Version) -> Ownership:
        """Return how surely what a version added is of the named writers; never `POSSIBLE`."""
        return self._claim(version.writer, version.seq, version.evidence)

    def of_line(self, origin: LineOrigin) -> Ownership:
        """Return how surely a line is of the named writers; `NONE` for a line of a commit, unless everybody is
        meant.
        """
        if origin.commit is not None and not self.everyone:
            return Ownership.NONE
        return self.of_version(origin.version)

    def _claim(self, writer: int, seq: int, evidence: str) -> Ownership:
        if self.named(writer):
            return Ownership.PROBABLE if evidence == DURING else Ownership.PROVED
        if self._writer != ME or self._claimed or writer != OUTSIDE:
            return Ownership.NONE
        if seq not in self._saves:
            record = self._history.record(seq)
            self._saves[seq] = record is not None and is_unclaimed(record, self._history)
        return Ownership.PROBABLE if self._saves[seq] else Ownership.NONE


def _names(who: WriterIntroduced) -> tuple[str, ...]:
    """Return the names under which a writer is found; a subagent also under its parent's name."""
    if not who.agent:
        return (USER, f"{USER}/{who.agent_session}") if who.agent_session else (USER,)
    of_parent = (f"{who.agent}/{who.parent}",) if who.parent else ()
    return (who.agent, f"{who.agent}/{who.agent_session}", *of_parent)


def values_of(who: WriterIntroduced, name: str) -> tuple[str, ...]:
    value: str = getattr(who, name)
    return (value, who.parent) if name == "agent_session" and who.parent else (value,)


def is_unclaimed(record: Record, history: History) -> bool:
    """True if nobody is known to have saved the file, so that a person may have: no call of an agent can have made the
    write, and no git command ran.
    """
    if record.writer != OUTSIDE:
        return False
    event = record.event()
    hint = str(getattr(event, "hint", ""))
    if getattr(event, "evidence", "") not in (WATCHED, READ) or is_by_git(hint):
        return False
    found = history.attribution(record)
    if found is not None and (found.writer != OUTSIDE or found.evidence == TRACED):
        return found.writer == OUTSIDE  # the kernel saw it written by a process of no call
    if found is not None:
        calls = [history.burst(number) for number in found.candidates]
    else:
        near = islice(history.bursts(record.seq), NEAR)
        calls = [burst for burst in near if history.burst_word(burst.number, record.batch)]
    if not calls:
        return not hint
    return all(burst is not None and _is_persons(burst.writer, history) for burst in calls)


def _is_persons(writer: int, history: History) -> bool:
    who = history.writer(writer)
    return who is not None and not who.agent


def in_session(who: WriterIntroduced, agent_session: str) -> bool:
    """True if the writer, or its parent, belongs to the agent session."""
    return agent_session in values_of(who, "agent_session")


def is_own(writer: int, who: Who, history: History) -> bool:
    """True if `writer` is the caller `who`, its subagent or, for a person, any caller without an agent's name."""
    if history.caller_of(writer) == who.key:
        return True
    other = history.writer(writer)
    if other is None or other.agent != who.agent:
        return False
    return not who.agent or (bool(other.parent) and other.parent == who.agent_session)


def nobody(named: str, history: History) -> str:
    """Return a sentence that the journal has no writer of this name, with the nearest name; "" if there is one, or
    there are too many to compare.
    """
    if named in ("", "*", "outside", USER, ME) or history.count_callers() > MOST_CALLERS:
        return ""
    if by_id := WRITER_ID.fullmatch(named):
        return "" if history.writer(int(by_id[1])) is not None else f"There is no writer {named} in the journal."
    names = {USER: None, ME: None, "outside": None}
    for key in history.callers():
        who = history.writer(history.caller(key).ids[0])
        names |= dict.fromkeys(_names(who) if who is not None else ())
    return "" if named in names else f"Nobody in the journal is called {named[:80]!r}.{did_you_mean(named, names)}"


def nobody_warned(named: str, history: History) -> dict[str, Any]:
    """Return `nobody` as the field `warnings` of a reply; empty if the journal has the writer."""
    said = nobody(named, history)
    return {"warnings": [{"type": "unknown_writer", "message": said}]} if said else {}


def agents_named(named: str) -> list[str]:
    found = [named, *(named[:at] for at, sign in enumerate(named) if sign == "/")]
    return [*found, ""] if named == USER or named.startswith(f"{USER}/") else found
