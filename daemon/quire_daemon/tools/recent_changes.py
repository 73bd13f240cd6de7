"""Others' changes to a file, for replies: writer, evidence, time, lines, and effect on the caller's lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from quire_daemon.core import World
from quire_daemon.tools.edit import CallerLines, done_by, relations
from quire_journal.history import History, rfc3339
from quire_journal.model import version_token
from quire_journal.text import changed_ranges
from quire_journal.views import Version

MOST_ENTRIES: Final = 5
"""Maximum number of changes by others that a reply lists."""

MOST_NEWS: Final = 256
"""Versions since the caller's last read that are searched for news on every call."""


def changes_told(history: History, path: str, others: Sequence[Version], lines: CallerLines) -> list[dict[str, Any]]:
    """The newest of `others`, oldest first, for replies. `touches`: the effect on the caller's `lines`."""
    newest = others[-MOST_ENTRIES:]
    done = {version.seq: done_by(history, path, version) for version in newest}
    meaning = relations(history, path, done, lines)
    told: list[dict[str, Any]] = []
    for version in newest:
        entry: dict[str, Any] = {
            "writer": history.writer_json(version.writer, version.type),
            "evidence": version.evidence or None,
            "at": rfc3339(version.at_ns),
            "version": version_token(version.seq),
            "lines": [[r["start"], r["end"]] for r in changed_ranges(done[version.seq] or ())],
            "touches": meaning[version.seq],
        }
        if version.gone:
            entry["gone"] = True
        told.append(entry | hint_of(history, version))
    return told


def hint_of(history: History, version: Version) -> dict[str, str]:
    """`hint`, if the record says what was going on at an outside write."""
    record = history.record(version.seq) if version.evidence else None
    hint = getattr(record.event(), "hint", "") if record is not None else ""
    return {"hint": hint} if hint else {}


def news(world: World, path: str, lines: CallerLines | None = None) -> dict[str, Any]:
    """`changed_since_your_read`, if others changed the file after the caller read it; else empty.

    `touches` relates to `lines` of a call, or else to all lines shown. `since` is the version read.
    """
    seen = world.history.shown(world.who.key, path)
    if seen is None:
        return {}
    history = world.history
    since = islice(history.versions(path, after=seen.news_after, reverse=True), MOST_NEWS)
    others = [v for v in since if history.caller_of(v.writer) != world.who.key][::-1]
    if not others:
        return {}
    if lines is None:
        lines = CallerLines(seen.lines, history.version(path, seen.version), shown=True)
    about = {"path": path, "since": version_token(seen.news_after)}
    told = [{**about, **entry} for entry in changes_told(history, path, others, lines)]
    return {"changed_since_your_read": told, **rest("changed_since_your_read_more", others)}


def is_as_seen(history: History, path: str, since: int) -> bool:
    """True if the file is again what it was then: it went away with a branch, say, and came back."""
    was, now = history.version_at(path, since), history.file(path)
    if was is None or now is None or was.gone or now.gone:
        return False
    return bool(now.blob) and (was.blob, was.mode, was.entry) == (now.blob, now.mode, now.entry)


def rest(name: str, others: Sequence[Version]) -> dict[str, int]:
    more = len(others) - MOST_ENTRIES
    return {name: more} if more > 0 else {}
