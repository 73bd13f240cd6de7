"""When `file_path`, the old name of `path` in `edit`, ends: four weeks after the journal began, or on a stated day.

Time is the system clock's, which stands where a test wants it to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

import quire_daemon
from memory_daemon import SECOND, MemoryDaemon
from quire_daemon.clock import SystemClock
from quire_daemon.config.settings import Dialects, EditDialect, Settings
from quire_journal.text.line_hash import hash8

BEGAN = datetime(2026, 1, 5, 12, tzinfo=UTC)
ENDS = BEGAN + timedelta(weeks=4)
TICK = timedelta(microseconds=1)

OPERATIONS = [{"op": "delete_line", "hash": hash8(b"two 2")[:6]}]
OLD_NAME = {"file_path": "f.txt", "operations": OPERATIONS}
NEW_NAME = {"path": "f.txt", "operations": OPERATIONS}
BOTH = {"path": "f.txt", "file_path": "g.txt", "operations": OPERATIONS}


def until(date: str) -> Settings:
    """Settings with a date of their own."""
    return Settings(dialects=Dialects(edit=EditDialect(file_path_until=date)))


def edit_at(
    moment: datetime, args: dict[str, Any], settings: Settings | None = None
) -> tuple[dict[str, Any], MemoryDaemon]:
    """The reply to a call at this moment in a journal that began at `BEGAN`, and the workspace afterwards."""
    daemon = MemoryDaemon({"f.txt": "one 1\ntwo 2\n", "g.txt": "one 1\ntwo 2\n"}, settings, clock_ns(BEGAN) - SECOND)
    daemon.who("ann")
    daemon.watch()
    daemon.now_ns = clock_ns(moment)
    return daemon.ask("edit", args), daemon


@cache
def clock_ns(moment: datetime) -> int:
    """What the daemon's clock says at that moment. To stop all clocks is to look through all modules: once for each."""
    with freeze_time(moment):
        return SystemClock().now_ns()


def warned(reply: dict[str, Any]) -> list[str]:
    """The types of a reply's warnings."""
    return [warning["type"] for warning in reply["warnings"]]


def assert_ended(reply: dict[str, Any], daemon: MemoryDaemon) -> None:
    """The old name is refused, the new one is named, and nothing has changed."""
    assert (reply["ok"], reply["error"], reply["suggested_action"]) == (False, "schema_invalid", "use_path")
    assert "`path`" in reply["message"]
    assert reply["argument"] == "path"
    assert daemon.read("f.txt") == daemon.read("g.txt") == "one 1\ntwo 2\n"


# ── four weeks ──


@pytest.mark.parametrize("moment", [BEGAN, BEGAN + timedelta(weeks=2), ENDS - timedelta(seconds=1), ENDS - TICK])
def test_the_old_name_is_accepted_with_a_warning_until_the_last_moment(moment: datetime) -> None:
    reply, daemon = edit_at(moment, OLD_NAME)
    assert reply["ok"]
    assert daemon.read("f.txt") == "one 1\n"
    (warning,) = reply["warnings"]
    assert warning["type"] == "deprecated"
    assert "`file_path` is deprecated" in warning["message"]
    assert "`path`" in warning["message"]
    assert "2026-02-02" in warning["message"]


@pytest.mark.parametrize("moment", [ENDS, ENDS + TICK, ENDS + timedelta(seconds=1), ENDS + timedelta(days=3650)])
def test_after_four_weeks_the_old_name_is_refused(moment: datetime) -> None:
    assert_ended(*edit_at(moment, OLD_NAME))


@pytest.mark.parametrize("moment", [BEGAN, ENDS - TICK, ENDS, ENDS + timedelta(days=3650)])
def test_the_new_name_is_always_accepted_and_never_warned_of(moment: datetime) -> None:
    reply, daemon = edit_at(moment, NEW_NAME)
    assert reply["ok"]
    assert warned(reply) == []
    assert daemon.read("f.txt") == "one 1\n"


