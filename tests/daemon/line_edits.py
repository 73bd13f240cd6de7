"""Calls of `edit` on f.txt, short to write."""

from __future__ import annotations

from typing import Any

from memory_daemon import MemoryDaemon
from quire_journal.text.line_hash import hash8

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"
TWENTY = "".join(f"line {n}\n" for n in range(1, 21))


def h(line: str) -> str:
    """The hash of a line as reads show it."""
    return hash8(line.encode())[:6]


def replace(line: str, content: str, **more: Any) -> dict[str, Any]:
    """Arguments of an edit that replaces one line of f.txt."""
    return {"path": "f.txt", "operations": [{"op": "replace_line", "hash": h(line), "content": content}], **more}


def read(daemon: MemoryDaemon, by: str = "ann", **more: Any) -> dict[str, Any]:
    """A read of f.txt with hashes."""
    return daemon.ask("read_file", {"path": "f.txt", "hashes": True, **more}, by=by)
