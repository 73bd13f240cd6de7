"""Who wrote the lines of a version: worked out from all the versions before it, and the more there are the longer.

A thousand versions take a tenth of a second, in which nobody else would be answered. So a decision that needs it of a
file with a long past says so (`NeedsOrigins`), and is made again with what came of it (`World.origins`); in between, a
thread works it out. What comes of it holds for good: the past of a version does not change, except that bytes may go.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from quire_daemon.handlers.base import OriginsOf, World
from quire_journal.blame import Blame, backwards, blame
from quire_journal.blobs import NotHeld
from quire_journal.history import History
from quire_journal.views.files import Version

FEW: Final = 20
"""Versions that are gone through at once, in two milliseconds."""

FEW_BYTES: Final = 1 << 20
"""The same, of the bytes that they have in all."""


class NeedsOrigins(Exception):
    """A decision depends on the answer to `asked`; it is to be made again with that in `World.origins`."""

    def __init__(self, asked: OriginsOf) -> None:
        super().__init__()
        self.asked = asked


def origins(path: str, version: Version, world: World) -> Blame:
    """Who wrote each line of `version` of `path`. Raises `NeedsOrigins`, and as `blame` does."""
    asked = OriginsOf(path, version.seq)
    if asked not in world.origins and not _is_short(world.history, path, version):
        raise NeedsOrigins(asked)
    return world.origins.get(asked) or blame(world.history, path, version)


def worked_out(asked: OriginsOf, history: History) -> Blame | None:
    """The answer. For any thread, with a history of its own. None where the bytes have gone since it was asked."""
    version = history.version(asked.path, asked.seq)
    try:
        return None if version is None else blame(history, asked.path, version)
    except NotHeld:
        return None


def _is_short(history: History, path: str, version: Version) -> bool:
    sizes = [one.size for _, one in islice(backwards(history, path, version.seq), FEW + 1)]
    return len(sizes) <= FEW and sum(sizes) <= FEW_BYTES
