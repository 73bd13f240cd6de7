"""Calls of agents' own tools, as tests announce them."""

from __future__ import annotations

from typing import Any

import msgspec

from quire_daemon.core.announcement import AnnouncedCall, Payload
from quire_daemon.tools.evidence.accounts import CallAccounts
from quire_daemon.tools.evidence.explanation import Explanation, explain

PATH = "src/a.py"


def call(number: int, *payloads: dict[str, Any], owner: str = "") -> CallAccounts:
    """The call with this number, of the agent session of the same number if not of another one's."""
    told = msgspec.convert(payloads, tuple[Payload, ...])
    whose = (owner or str(number)).encode()
    return CallAccounts.of(AnnouncedCall(number, 100 + number, (PATH,), told, owner=whose))


def content(text: str, path: str = PATH) -> dict[str, Any]:
    return {"kind": "content", "path": path, "text": text}


def edit(old: str, new: str, everywhere: bool = False) -> dict[str, Any]:
    return {"old": old, "new": new, "all": everywhere}


def replacing(*edits: dict[str, Any], path: str = PATH) -> dict[str, Any]:
    return {"kind": "replace", "path": path, "edits": list(edits)}


def patch(*rows: str) -> dict[str, Any]:
    return {"kind": "patch", "text": "\n".join(["*** Begin Patch", *rows, "*** End Patch", ""])}


def hunks(before: str | None, *told: tuple[int, list[str]]) -> dict[str, Any]:
    rows = [{"start": start, "lines": lines} for start, lines in told]
    return {"kind": "hunks", "path": PATH, "before": before, "hunks": rows}


def data(text: str | bytes | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def explained(before: str | bytes | None, found: str | bytes | None, *calls: CallAccounts) -> Explanation:
    """What calls account for of a change of the file."""
    return explain(PATH, data(before), data(found), calls)


def proved(before: str | bytes | None, found: str | bytes | None, *payloads: dict[str, Any]) -> bool:
    """Is the change proved to be that of a call with these payloads?"""
    return explained(before, found, call(1, *payloads)).proved


def steps(found: Explanation) -> list[tuple[str | None, int]]:
    """The text after each step, and the number of its call; 0: of nobody known."""
    return [(None if one.data is None else one.data.decode(), one.call.burst if one.call else 0) for one in found.steps]


def cell_of(id: str, source: str = "", mode: str = "replace", type: str = "") -> dict[str, Any]:
    """One cell of a notebook is changed."""
    return {"kind": "cell", "path": PATH, "cell": id, "source": source, "mode": mode, "type": type}
