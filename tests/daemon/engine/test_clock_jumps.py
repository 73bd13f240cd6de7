"""A clock that jumps: what is told of it, and that nothing is dropped for it."""

from __future__ import annotations

from typing import Any

import pytest
from daemon_turns import Daemon

from quire_daemon.config.settings import Retention, Settings

YEAR_S = 365 * 24 * 3600.0


def tell(daemon: Daemon, tool: str) -> dict[str, Any]:
    return daemon.turn(ann=(tool, {}))["ann"]


def write(daemon: Daemon, path: str) -> dict[str, Any]:
    return daemon.turn(ann=("write_file", {"path": path, "content": f"{path}\n"}))["ann"]


@pytest.fixture
def jumped(daemon: Daemon) -> Daemon:
    """A file is written while the clock is a year ahead, and others before and after that."""
    assert write(daemon, "before")["ok"]
    daemon.clock.set_s = YEAR_S
    assert write(daemon, "ahead")["ok"]
    daemon.clock.set_s = 0.0
    assert write(daemon, "after")["ok"]
    return daemon


def test_a_clock_that_goes_forward_is_not_spoken_of(daemon: Daemon) -> None:
    write(daemon, "a")
    assert "clock" not in tell(daemon, "status")
    assert {"name": "clock", "ok": True, "detail": "goes forward"} in tell(daemon, "doctor")["checks"]


def test_a_clock_that_was_set_forward_is_told_while_it_is_so(daemon: Daemon) -> None:
    daemon.clock.set_s = YEAR_S
    assert tell(daemon, "status")["clock"] == "The clock was set forward by 365d since the daemon started."


def test_after_a_jump_forward_and_back_it_is_told_which_records_are_dated_in_the_future(jumped: Daemon) -> None:
    told = tell(jumped, "status")["clock"]
    assert "The clock went back by 365d" in told or "The clock went back by 31" in told
    assert "in the future" in told
    (check,) = [one for one in tell(jumped, "doctor")["checks"] if one["name"] == "clock"]
    assert (check["ok"], check["detail"]) == (False, told)


def test_after_a_jump_forward_and_back_a_point_in_time_leads_to_what_was_written_by_then(jumped: Daemon) -> None:
    records = {one["path"]: one for one in jumped.turn(ann=("log", {"limit": 50}))["ann"]["records"] if one["path"]}
    assert records["ahead"]["at"] > records["after"]["at"] > records["before"]["at"]
    tree = jumped.turn(ann=("tree", {"at": records["before"]["at"]}))["ann"]
    assert [one["path"] for one in tree["entries"]] == ["before"]
    tree = jumped.turn(ann=("tree", {"at": records["after"]["at"]}))["ann"]
    assert [one["path"] for one in tree["entries"]] == ["before", "ahead", "after"]
    at = jumped.turn(ann=("read_file", {"path": "after", "at": records["after"]["at"]}))["ann"]
    assert at["ok"]


def test_a_lease_of_the_future_ends_with_it(daemon: Daemon) -> None:
    daemon.clock.set_s = YEAR_S
    args = {"path": "a", "kind": "exclusive", "ttl_s": 600}
    assert daemon.turn(ann=("claim", args))["ann"]["ok"]
    assert not daemon.turn(ben=("claim", args))["ben"]["ok"]
    daemon.clock.set_s = 0.0
    assert daemon.turn(ben=("claim", args))["ben"]["ok"]


def test_a_collection_drops_nothing_because_the_clock_was_set_forward(daemon: Daemon) -> None:
    """All that was not older than a day would have been, by a clock that was a year ahead."""
    keeping = Retention(keep_last=0, keep_within="1d", thin_outside="", grace="0s")
    daemon.app.in_force.now = Settings(retention=keeping)
    for text in ("one", "two", "three"):
        base = daemon.turn(ann=("read_file", {"path": "a"}))["ann"].get("version")
        args = {"path": "a", "content": f"{text}\n"} | ({"base": base} if base else {})
        assert daemon.turn(ann=("write_file", args))["ann"]["ok"]

    def dropped() -> int:
        reply = daemon.turn(ann=("gc", {"dry_run": True, "only": "dropped"}))["ann"]
        assert reply["ok"], reply
        return len(reply["blobs"])

    daemon.clock.set_s = YEAR_S
    assert dropped() == 0
    daemon.clock.set_s, daemon.clock.passed_s = 0.0, YEAR_S
    assert dropped() == 2
