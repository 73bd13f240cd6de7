"""Who wrote the lines of a file with a long past is worked out beside the loop, and the same is told of it."""

from __future__ import annotations

import msgspec
import pytest
from desk import BEGAN_NS, Desk, lines

from quire_daemon.config import Settings
from quire_daemon.handlers.base import OriginsOf, World
from quire_daemon.handlers.blame import BLAME_TOOL
from quire_daemon.handlers.origins import FEW, FEW_BYTES, NeedsOrigins, origins, worked_out
from quire_daemon.handlers.why import WHY_TOOL
from quire_journal.blame import blame


def a_file(versions: int) -> tuple[Desk, int]:
    """One of so many versions, each of which changes a line; the newest."""
    desk, text = Desk(), [f"line {n}" for n in range(10)]
    for number in range(versions):
        text[number % 10] = f"line {number % 10} for the {number}. time"
        newest = desk.write("f", lines(*text), desk.ann)
    return desk, newest


def test_the_origins_of_a_long_past_are_asked_for_and_told_as_those_of_a_short_one() -> None:
    desk, newest = a_file(FEW + 10)
    reply = desk.call(BLAME_TOOL, desk.ann, path="f")
    assert desk.worked_out == [OriginsOf("f", newest)]
    with desk.history() as history:
        head = history.file("f")
        assert head is not None
        assert [line["seq"] for line in reply["lines"]] == [one.seq for one in blame(history, "f", head).origins]


def test_why_asks_for_the_line_and_then_for_those_whose_place_it_took() -> None:
    desk, newest = a_file(FEW + 10)
    reply = desk.call(WHY_TOOL, desk.ann, path="f", line=10)
    assert desk.worked_out == [OriginsOf("f", newest), OriginsOf("f", newest - 1)]
    assert reply["version"] == f"v{newest}"
    assert [entry["version"] for entry in reply["replaced"]["by"]] == [f"v{newest - 10}"]


def test_a_short_past_is_gone_through_at_once() -> None:
    desk, _ = a_file(FEW)
    assert desk.call(BLAME_TOOL, desk.ann, path="f")["ok"]
    assert desk.worked_out == []


def test_a_few_versions_of_a_large_file_are_a_long_past() -> None:
    desk = Desk()
    for number in range(2):
        newest = desk.write("f", lines(str(number), "x" * (FEW_BYTES // 2)), desk.ann)
    assert desk.call(BLAME_TOOL, desk.ann, path="f")["ok"]
    assert desk.worked_out == [OriginsOf("f", newest)]


def test_a_decision_does_not_ask_again_for_what_could_not_be_worked_out() -> None:
    """It would be made again and again, as long as the caller waits."""
    desk, newest = a_file(FEW + 10)
    with desk.history() as history:
        head = history.file("f")
        assert head is not None
        world = World(BEGAN_NS, desk.ann, Settings(), {}, history, newest + 1, 0)
        with pytest.raises(NeedsOrigins):
            origins("f", head, world)
        told = msgspec.structs.replace(world, origins={OriginsOf("f", newest): None})
        assert origins("f", head, told) == blame(history, "f", head)


def test_of_what_has_gone_meanwhile_there_is_no_answer() -> None:
    desk, _ = a_file(1)
    with desk.history() as history:
        assert worked_out(OriginsOf("f", 10_000), history) is None
        assert worked_out(OriginsOf("g", 1), history) is None
