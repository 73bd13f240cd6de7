"""Files that callers are writing, and files that several callers write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from quire_daemon.core import World
from quire_journal.history import blame, is_by_git, rfc3339
from quire_journal.history.renames import LaterNames
from quire_journal.model import REGULAR, paths_of, pause
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import definitions_at
from quire_journal.views import standing

MOST_BATCHES: Final = 50
"""Maximum number of a caller's newest batches that are examined."""

MOST_WRITTEN: Final = 20
"""Maximum number of files listed per caller."""

MOST_COLLISIONS: Final = 20
"""Maximum number of files with several writers in a reply."""

MOST_BYTES: Final = 1 << 20
"""Maximum size in bytes of a file whose lines are compared."""

Work = Mapping[str, int]
"""Time (ns) of a caller's last write, by path."""


def written_since(key: bytes, since_ns: int, world: World) -> Work:
    """Return the existing files that the caller `key` has written since `since_ns`, newest first. Undos and what git
    brought do not count.
    """
    history, found = world.history, dict[str, int]()
    names = LaterNames(history)
    for batch in history.last_batches(key, MOST_BATCHES):
        pause()
        records = history.batch(batch)
        if not records or records[0].at_ns < since_ns:
            break
        if history.undoing(batch) is not None:
            continue  # whoever takes back or restores writes nothing
        for record in records:
            event = record.event()
            if is_by_git(getattr(event, "hint", "")):
                continue  # a merge or a checkout in an agent's shell brings what others wrote
            for path in (names.now(path, record.seq) for path in paths_of(event)):
                if path not in found and standing(history.file(path)) is not None:
                    found[path] = record.at_ns
        if len(found) >= MOST_WRITTEN:
            break
    return found


def work_json(work: Work) -> list[dict[str, Any]]:
    return [{"path": path, "at": rfc3339(at_ns)} for path, at_ns in [*work.items()][:MOST_WRITTEN]]


def collisions(works: Mapping[bytes, Work], since_ns: int, world: World) -> list[dict[str, Any]]:
    """Return reply entries for files that several callers wrote since `since_ns`, newest first: each caller's lines and
    definitions, and the common definitions (`symbols`).
    """
    writers: dict[str, list[bytes]] = {}
    for key, work in works.items():
        for path in work:
            writers.setdefault(path, []).append(key)
    writers = {path: _without_children(keys, world) for path, keys in writers.items() if len(keys) > 1}
    shared = [path for path, keys in writers.items() if len(keys) > 1]
    shared.sort(key=lambda path: -max(works[key][path] for key in writers[path]))
    return [_collision(path, writers[path], since_ns, world) for path in shared[:MOST_COLLISIONS]]


def _without_children(keys: Sequence[bytes], world: World) -> list[bytes]:
    """Return the callers without those that do not collide with another in the list: subagents with their parent, and
    the editors of a person with each other.
    """
    who = {key: world.history.writer(world.history.caller(key).ids[0]) for key in keys}
    sessions = {one.agent_session for one in who.values() if one is not None and one.agent_session}
    apart = [key for key, one in who.items() if one is None or one.parent not in sessions]
    persons = [key for key in apart if (one := who[key]) is not None and not one.agent]
    return [key for key in apart if key not in persons[1:]]


def _collision(path: str, keys: Sequence[bytes], since_ns: int, world: World) -> dict[str, Any]:
    lines, texts = _lines_of(path, keys, since_ns, world)
    each = []
    for key in keys:
        own = lines.get(key, [])
        who = world.history.writer_json(world.history.caller(key).ids[0])
        each.append({"writer": who, "lines": _ranges(own), "symbols": definitions_at(path, texts, own)})
    common = [name for name in each[0]["symbols"] if all(name in one["symbols"] for one in each)]
    return {"path": path, "writers": each, "symbols": common}


def _lines_of(
    path: str, keys: Sequence[bytes], since_ns: int, world: World
) -> tuple[Mapping[bytes, list[int]], Sequence[bytes]]:
    history = world.history
    version = standing(history.file(path))
    if version is None or version.entry != REGULAR or version.uncaptured or version.size > MOST_BYTES:
        return {}, ()
    try:
        found = blame(history, path, version)
    except NotHeld:
        return {}, ()
    lines: dict[bytes, list[int]] = {key: [] for key in keys}
    for number, origin in enumerate(found.origins):
        key = history.caller_of(origin.version.writer) if origin.version.at_ns >= since_ns else None
        if key in lines:
            lines[key].append(number)
    return lines, found.text.lines


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1][1] = number + 1
        else:
            found.append([number + 1, number + 1])
    return found
