"""`lanes`: each write is counted once, in the lane of its writer and the stretch of its record."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.tools.history.filters import VERSION_KINDS
from quire_daemon.tools.history.lanes import LANES_TOOL
from quire_journal.model.events import EditRefused, WriteAttributed


def told(daemon: MemoryDaemon, **asked: Any) -> dict[str, Any]:
    return daemon.call(LANES_TOOL, daemon.ann, **asked)


def busy(writes: int = 700) -> MemoryDaemon:
    """Ann, Ben and other programs, by turns, over several blocks of the log."""
    daemon = MemoryDaemon()
    for number in range(writes):
        if number % 7 == 3:
            daemon.outside("outside.txt", b"%d" % number)
        elif number % 50 == 9:
            daemon.note(EditRefused("edit", "a.txt", "stale_base"), who=daemon.ben)
        else:
            daemon.write("a.txt", b"%d" % number, daemon.ben if number % 3 else daemon.ann)
    return daemon


@pytest.mark.parametrize("by", ["log", "time"])
@pytest.mark.parametrize("buckets", [1, 7, 600])
def test_each_write_stands_in_the_lane_of_its_writer_and_in_its_stretch(by: str, buckets: int) -> None:
    daemon = busy()
    reply = told(daemon, buckets=buckets, by=by, since="seq:40", until="seq:650")
    bounds = reply["bounds"]
    assert (bounds[0], bounds[-1], len(bounds) - 1) == (40, 650, min(buckets, 610))
    assert reply["times_ms"] == sorted(reply["times_ms"])
    wanted: Counter[tuple[str, int, int]] = Counter()
    with daemon.history() as history:
        for record in history.records(after=40, upto=650):
            who = history.writer(record.writer)
            stretch = max(i for i, seq in enumerate(bounds[:-1]) if seq < record.seq)
            counted = 0 if record.kind in VERSION_KINDS else 1 if record.kind == "edit_refused" else None
            if counted is not None:
                wanted[who.agent if who is not None else "outside", counted, stretch] += 1
    found = Counter(
        {
            (lane["writer"]["agent"] or "outside", kind, stretch): number
            for lane in reply["lanes"]
            for kind, field in enumerate(("writes", "refused"))
            for stretch, number in lane[field]
        }
    )
    assert found == wanted


def test_of_more_callers_than_lanes_an_agent_has_one_and_the_others_are_one_number() -> None:
    daemon = MemoryDaemon()
    for session in range(6):
        for agent, writes in (("ann", 3), ("ben", 2), ("cem", 1)):
            who = daemon.introduce(agent, f"{agent}-{session}")
            for number in range(writes):
                daemon.write("a.txt", b"%s %d %d" % (agent.encode(), session, number), who)
    reply = told(daemon, limit=2, buckets=1)
    lanes = [(lane["writer"]["agent"], lane["writer"]["agent_session"], lane["writes"]) for lane in reply["lanes"]]
    assert lanes == [("ben", "", [[0, 12]]), ("ann", "", [[0, 18]])]
    assert reply["others"] == [[0, 6]]
    last = told(daemon, limit=3, buckets=1, since=f"seq:{reply['bounds'][-1] - 9}")
    assert {lane["writer"]["agent_session"] for lane in last["lanes"]} == {"ann-5", "ben-5", "cem-5"}


def test_what_is_proved_to_be_an_agents_is_in_its_lane() -> None:
    daemon = MemoryDaemon()
    version = daemon.outside("a.txt", b"1")
    daemon.note(WriteAttributed((version,), daemon.ben.writer, "exact"))
    lanes = told(daemon, buckets=1)["lanes"]
    assert [(lane["writer"]["agent"], lane["writes"]) for lane in lanes] == [("ben", [[0, 1]])]


def test_an_empty_stretch_has_no_lanes() -> None:
    daemon = busy(10)
    reply = told(daemon, since="seq:5", until="seq:3")
    assert (reply["lanes"], reply["bounds"]) == ([], [5, 5])
    assert told(MemoryDaemon())["ok"]


def test_so_many_stretches_and_lanes_at_most() -> None:
    daemon = MemoryDaemon()
    for asked in ({"buckets": 0}, {"buckets": 2001}, {"limit": 61}, {"by": "size"}):
        assert told(daemon, **asked)["error"] == "schema_invalid"
