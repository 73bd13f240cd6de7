"""Expands names of writers, agent sessions and turns that are abbreviated, as listings show them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

import msgspec

from quire_daemon.tools.history.writers import MOST_CALLERS
from quire_journal.history import History
from quire_journal.model import Refusal, WriterId, WriterIntroduced, did_you_mean

LEAST: Final = 4
"""Minimum number of characters of an abbreviated name."""

MOST_TURNS: Final = 5000

MOST_TOLD: Final = 5
"""Maximum number of names that a refusal lists."""

P = TypeVar("P", bound=msgspec.Struct)


def spelled_out(params: P, history: History) -> P:
    """Return `params` with full names in `writer`, `only`, `agent_session` and `turn`. Raises `Refusal` for an
    ambiguous abbreviation, and for an agent session or turn that the journal lacks.
    """
    told = {name: getattr(params, name, "") for name in ("writer", "only", "agent_session", "turn")}
    whole = {
        "writer": _writer(told["writer"], history),
        "only": _writer(told["only"], history),
        "agent_session": _session(told["agent_session"], history),
        "turn": _turn(told["turn"], history),
    }
    changed = {name: value for name, value in whole.items() if value != told[name]}
    return msgspec.structs.replace(params, **changed) if changed else params


def _writer(named: str, history: History) -> str:
    if "/" not in named:
        return named
    names: dict[str, None] = {}
    for who in _callers(history):
        if named.startswith(f"{who.agent}/"):
            names |= dict.fromkeys(f"{who.agent}/{session}" for session in _sessions_of(who))
    fitting = _fitting(named, names, named.index("/") + 1 + LEAST)
    return _the_only("writer", named, fitting) if fitting else named


def _session(named: str, history: History) -> str:
    if not named:
        return named
    callers = [*_callers(history)]
    sessions = dict.fromkeys(one for who in callers if who.agent for one in _sessions_of(who))
    if fitting := _fitting(named, sessions, LEAST):
        return _the_only("agent_session", named, fitting)
    if any(named in _sessions_of(who) for who in callers):  # of a caller without a name
        return named
    if history.count_callers() > MOST_CALLERS:
        return named
    message = f"No agent session is called {named[:80]!r}.{did_you_mean(named, sessions)}"
    raise Refusal("not_found", message, "who", argument="agent_session")


def _turn(named: str, history: History) -> str:
    if not named:
        return named
    turns: dict[str, None] = {}
    for who in _writers(history):
        if who.turn == named:
            return named
        if who.turn:
            turns[who.turn] = None
    if fitting := _fitting(named, turns, LEAST):
        return _the_only("turn", named, fitting)
    if int(history.next_writer_id()) - 1 > MOST_TURNS:
        return named
    raise Refusal("not_found", f"No turn is called {named[:80]!r}.{did_you_mean(named, turns)}", "log", argument="turn")


def require_one_session(turn: str, history: History) -> None:
    """Raise `Refusal` if several agent sessions have a turn of this name."""
    found = {f"{who.agent}/{who.parent or who.agent_session}": None for who in _writers(history) if who.turn == turn}
    if len(found) > 1:
        message = f"Several agent sessions have a turn {turn[:80]!r}: {', '.join([*found][:MOST_TOLD])}."
        raise Refusal(
            "schema_invalid", f"{message} `writer` says whose is meant.", "narrow_the_choice", argument="turn"
        )


def _writers(history: History) -> Iterator[WriterIntroduced]:
    """Yield the newest writers, newest first, at most `MOST_TURNS`."""
    last = int(history.next_writer_id()) - 1
    for number in range(last, max(last - MOST_TURNS, 0), -1):
        if (who := history.writer(WriterId(number))) is not None:
            yield who


def _callers(history: History) -> Iterator[WriterIntroduced]:
    for key in islice(history.callers(), MOST_CALLERS):
        who = history.writer(history.caller(key).ids[0])
        if who is not None:
            yield who


def _sessions_of(who: WriterIntroduced) -> tuple[str, ...]:
    return tuple(filter(None, (who.parent, who.agent_session)))


def _fitting(named: str, names: Iterable[str], least: int) -> list[str]:
    """Return the name itself if it is among `names`, or else the names that begin with it. A parent's name covers its
    subagents' names.
    """
    known = [*names]
    if named in known:
        return [named]
    if len(named) < least:
        return []
    # `session-1` does not abbreviate `session-10`.
    found = [name for name in known if name.startswith(named) and not name[len(named) :].isdigit()]
    return [name for name in found if not any(name.startswith(f"{other}.") for other in found)]


def _the_only(argument: str, named: str, fitting: list[str]) -> str:
    if len(fitting) == 1:
        return fitting[0]
    more = f" and {len(fitting) - MOST_TOLD} more" if len(fitting) > MOST_TOLD else ""
    message = f"Several begin with {named[:80]!r}: {', '.join(fitting[:MOST_TOLD])}{more}."
    raise Refusal("schema_invalid", message, "narrow_the_choice", argument=argument)
