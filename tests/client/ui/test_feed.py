"""The live feed: it goes on behind what it has told, through every daemon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quire_client.transport import NoDaemon
from quire_client.ui.feed import LiveFeed, News

ENDED = {"ok": False, "error": "unknown", "message": "The daemon ended."}


class Daemons:
    """One daemon after the other; each gives its answers and ends. None: there is no daemon."""

    def __init__(self, *lives: list[Mapping[str, Any]] | None) -> None:
        self.lives = [*lives]
        self.asked: list[dict[str, Any]] = []
        self.told: list[News] = []
        self.feed = LiveFeed(self.connect, self.told.append, self.pause)  # type: ignore[arg-type]
        self.feed.run()

    def connect(self) -> Daemons:
        if not self.lives:
            self.feed.ended = True
        answers = self.lives.pop(0) if self.lives else None
        if answers is None:
            raise NoDaemon("No daemon runs.")
        self.answers = [*answers]
        return self

    def call(self, tool: str, arguments: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
        self.asked.append(dict(arguments))
        return self.answers.pop(0) if self.answers else ENDED

    def pause(self, seconds: float) -> None:
        pass

    def __enter__(self) -> Daemons:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def reply(cursor: str, records: int) -> dict[str, Any]:
    return {"ok": True, "cursor": cursor, "records": [{}] * records}


def test_it_resumes_behind_what_it_told_when_the_daemon_is_back() -> None:
    seen = Daemons([reply("c1", 0), reply("c2", 3)], None, [reply("c5", 7), reply("c6", 1)])
    assert seen.asked == [
        {},
        {"cursor": "c1", "wait_ms": 25_000},
        {"cursor": "c2", "wait_ms": 25_000},
        {"cursor": "c2", "wait_ms": 0},  # at once: it says that a daemon is there
        {"cursor": "c5", "wait_ms": 25_000},
        {"cursor": "c6", "wait_ms": 25_000},
    ]
    assert seen.told == [
        News(0),
        News(3),
        News(lost="The daemon ended."),
        News(lost="No daemon runs."),
        News(7),
        News(1),
        News(lost="The daemon ended."),
        News(lost="No daemon runs."),
    ]


def test_a_cursor_that_a_new_journal_refuses_is_given_up() -> None:
    refused = {"ok": False, "error": "schema_invalid", "message": "cursor: it belongs to another journal."}
    seen = Daemons([reply("c1", 0), refused], [reply("d1", 0)])
    assert seen.asked[2] == {}
