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


def built_on(desk: Desk) -> tuple[bytes, int]:
    """Ann writes two lines, and Ben builds on one of them after he wrote elsewhere: the text, and his last record."""
    anns = START.replace(b"two", b"TWO").replace(b"six", b"SIX")
    desk.write("f.txt", anns, desk.ann)
    desk.write("f.txt", anns.replace(b"one\n", b"zero\none\n"), desk.ben)
    both = anns.replace(b"one\n", b"zero\none\n").replace(b"TWO", b"TWO by ben")
    return both, desk.write("f.txt", both, desk.ben)


def only_file(reply: dict[str, Any]) -> dict[str, Any]:
    """The one entry of `files`."""
    (entry,) = reply["files"]
    assert isinstance(entry, dict)
    return entry
