"""`saved`: an editor's plugin reports that a user has just saved a file, with the sha256 of its bytes.

The version with exactly these bytes gets the user as its writer (evidence `exact`), unless a call is proved to have
made the version.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from quire_daemon.core import Decision, ImpliedFiles, Tool, Who, World, checked_sha256, no_paths
from quire_daemon.core.replies import SavedReply
from quire_daemon.tools.evidence import LATE_NS, MOST_LOOKED_AT
from quire_journal.history import History
from quire_journal.model import EXACT, Refusal, WriteAttributed, version_token
from quire_journal.views import OUTSIDE_TYPE, Version

MOST_HASHES: Final = 4
"""Maximum number of hashes of one save: an editor may not know whether it writes a byte order mark."""


class SavedParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    sha256: list[str]  # of the bytes that the editor wrote; several: one of these

    def __post_init__(self) -> None:
        for digits in self.sha256:
            checked_sha256(digits, "sha256")


def decide(params: SavedParams, world: World) -> Decision:
    """Attribute the recent version with these bytes to the caller (`SavedReply`). Raises `Refusal` if there are too few
    or too many hashes.
    """
    if not 1 <= len(params.sha256) <= MOST_HASHES:
        raise Refusal("schema_invalid", f"sha256: must be 1 to {MOST_HASHES} hashes.", argument="sha256")
    path = next((now.path for now in world.files.values()), params.path)
    message = f"No recent version of {path} has these bytes."
    for version in _recent(path, world):
        if version.blob.hex() not in params.sha256:
            continue
        token = version_token(version.seq)
        if version.writer == world.who.writer:
            return Decision({"ok": True, "message": f"{token} is yours, as said before.", "version": token})
        if version.type == OUTSIDE_TYPE and not version.writer:
            message = f"{token} is yours: it has the bytes that you saved."
            own = WriteAttributed((version.seq,), world.who.writer, EXACT)
            return Decision({"ok": True, "message": message, "version": token}, [own])
        others = world.history.named(version.writer)
        message = f"{token} of {path} has these bytes, and was written by {others}; it stays that writer's."
    return Decision({"ok": True, "message": message, "version": None})


def _recent(path: str, world: World) -> Iterator[Version]:
    for version in islice(world.history.versions(path, reverse=True), MOST_LOOKED_AT):
        if version.at_ns < world.now_ns - LATE_NS:
            return
        yield version


def _implied(params: SavedParams, history: History, who: Who) -> ImpliedFiles:
    """Return the saved file, which is observed now if it is watched."""
    del history, who
    return ImpliedFiles((params.path,))


SAVED_TOOL: Final[Tool[SavedParams]] = Tool(
    "saved", SavedParams, no_paths, decide, writes=True, implies=_implied, reply=SavedReply
)