def test_a_clock_that_went_back_before_the_journal_began_ends_nothing() -> None:
    assert edit_at(BEGAN - timedelta(days=365), OLD_NAME)[0]["ok"]


# ── both names, and neither ──


def test_the_new_argument_name_wins_and_the_old_one_gets_a_warning() -> None:
    reply, daemon = edit_at(ENDS - TICK, BOTH)
    assert (reply["ok"], reply["path"], warned(reply)) == (True, "f.txt", ["deprecated"])
    assert (daemon.read("f.txt"), daemon.read("g.txt")) == ("one 1\n", "one 1\ntwo 2\n")


def test_both_names_are_refused_when_the_old_one_has_ended() -> None:
    assert_ended(*edit_at(ENDS, BOTH))


@pytest.mark.parametrize("moment", [BEGAN, ENDS])
@pytest.mark.parametrize("given", [{}, {"path": ""}, {"file_path": ""}, {"path": "", "file_path": ""}])
def test_a_call_with_neither_name_is_refused_naming_path(moment: datetime, given: dict[str, str]) -> None:
    reply, _ = edit_at(moment, {**given, "operations": OPERATIONS})
    assert (reply["ok"], reply["error"]) == (False, "schema_invalid")
    assert "`path`" in reply["message"]


# ── a stated day ──


@pytest.mark.parametrize("date", ["2026-01-10", "2026-03-31"])
def test_a_stated_day_counts_to_its_end_instead_of_the_four_weeks(date: str) -> None:
    midnight = datetime.fromisoformat(date).replace(tzinfo=UTC) + timedelta(days=1)
    reply, _ = edit_at(midnight - TICK, OLD_NAME, until(date))
    assert (reply["ok"], warned(reply)) == (True, ["deprecated"])
    assert_ended(*edit_at(midnight, OLD_NAME, until(date)))


def test_a_stated_day_before_the_journal_began_means_never() -> None:
    assert_ended(*edit_at(BEGAN, OLD_NAME, until("2020-01-01")))


def test_a_stated_day_that_is_none_is_named_and_nothing_is_done() -> None:
    reply, daemon = edit_at(BEGAN, OLD_NAME, until("soon"))
    assert (reply["ok"], reply["error"]) == (False, "schema_invalid")
    assert "dialects.edit.file_path_until" in reply["message"]
    assert daemon.read("f.txt") == "one 1\ntwo 2\n"
    assert edit_at(BEGAN, NEW_NAME, until("soon"))[0]["ok"]


# ── the clock ──


def test_the_system_clock_is_the_machines_in_utc() -> None:
    with freeze_time(ENDS):
        assert SystemClock().now_ns() == int(ENDS.timestamp()) * 10**9


WALL_CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
READING = {name.partition(".")[2] for name in WALL_CLOCKS}
SOUNDS_LIKE_ONE = re.compile(rf"\b(?:time|datetime|date)\W*\.\s*(?:{'|'.join(READING)})\b|from\s+time\s+import")


def clocks_read_in(path: Path) -> Iterator[str]:
    """The wall clocks that a module names."""
    text = path.read_text(encoding="utf-8")
    if not SOUNDS_LIKE_ONE.search(text):
        return  # most modules, and a tree of each would take far longer
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in READING
            and ".".join(ast.unparse(node).split(".")[-2:]) in WALL_CLOCKS
        ):
            yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (alias.name for alias in node.names if f"time.{alias.name}" in WALL_CLOCKS)


def test_the_daemon_has_one_wall_clock() -> None:
    """Whoever stops `SystemClock` stops the time of every decision. The workspace compares its files' age with its own
    clock, which is injected too and decides nothing but whether to look again."""
    top = Path(quire_daemon.__path__[0])
    reading = {path.relative_to(top).as_posix() for path in top.rglob("*.py") if [*clocks_read_in(path)]}
    assert reading == {"clock.py", "workspace/workspace.py"}
