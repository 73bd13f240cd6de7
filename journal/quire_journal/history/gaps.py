"""Gaps: records lost to damage, and queries whose answer is therefore unknown.

The state of a path is its newest version, unless a lost record made a newer version. The base of the next version can
rule this out, and so does a salvage (recovery of a damaged database), which compares the disk with the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from quire_journal.history.history import History
from quire_journal.model import Refusal, counted, version_token
from quire_journal.views import OUTSIDE_TYPE, LostStretch, Version, standing

RECORD_LOST: Final = "record_lost"
"""Code of refusals and warnings about lost records; `uncaptured` of the stand-in for a lost version."""

MOST_NAMED: Final = 5
"""Maximum number of ranges in a message; `MOST_LISTED`: in a JSON list."""

MOST_LISTED: Final = 100


def gaps_at(history: History, seq: int) -> tuple[LostStretch, ...]:
    """Return the ranges of lost records that leave the state after record `seq` unknown: those that begin up to `seq`,
    and whose salvage is recorded after it.
    """
    return tuple(gap for gap in history.lost() if gap.first <= seq < gap.salvaged)


def gaps_after(history: History, seq: int, upto: int | None = None) -> tuple[LostStretch, ...]:
    """Return the ranges of lost records that end after `seq` and begin up to `upto`."""
    return tuple(gap for gap in history.lost() if seq < gap.last and (upto is None or gap.first <= upto))


def gaps_of(history: History, path: str, seq: int) -> tuple[LostStretch, ...]:
    """Return the ranges of lost records that leave the state of `path` after record `seq` unknown."""
    doubted = gaps_at(history, seq)
    known = history.version_at(path, seq) if doubted else None
    doubted = tuple(gap for gap in doubted if known is None or gap.last > known.seq)
    if not doubted or known is None:
        return doubted
    later = next(history.versions(path, after=seq), None)
    if later is None or later.moved_from or later.base != known.seq:
        return doubted
    return tuple(gap for gap in doubted if gap.salvaged < later.seq)


def gaps_before(history: History, version: Version, earlier: Version | None) -> tuple[LostStretch, ...]:
    """Return the ranges of lost records that may have changed a file between `earlier` (None: no version) and the next
    known `version`.
    """
    known = 0 if earlier is None else earlier.seq
    doubted = tuple(gap for gap in history.lost() if known < gap.last and gap.first < version.seq)
    made_of = earlier is not None and version.base == known
    if not made_of and (version.base or standing(earlier) is not None):
        return doubted
    # A tool knows the base it replaces; a file found after the salvage may be the result of a lost record.
    return tuple(gap for gap in doubted if gap.salvaged < version.seq and version.type == OUTSIDE_TYPE)


def lost_version(gaps: Sequence[LostStretch], base: int = 0) -> Version:
    """Return a stand-in for a lost version. Its seq is `base`, the base of a later version, if that record is in
    `gaps`; else 0.
    """
    seq = base if any(gap.first <= base <= gap.last for gap in gaps) else 0
    return Version(seq, 0, 0, seq, "", b"", 0, 0, uncaptured=RECORD_LOST)


def version_then(history: History, path: str, seq: int) -> Version | None:
    """Return the newest version of `path` up to record `seq`, None if there is none; a stand-in (`is_lost`) if lost
    records make the version unknown.
    """
    gaps = gaps_of(history, path, seq)
    return lost_version(gaps) if gaps else history.version_at(path, seq)


def is_lost(version: Version | None) -> bool:
    return version is not None and version.uncaptured == RECORD_LOST


# ── in replies ─────────────────────────────────────────────────────────────────────


def gaps_json(gaps: Iterable[LostStretch]) -> list[dict[str, Any]]:
    """Return `[{first, last}, …]` for a reply, cut at `MOST_LISTED`."""
    return [{"first": gap.first, "last": gap.last} for gap in [*gaps][:MOST_LISTED]]


def named(gaps: Sequence[LostStretch]) -> str:
    """Return a phrase: `records 148 to 245, and 293`."""
    few = [str(gap.first) if gap.first == gap.last else f"{gap.first} to {gap.last}" for gap in gaps[:MOST_NAMED]]
    more = len(gaps) - len(few)
    if more:
        few.append(counted(more, "more stretch", "more stretches"))
    listed = ", ".join(few[:-1]) + (" and " if few[:-1] else "") + few[-1]
    one = len(gaps) == 1 and gaps[0].first == gaps[0].last
    return f"record {listed}" if one else f"records {listed}"


def refusal(history: History, point: str, gaps: Sequence[LostStretch], path: str = "", seq: int = 0) -> Refusal:
    """Return the refusal `record_lost` of a call about `point`, at which the state of `path` ("": of the tree) is
    unknown.
    """
    are = "is" if len(gaps) == 1 and gaps[0].first == gaps[0].last else "are"
    what = f"What {path} was at {point}" if path else f"The state at {point}"
    message = f"{what} is unknown: {named(gaps)} {are} lost to damage of the journal."
    details: dict[str, Any] = {"path": path} if path else {}
    if path:
        before = history.version_at(path, seq)
        after = next(history.versions(path, after=seq), None)
        around = {"before": before, "after": after}
        known = {name: version_token(version.seq) for name, version in around.items() if version is not None}
        details |= known
        if known:
            message += f" Its versions around that are {' and '.join(known.values())}."
    return Refusal(RECORD_LOST, message, gaps=gaps_json(gaps), **details)


def require_known(history: History, path: str, seq: int, point: str) -> None:
    """Raise `Refusal` `record_lost` if the state of `path` after record `seq`, the caller's `point`, is unknown."""
    gaps = gaps_of(history, path, seq)
    if gaps:
        raise refusal(history, point, gaps, path, seq)


def require_not_lost(history: History, seq: int, point: str) -> None:
    """Raise `Refusal` `record_lost` if record `seq`, the caller's `point`, is lost."""
    gaps = tuple(gap for gap in history.lost() if gap.first <= seq <= gap.last)
    if gaps:
        raise refusal(history, point, gaps)


def warning(gaps: Sequence[LostStretch], so: str) -> dict[str, Any]:
    """Return the warning of a reply that lost records leave incomplete; `so` is the consequence, as a clause."""
    return {"type": RECORD_LOST, "message": f"{named(gaps).capitalize()} lost to damage of the journal: {so}."}
