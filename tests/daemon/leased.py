"""Calls about leases, short to write."""

from __future__ import annotations

from typing import Any

from memory_daemon import MemoryDaemon

TEN = "".join(f"line {n}\n" for n in range(1, 11))


def claim(daemon: MemoryDaemon, by: str, path: str = "f.txt", kind: str = "exclusive", **more: Any) -> dict[str, Any]:
    return daemon.ask("claim", {"path": path, "kind": kind, **more}, by=by)


def replace(daemon: MemoryDaemon, by: str, old: str, new: str, path: str = "f.txt", **more: Any) -> dict[str, Any]:
    edit = {"path": path, "old_text": old, "new_text": new, **more}
    return daemon.ask("edit_replace", edit, by=by)


def after(daemon: MemoryDaemon, seconds: float) -> None:
    daemon.after(seconds)
