"""A desk with a file of which tests undo what was done to it."""

from __future__ import annotations

from typing import Any

from desk import Desk, lines

START = lines("one", "two", "three", "four", "five", "six")


def desk_with(text: bytes = START, path: str = "f.txt") -> Desk:
    """A desk with one file that came from outside."""
    desk = Desk()
    desk.outside(path, text)
    return desk


def only_file(reply: dict[str, Any]) -> dict[str, Any]:
    """The one entry of `files`."""
    (entry,) = reply["files"]
    assert isinstance(entry, dict)
    return entry
