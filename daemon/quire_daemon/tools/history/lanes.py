"""`lanes`: activity of each writer over time, as counts for a given number of intervals.

The counts come from the index of terms (writer, session, kind), which has one row per 256 records. A record with
several possible writers counts for the first matching lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths, require_in_bounds
from quire_daemon.core.replies import LanesReply
from quire_daemon.tools.history.filters import VERSION_KINDS
from quire_journal.history import History, parse_point
from quire_journal.model import OUTSIDE, EditRefused, counted
from quire_journal.views.indexes import of_kind, term_index

MOST_BUCKETS: Final = 2000
MOST_LANES: Final = 60

SAMPLE: Final = 500

_MS: Final = 1_000_000
_WRITES: Final = tuple(map(of_kind, sorted(VERSION_KINDS)))
_REFUSED: Final = (of_kind(EditRefused.kind),)


class LanesParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `lanes`."""

    since: str = ""  # a point: records after it
    until: str = ""  # a point: records up to it
    buckets: int = 600  # intervals
    by: Literal["log", "time"] = "log"  # intervals of equal numbers of records, or of equal length
    limit: int = 24  # most lanes


def decide(params: LanesParams, world: World) -> Decision:
    """Return the counts: interval `bounds` and `times_ms`, `lanes` of `{writer, writes, refused}`, `others`."""
    require_in_bounds("buckets", params.buckets, MOST_BUCKETS)
    require_in_bounds("limit", params.limit, MOST_LANES)
    history = world.history
    after: int = parse_point(params.since, history, "since") if params.since else 0
    upto: int = parse_point(params.until, history, "until") if params.until else history.head()
    bounds = (_by_time if params.by == "time" else _by_log)(after, max(after, upto), params.buckets, history)
    shown = _lanes(bounds[0], bounds[-1], params.limit, history)
    *named, outside, rest = history.tally((_WRITES, _REFUSED), [terms for _, terms in shown], bounds)
    rows = [*zip((writer for writer, _ in shown), named, strict=True), (history.writer_json(OUTSIDE), outside)]
    lanes = [
        {"writer": writer, "writes": _pairs(counts[0]), "refused": _pairs(counts[1])}
        for writer, counts in rows
        if any(counts)
    ]
    return Decision(
        {
            "ok": True,
            "message": f"{counted(len(lanes), 'lane')} of {counted(bounds[-1] - bounds[0], 'record')}.",
            "by": params.by,
            "bounds": bounds,
            "times_ms": [_time_ms(min(seq + 1, bounds[-1]), history) for seq in bounds],
            "lanes": lanes,
            "others": _pairs(rest[0]),
        }
    )


def _lanes(after: int, upto: int, limit: int, history: History) -> list[tuple[dict[str, Any], list[list[bytes]]]]:
    """Return (writer, index terms of its records) for each lane, newest caller first. With more callers than `limit`,
    only those found in a sample of `SAMPLE` records get lanes; if these are too many, each agent gets one.
    """
    if history.count_callers() <= limit:
        newest = [history.caller(key).ids[0] for key in history.callers()]
        return [(history.writer_json(writer), _terms(writer, history)) for writer in newest]
    found: Counter[bytes] = Counter()
    for i in range(1, min(SAMPLE, upto - after) + 1):
        record = history.record(after + (upto - after) * i // min(SAMPLE, upto - after))
        author = OUTSIDE if record is None else history.author(record)
        if author != OUTSIDE:
            found[history.caller_of(author)] += 1
    newest = sorted((history.caller(key).ids[0] for key in found), reverse=True)
    if len(newest) <= limit:
        return [(history.writer_json(writer), _terms(writer, history)) for writer in newest]
    agents: Counter[str] = Counter()
    latest: dict[str, int] = {}
    for writer in newest:
        agent = history.writer_json(writer)["agent"]
        agents[agent] += found[history.caller_of(writer)]
        latest.setdefault(agent, writer)
    named = sorted((agent for agent, _ in agents.most_common(limit)), key=lambda agent: -latest[agent])
    blank = {"id": "", "agent_session": "", "turn": "", "tool_call": "", "model": "", "pid": None}
    return [({**_plain(latest[agent], history), **blank}, [[term_index.of_agent(agent)]]) for agent in named]


def _plain(writer: int, history: History) -> dict[str, Any]:
    told = history.writer_json(writer)
    told.pop("parent", None)
    return told


def _terms(writer: int, history: History) -> list[list[bytes]]:
    who = history.writer(writer)
    assert who is not None
    session = [[term_index.of_session(who.agent_session)]] if who.agent_session else []
    return [*session, [term_index.of_agent(who.agent)]]


def _by_log(after: int, upto: int, buckets: int, history: History) -> list[int]:
    number = max(min(buckets, upto - after), 1)
    return [after + (upto - after) * i // number for i in range(number + 1)]


def _by_time(after: int, upto: int, buckets: int, history: History) -> list[int]:
    first, last = (_time_ms(seq, history) * _MS for seq in (after + 1, upto))
    inner = (history.seq_at(first + (last - first) * i // buckets) for i in range(1, buckets))
    found = [after]
    for seq in (*inner, upto):  # a clock that was set back makes bounds decrease
        found.append(min(max(int(seq), found[-1]), upto))
    return found


def _time_ms(seq: int, history: History) -> int:
    record = history.record(seq)
    return 0 if record is None else record.at_ns // _MS


def _pairs(counts: Mapping[int, int]) -> list[tuple[int, int]]:
    return sorted(counts.items())


LANES_TOOL: Final[Tool[LanesParams]] = Tool(
    "lanes", LanesParams, no_paths, decide, catch_up=True, of_tree=True, long=True, all_noted=True, reply=LanesReply
)
