"""A read that comes again is answered as one that is made anew, whatever happened in between."""

from __future__ import annotations

import os
import random
from typing import Any

import msgspec
from daemon_turns import Daemon, incoming

from quire_daemon.commit.repeats import REPEAT_S

READ: dict[str, Any] = {"path": "a", "hashes": True}
STEPS = 60


class Reader:
    """Somebody who reads one file again and again."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon, self._anew = daemon, 0
        (daemon.root / "a").write_text("one\ntwo\nthree\n")

    def read(self) -> dict[str, Any]:
        return self._daemon.turn(ann=("read_file", READ))["ann"]

    def read_anew(self) -> dict[str, Any]:
        """The same in words that were never used, so that no reply to them is kept."""
        self._anew += 1
        return self._daemon.turn(ann=("read_file", {**READ, "start_line": -self._anew}))["ann"]

    def is_kept(self) -> bool:
        """Would the next read be answered with a reply that is kept?"""
        call = self._daemon.app.admission.accept(incoming("ann", "read_file", READ))
        assert call is not None
        return self._daemon.app.decider.kept_reads.find(call) is not None

    def read_until_kept(self) -> dict[str, Any]:
        """What is read once the file has rested: until then its signature proves nothing."""
        reply = self.read()
        while not self.is_kept():
            reply = self.read()
        return reply


def shown(reply: dict[str, Any]) -> list[str]:
    lines: list[str] = msgspec.msgpack.decode(reply["lines"])
    return [line.partition("|")[2] for line in lines]


def test_a_reply_is_kept_until_the_file_changes(daemon: Daemon) -> None:
    reader = Reader(daemon)
    assert reader.read() == reader.read_until_kept()
    (daemon.root / "a").write_text("one\n2\nthree\n")
    assert shown(reader.read()) == ["one", "2", "three"]


def test_no_reply_is_kept_beyond_the_next_record(daemon: Daemon) -> None:
    reader = Reader(daemon)
    reader.read_until_kept()
    assert daemon.turn(ben=("write_file", {"path": "b", "content": "new\n"}))["ben"]["ok"]
    assert not reader.is_kept()


def test_a_link_in_the_place_of_the_file_is_followed(daemon: Daemon) -> None:
    reader = Reader(daemon)
    reader.read_until_kept()
    (daemon.root / "b").write_text("other\n")
    (daemon.root / "a").unlink()
    (daemon.root / "a").symlink_to("b")
    assert shown(reader.read()) == ["other"]


def test_a_file_that_another_program_has_open_for_writing_is_read_anew(daemon: Daemon) -> None:
    """A write through a mapping changes no stamp in time."""
    reader = Reader(daemon)
    reader.read_until_kept()
    with (daemon.root / "a").open("a"):
        assert not reader.is_kept()


def test_a_read_is_noted_again_after_a_while(daemon: Daemon) -> None:
    reader = Reader(daemon)
    reader.read_until_kept()
    head = daemon.app.recorder.journal.head
    daemon.clock.passed_s += REPEAT_S
    reader.read()
    daemon.app.recorder.commit()
    assert daemon.app.recorder.journal.head == head + 1


def test_each_caller_has_its_own(daemon: Daemon) -> None:
    """What a reply tells depends on what its caller has read before."""
    reader = Reader(daemon)
    reader.read_until_kept()
    other = daemon.app.admission.accept(incoming("ben", "read_file", READ))
    assert other is not None
    assert daemon.app.decider.kept_reads.find(other) is None


def test_a_repeated_read_tells_what_a_new_one_tells(daemon: Daemon) -> None:
    rng, reader = random.Random(11), Reader(daemon)

    def by_tool(who: str) -> None:
        line = f"{who} {rng.random()}\n"
        daemon.turn(**{who: ("insert_lines", {"path": "a", "line_number": 0, "text": line})})

    def outside() -> None:
        (daemon.root / "a").write_text(f"outside {rng.random()}\n")

    steps = (
        outside,
        lambda: by_tool("ann"),
        lambda: by_tool("ben"),
        lambda: os.chmod(daemon.root / "a", rng.choice((0o600, 0o644))),
        lambda: daemon.turn(ben=("read_file", {"path": "a"})),
        lambda: (daemon.root / "b").write_text(f"{rng.random()}"),
        lambda: None,
    )
    repeated = 0
    for _ in range(STEPS):
        rng.choice(steps)()
        if rng.random() < 0.5:
            reader.read_until_kept()
            rng.choice(steps)()
        if reader.is_kept():
            assert reader.read() == reader.read_anew()
            repeated += 1
    assert repeated
