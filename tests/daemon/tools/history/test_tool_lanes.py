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


def test_of_more_writers_than_lanes_the_others_are_one_number() -> None:
    daemon = busy(100)
    reply = told(daemon, limit=1, buckets=1)
    writes = {lane["writer"]["agent"] or "outside": sum(n for _, n in lane["writes"]) for lane in reply["lanes"]}
    ((_, others),) = reply["others"]
    every = {lane["writer"]["agent"]: sum(n for _, n in lane["writes"]) for lane in told(daemon)["lanes"]}
    assert others == sum(every.values()) - sum(writes.values())
    assert others > 0


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
