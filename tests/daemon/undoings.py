"""A daemon with a file of which tests undo what was done to it."""

from __future__ import annotations

from typing import Any

from memory_daemon import MemoryDaemon, lines

START = lines("one", "two", "three", "four", "five", "six")


def daemon_with(text: bytes = START, path: str = "f.txt") -> MemoryDaemon:
    """A daemon with one file that came from outside."""
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)  # as records 1 and 2
    daemon.outside(path, text)
    return daemon


def built_on(daemon: MemoryDaemon) -> tuple[bytes, int]:
    """Ann writes two lines, and Ben builds on one of them after he wrote elsewhere: the text, and his last record."""
    anns = START.replace(b"two", b"TWO").replace(b"six", b"SIX")
    daemon.write("f.txt", anns, daemon.ann)
    daemon.write("f.txt", anns.replace(b"one\n", b"zero\none\n"), daemon.ben)
    both = anns.replace(b"one\n", b"zero\none\n").replace(b"TWO", b"TWO by ben")
    return both, daemon.write("f.txt", both, daemon.ben)


def only_file(reply: dict[str, Any]) -> dict[str, Any]:
    """The one entry of `files`."""
    (entry,) = reply["files"]
    assert isinstance(entry, dict)
    return entry
