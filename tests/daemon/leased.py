"""Calls about leases, short to write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memory_daemon import MemoryDaemon


@dataclass
class Lines:
    """Connections; those in `gone` have ended."""

    gone: set[bytes] = field(default_factory=set)
    asked: list[bytes] = field(default_factory=list)

    def reaches(self, identity: bytes) -> bool:
        self.asked.append(identity)
        return identity not in self.gone


TEN = "".join(f"line {n}\n" for n in range(1, 11))


def claim(daemon: MemoryDaemon, by: str, path: str = "f.txt", kind: str = "exclusive", **more: Any) -> dict[str, Any]:
    return daemon.ask("claim", {"path": path, "kind": kind, **more}, by=by)


def replace(daemon: MemoryDaemon, by: str, old: str, new: str, path: str = "f.txt", **more: Any) -> dict[str, Any]:
    edit = {"path": path, "old_text": old, "new_text": new, **more}
    return daemon.ask("edit_replace", edit, by=by)


def after(daemon: MemoryDaemon, seconds: float) -> None:
    daemon.after(seconds)
