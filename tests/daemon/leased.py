"""Calls about leases, short to write."""

from __future__ import annotations

from typing import Any

from playbook import SECOND_NS, Playbook

TEN = "".join(f"line {n}\n" for n in range(1, 11))


def claim(book: Playbook, by: str, path: str = "f.txt", kind: str = "exclusive", **more: Any) -> dict[str, Any]:
    return book.call("claim", {"path": path, "kind": kind, **more}, by=by)


def replace(book: Playbook, by: str, old: str, new: str, path: str = "f.txt", **more: Any) -> dict[str, Any]:
    edit = {"path": path, "old_text": old, "new_text": new, **more}
    return book.call("edit_replace", edit, by=by)


def after(book: Playbook, seconds: float) -> None:
    book.now_ns += int(seconds * SECOND_NS)
