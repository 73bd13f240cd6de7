"""Changes of other writers to a file, for replies: writer, evidence, time, lines, and effect on the caller's lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from quire_daemon.core import World
from quire_daemon.tools.history import end_of
from quire_daemon.tools.overlap import CallerLines, done_by, relations
from quire_journal.history import History, rfc3339
from quire_journal.model import version_token
from quire_journal.text import changed_ranges
from quire_journal.views import Version, standing

MOST_ENTRIES: Final = 5
"""Maximum number of changes of other writers that a reply lists."""

MOST_NEWS: Final = 256
"""Maximum number of versions since the caller's last read that each call searches for news."""


def changes_told(history: History, path: str, others: Sequence[Version], lines: CallerLines) -> list[dict[str, Any]]:
    """Return the newest `MOST_ENTRIES` of the versions `others` for a reply, oldest first. `touches` is the change's
    effect on the caller's `lines`.
    """
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
        told.append(entry | gone_told(history, version) | hint_of(history, version))
    return told


def gone_told(history: History, version: Version) -> dict[str, Any]:
    """Return the reply fields `gone` for a removed file, with `moved_to` if the file has another name now; empty for
    another version.
    """
    if not version.gone:
        return {}
    name, now = end_of(version.moved_to, history.head(), history) if version.moved_to else ("", None)
    return {"gone": True} if standing(now) is None else {"gone": True, "moved_to": name}


def hint_of(history: History, version: Version) -> dict[str, str]:
    """Return `hint`, the circumstances recorded with an outside write; empty if there are none."""
    record = history.record(version.seq) if version.evidence else None
    hint = getattr(record.event(), "hint", "") if record is not None else ""
    return {"hint": hint} if hint else {}


def news(world: World, path: str, lines: CallerLines | None = None) -> dict[str, Any]:
    """Return `changed_since_your_read` if other writers changed the file after the caller read it; else empty.
    `touches` relates to `lines` of the call, or to all lines that the caller has read; `since` is the version read.
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
    """True if the file has again the bytes, mode and type that it had at record `since`, as after a switch to another
    branch and back.
    """
    was, now = history.version_at(path, since), history.file(path)
    if was is None or now is None or was.gone or now.gone:
        return False
    return bool(now.blob) and (was.blob, was.mode, was.entry) == (now.blob, now.mode, now.entry)


def rest(name: str, others: Sequence[Version]) -> dict[str, int]:
    more = len(others) - MOST_ENTRIES
    return {name: more} if more > 0 else {}
