"""Calls of `hashline_edit`, short to write."""

from __future__ import annotations

from typing import Any

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Settings
from quire_journal.text.line_hash import line_id

FIVE = "one\ntwo\nthree\nfour\nfive\n"


TEN = "".join(f"line {n}\n" for n in range(1, 11))


def ref(line: int, said: str | bytes) -> str:
    """The reference of a line that says this."""
    return f"{line}#{line_id(said if isinstance(said, bytes) else said.encode())}"


def opened(text: str | bytes = FIVE, settings: Settings | None = None, **files: str) -> MemoryDaemon:
    """A workspace with f.txt, which ann has read."""
    daemon = MemoryDaemon({"f.txt": text, **files}, settings)
    read(daemon)
    return daemon


def read(daemon: MemoryDaemon, by: str = "ann", path: str = "f.txt") -> list[str]:
    """The references that a read shows now."""
    rows = daemon.ask("read_file", {"path": path, "format": "hashline"}, by=by)["lines"]
    return [row.split("|")[0] for row in rows]


def edit(daemon: MemoryDaemon, *edits: dict[str, Any], by: str = "ann", **more: Any) -> dict[str, Any]:
    """The reply to a call on f.txt."""
    return daemon.ask("hashline_edit", {"path": "f.txt", "edits": list(edits), **more}, by=by)


def put(reference: str, *content: str) -> dict[str, Any]:
    """Replace one line."""
    return {"target": reference, "new_content": list(content)}


def after(reference: str, *content: str) -> dict[str, Any]:
    """Insert behind a line."""
    return {"after": reference, "inserted_lines": list(content)}


def before(reference: str, *content: str) -> dict[str, Any]:
    """Insert in front of a line."""
    return {"before": reference, "inserted_lines": list(content)}


def span(first: str, last: str, *content: str) -> dict[str, Any]:
    """Replace a range."""
    return {"first": first, "last": last, "new_content": list(content)}


ONE, TWO, THREE, FOUR, LAST = (ref(n, said) for n, said in enumerate(FIVE.split(), 1))
