"""The live feed: told once each, resumed behind the last, a daemon that goes away and comes back included."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from quire_client.page import feed


async def at_once(seconds: float) -> None:
    """No pause between messages, nor between looks for a daemon."""


def page(cursor: int, *seqs: int, more: bool = False, fresh: bool = False) -> dict[str, Any]:
    records = [{"seq": seq, "path": "<b>\n\nid: 9\u2028"} for seq in seqs]
    return {"ok": True, "records": records, "cursor": f"c{cursor}.ab", "more": more, "fresh": fresh}


GONE = {"ok": False, "error": "no_daemon", "message": "No daemon runs."}


def played(
    answers: list[dict[str, Any]], cursor: str = ""
) -> tuple[list[tuple[str, str, Any]], list[Mapping[str, Any]]]:
    """(event, id, data) of each message until the answers end, and what was asked."""
    asked: list[Mapping[str, Any]] = []
    left = [*answers, {}]

    async def ask(arguments: Mapping[str, Any]) -> dict[str, Any]:
        if len(left) > 1:
            asked.append(arguments)
        return left.pop(0)

    async def run() -> list[bytes]:
        return [one async for one in feed.events(ask, cursor, lambda: bool(left), at_once)]

    told = []
    for message in asyncio.run(run()):
        fields = dict(line.split(": ", 1) for line in message.decode().strip().split("\n"))
        if "event" in fields:
            told.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))
    return told, asked


def test_without_a_cursor_it_begins_now_and_goes_on_behind_what_it_told() -> None:
    told, asked = played([page(5), page(7, 6, 7), page(7), page(9, 8, 9)])
    assert [(event, at) for event, at, _ in told] == [("records", "c5.ab"), ("records", "c7.ab"), ("records", "c9.ab")]
    assert [one.get("cursor") for one in asked] == [None, "c5.ab", "c7.ab", "c7.ab"]
    assert asked[0].get("wait_ms") is None
    assert asked[1]["wait_ms"] == feed.WAIT_MS


def test_a_browser_that_comes_back_gets_what_it_missed_and_nothing_twice() -> None:
    told, asked = played([page(7, 6, 7, more=True), page(8, 8)], cursor="c5.ab")
    assert asked[0]["cursor"] == "c5.ab"
    assert [record["seq"] for _, _, data in told for record in data["records"]] == [6, 7, 8]


def test_a_daemon_that_ends_is_told_once_and_its_successor_goes_on_without_a_gap() -> None:
    told, asked = played([page(5), GONE, GONE, {**GONE, "error": "unknown"}, page(7, 6, 7)])
    assert [event for event, _, _ in told] == ["records", "lost", "records"]
    assert {one["cursor"] for one in asked[1:]} == {"c5.ab"}
    again, _ = played([page(5), GONE, page(5)])
    assert [event for event, _, _ in again] == ["records", "lost", "records"]  # back, with nothing new


def test_another_journal_is_told_to_be_one() -> None:
    told, _ = played([page(3, 1, 2, 3, fresh=True)], cursor="c99.cd")
    assert told[0][2]["fresh"] is True


def test_nothing_is_told_after_a_revocation() -> None:
    """What happened while the feed waited was sent still."""
    good = True

    async def ask(arguments: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal good
        good = "cursor" not in arguments
        return page(5) if good else page(7, 6, 7)

    async def run() -> list[bytes]:
        return [one async for one in feed.events(ask, "", lambda: good, at_once)]

    assert [message[:14] for message in asyncio.run(run())] == [b"retry: 500\n\n", b"event: records"]


def test_a_refusal_that_trying_again_does_not_cure_ends_it() -> None:
    told, asked = played([{"ok": False, "error": "schema_invalid", "message": "no cursor"}, page(5)], cursor="x")
    assert [event for event, _, _ in told] == ["refused"]
    assert len(asked) == 1


def test_no_text_ends_a_message_or_begins_another() -> None:
    message = feed.event("records", page(1, 1), "c1.ab")
    assert message.isascii()
    assert message.count(b"\n\n") == 1
    assert message.endswith(b"\n\n")
