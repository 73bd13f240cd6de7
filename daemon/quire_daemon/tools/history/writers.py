"""Writers of records as callers name them: an agent, an agent session, `user`, `me`, `outside`. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from quire_journal.history import History
from quire_journal.model import OUTSIDE, READ, WATCHED, Record, WriterIntroduced, did_you_mean

USER: Final = "user"
"""Name of callers without an agent name."""

ME: Final = "me"
"""Name for the user of this checkout: callers without an agent name, and saves without a known writer."""

NEAR: Final = 16
"""Maximum number of bursts before an outside write that are searched for an open one."""

MOST_CALLERS: Final = 2000
"""Maximum number of callers whose names are compared with a name that may be misspelt."""

WRITER_ID: Final = re.compile(r"w(\d{1,9})", re.ASCII)


def writer_filter(named: str, history: History) -> Callable[[int], bool]:
    """Return a predicate on writer numbers for a writer as replies name it (`ann`, `ann/s1`, `user`, `outside`) or
    `w3`; "" admits everyone.
    """
    if not named:
        return lambda writer: True
    if named == "outside":
        return lambda writer: writer == OUTSIDE
    if named == ME:
        return lambda writer: writer == OUTSIDE or (who := history.writer(writer)) is None or not who.agent
    by_id = WRITER_ID.fullmatch(named)
    if by_id:
        number = int(by_id[1])
        return lambda writer: writer == number
    known: dict[int, bool] = {}

    def is_named(writer: int) -> bool:
        if writer not in known:
            who = history.writer(writer)
            known[writer] = who is not None and named in _names(who)
        return known[writer]

    return is_named


def _names(who: WriterIntroduced) -> tuple[str, ...]:
    """Return the names of a writer. A subagent's records also match its parent's name."""
    if not who.agent:
        return (USER, f"{USER}/{who.agent_session}") if who.agent_session else (USER,)
    of_parent = (f"{who.agent}/{who.parent}",) if who.parent else ()
    return (who.agent, f"{who.agent}/{who.agent_session}", *of_parent)


def values_of(who: WriterIntroduced, name: str) -> tuple[str, ...]:
    value: str = getattr(who, name)
    return (value, who.parent) if name == "agent_session" and who.parent else (value,)


def is_unclaimed(record: Record, history: History) -> bool:
    """True if a user may have saved the file: no call was open and no git command ran."""
    if record.writer != OUTSIDE:
        return False
    event = record.event()
    found: str = getattr(event, "evidence", "")
    hint: str = getattr(event, "hint", "")
    if found not in (WATCHED, READ) or hint or history.attribution(record) is not None:
        return False
    return not any(history.burst_word(burst.number, record.batch) for burst in islice(history.bursts(record.seq), NEAR))


def in_session(who: WriterIntroduced, agent_session: str) -> bool:
    """True if the writer, or its parent, belongs to the agent session."""
    return agent_session in values_of(who, "agent_session")


def nobody(named: str, history: History) -> str:
    """Return a sentence that the journal has no such writer, with the nearest name; "" if it has one, or has too many
    to compare.
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
