"""Assigns each writer on the screen a constant letter and colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from quire_client.cli import render
from quire_client.ui.rows import DIM, PLAIN, WRITER
from quire_client.ui.visible import visible
from quire_journal.model import DURING, MARK

COLOURS: Final = 6
SHORT: Final = 8
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Mark(NamedTuple):
    letter: str
    name: str
    style: str


class Marks:
    """Letters assigned to writers so far; agents get them in the order of their first `meet`."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def meet(self, writer: Mapping[str, Any] | None) -> None:
        """Assign a letter to the writer if it is an agent. The displayed name includes the session once an agent has
        two sessions.
        """
        self._number(writer or {})

    def of_story(self, story: Mapping[str, Any]) -> Mark:
        """Return the letter, name and style of a story's writer (story: turn, git operation, saves or burst)."""
        writer = story.get("writer") or {}
        if writer.get("agent"):
            return self._agent(writer, bool(story.get("probable")))
        form = story.get("form")
        if form == "git":
            return Mark("g", "git", PLAIN)
        if form == "capture":
            return Mark("q", "quire", DIM)
        return self._other(writer, bool(story.get("unclaimed")))

    def of_record(self, record: Mapping[str, Any]) -> Mark:
        """Return the letter, name and style for the writer of a record, or of a line of a blame."""
        if record.get("commit"):
            return Mark("c", visible(render.commit(record["commit"]).removeprefix("commit ")), DIM)
        if record.get("commit_pending"):
            return Mark("c", "commit", DIM)
        if record.get("evidence") == "captured":
            return Mark("q", "first seen", DIM)
        writer = record.get("writer") or {}
        if writer.get("agent"):
            return self._agent(writer, record.get("evidence") == DURING)
        return self._other(writer, bool(record.get("unclaimed")))

    def _agent(self, writer: Mapping[str, Any], probable: bool) -> Mark:
        number = self._number(writer)
        agent, session = visible(writer["agent"]), visible(_session(writer))
        others = [visible(one) for name, one in self._numbers if name == writer["agent"] and visible(one) != session]
        name = f"{agent}/{render.beginning(session, others, SHORT)}" if session and others else agent
        return Mark(_LETTERS[number % 26], f"{MARK}{name}" if probable else name, f"{WRITER}{number % COLOURS}")

    def _number(self, writer: Mapping[str, Any]) -> int:
        key = (str(writer.get("agent") or ""), _session(writer))
        return self._numbers.setdefault(key, len(self._numbers)) if key[0] else 0

    def _other(self, writer: Mapping[str, Any], unclaimed: bool) -> Mark:
        if writer.get("uid") is not None:
            return Mark("u", "user", PLAIN)
        return Mark("y", render.YOU, PLAIN) if unclaimed else Mark("o", "outside", PLAIN)


def _session(writer: Mapping[str, Any]) -> str:
    return str(writer.get("parent") or writer.get("agent_session") or "")
