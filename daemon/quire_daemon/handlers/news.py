"""What others did to a file, as replies tell it: who, by what evidence, when, where, and what it means to a caller."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from quire_daemon.handlers.base import World
from quire_daemon.rebase import CONFLICTING, NONE, TOUCHING, relation
from quire_journal.blobs import NotHeld
from quire_journal.diff import changed_ranges, diff
from quire_journal.history import History
from quire_journal.ids import version_token
from quire_journal.line_ranges import Ranges
from quire_journal.points import rfc3339
from quire_journal.splice import Splice, carry_ranges
from quire_journal.views.files import Version

MOST_ENTRIES: Final = 5
"""Changes by others that a reply tells one by one."""

MOST_NEWS: Final = 256
"""Versions since the caller's last read that are looked through for news on every call; older ones are not news."""


def changes_told(
    history: History, path: str, others: Sequence[Version], lines: Ranges | None, at: Version | None
) -> list[dict[str, Any]]:
    """The newest of `others` as replies tell them: who, by which evidence, when, which lines, and what it means.

    `lines` are the caller's, in version `at`; None when the whole file is.
    """
    told: list[dict[str, Any]] = []
    for version in others[-MOST_ENTRIES:]:
        splices = _done_by(history, path, version)
        entry: dict[str, Any] = {
            "writer": history.writer_json(version.writer, version.type),
            "evidence": version.evidence or None,
            "at": rfc3339(version.at_ns),
            "version": version_token(version.seq),
            "lines": [[r["start"], r["end"]] for r in changed_ranges(splices)] if splices else [],
            "touches": CONFLICTING if splices is None else _meaning(history, path, version, splices, lines, at),
        }
        if version.gone:
            entry["gone"] = True
        told.append(entry | hint_of(history, version))
    return told


def hint_of(history: History, version: Version) -> dict[str, str]:
    """`hint`, where the record says what was going on when an outside version came to be."""
    record = history.record(version.seq) if version.evidence else None
    hint = getattr(record.event(), "hint", "") if record is not None else ""
    return {"hint": hint} if hint else {}


def _done_by(history: History, path: str, version: Version) -> tuple[Splice, ...] | None:
    """What this version did to the one before it; None where the journal cannot tell, or the file came or went."""
    before = history.version_at(path, version.seq - 1)
    if before is None or before.gone or version.gone:
        return None
    try:
        return diff(history.text_of(before.blob), history.text_of(version.blob))
    except NotHeld:
        return None


def _meaning(
    history: History, path: str, version: Version, splices: tuple[Splice, ...], lines: Ranges | None, at: Version | None
) -> str:
    """Does what `version` did touch the caller's lines, which stand in `at`?"""
    if not splices:
        return NONE
    if lines is None or at is None:
        return CONFLICTING
    try:
        if at.seq < version.seq:
            before = history.version_at(path, version.seq - 1)
            assert before is not None  # `_done_by` has compared with it
            step = diff(history.text_of(at.blob), history.text_of(before.blob))
            kept = carry_ranges(step, lines)
            lost = sum(b - a for a, b in lines) > sum(b - a for a, b in kept)
            return relation(splices, kept) if kept or not lost else TOUCHING
        done = [(r["start"] - 1, r["end"]) for r in changed_ranges(splices)]
        later = carry_ranges(diff(history.text_of(version.blob), history.text_of(at.blob)), done)
    except NotHeld:
        return CONFLICTING
    return relation([Splice(a, b) for a, b in later], lines)


def news(world: World, path: str, needs: Ranges | None = None, needs_at: Version | None = None) -> dict[str, Any]:
    """`changed_since_your_read`, for a caller that has read the file before others changed it; else nothing.

    `touches` is about the lines `needs` of version `needs_at`, those of a call; without them, about all that the caller
    has been shown. `since` is the version that the caller read: a `diff` from there shows all of it.
    """
    seen = world.history.shown(world.who.key, path)
    if seen is None:
        return {}
    history = world.history
    since = islice(history.versions(path, after=seen.news_after, reverse=True), MOST_NEWS)
    others = [v for v in since if history.caller_of(v.writer) != world.who.key][::-1]
    if not others:
        return {}
    lines, at = seen.lines, history.version(path, seen.version)
    if needs is not None and needs_at is not None:
        lines, at = needs, needs_at
    about = {"path": path, "since": version_token(seen.news_after)}
    told = [{**about, **entry} for entry in changes_told(history, path, others, lines, at)]
    return {"changed_since_your_read": told, **rest("changed_since_your_read_more", others)}


def rest(name: str, others: Sequence[Version]) -> dict[str, int]:
    more = len(others) - MOST_ENTRIES
    return {name: more} if more > 0 else {}
