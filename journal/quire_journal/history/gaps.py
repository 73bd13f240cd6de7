"""Gaps: records lost to damage (`salvager`), and the questions that they leave open.

The state of a path is its newest version, unless a lost record may have made another. The next version's base can prove
that none did. A salvage ends the doubt, as the disk was then compared with the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from quire_journal.history.history import History
from quire_journal.model import Refusal, counted, version_token
from quire_journal.views import OUTSIDE_TYPE, LostStretch, Version, standing

RECORD_LOST: Final = "record_lost"
"""Code for a fact whose record is lost."""

MOST_NAMED: Final = 5
"""Maximum number of stretches named in a sentence (`MOST_LISTED`: in a reply)."""

MOST_LISTED: Final = 100


def gaps_at(history: History, seq: int) -> tuple[LostStretch, ...]:
    """The lost records up to `seq` that no salvage up to there has made up for."""
    return tuple(gap for gap in history.lost() if gap.first <= seq < gap.salvaged)


def gaps_after(history: History, seq: int, upto: int | None = None) -> tuple[LostStretch, ...]:
    """The lost records after `seq`, up to `upto`."""
    return tuple(gap for gap in history.lost() if seq < gap.last and (upto is None or gap.first <= upto))


def gaps_of(history: History, path: str, seq: int) -> tuple[LostStretch, ...]:
    """The lost records that leave the state of `path` after record `seq` open."""
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
    """The lost records that may have come between `earlier` and its successor `version`."""
    known = 0 if earlier is None else earlier.seq
    doubted = tuple(gap for gap in history.lost() if known < gap.last and gap.first < version.seq)
    made_of = earlier is not None and version.base == known
    if not made_of and (version.base or standing(earlier) is not None):
        return doubted
    # A tool knows the base it replaces. A file found after the salvage may be the result of a lost record.
    return tuple(gap for gap in doubted if gap.salvaged < version.seq and version.type == OUTSIDE_TYPE)


def lost_version(gaps: Sequence[LostStretch], base: int = 0) -> Version:
    """A stand-in for a lost version; its seq is known only from a later version's base."""
    seq = base if any(gap.first <= base <= gap.last for gap in gaps) else 0
    return Version(seq, 0, 0, seq, "", b"", 0, 0, uncaptured=RECORD_LOST)


def version_then(history: History, path: str, seq: int) -> Version | None:
    """The head of `path` after record `seq`, or a stand-in if unknown."""
    gaps = gaps_of(history, path, seq)
    return lost_version(gaps) if gaps else history.version_at(path, seq)


def is_lost(version: Version | None) -> bool:
    """True for the stand-in of a lost version."""
    return version is not None and version.uncaptured == RECORD_LOST


# ── told ─────────────────────────────────────────────────────────────────────


def gaps_json(gaps: Iterable[LostStretch]) -> list[dict[str, Any]]:
    """The lost records in a reply: `{first, last}`, cut at `MOST_LISTED`."""
    return [{"first": gap.first, "last": gap.last} for gap in [*gaps][:MOST_LISTED]]


def named(gaps: Sequence[LostStretch]) -> str:
    """The lost records in a sentence: `records 148 to 245, and 293`."""
    few = [str(gap.first) if gap.first == gap.last else f"{gap.first} to {gap.last}" for gap in gaps[:MOST_NAMED]]
    more = len(gaps) - len(few)
    if more:
        few.append(counted(more, "more stretch", "more stretches"))
    listed = ", ".join(few[:-1]) + (" and " if few[:-1] else "") + few[-1]
    one = len(gaps) == 1 and gaps[0].first == gaps[0].last
    return f"record {listed}" if one else f"records {listed}"


def refusal(history: History, point: str, gaps: Sequence[LostStretch], path: str = "", seq: int = 0) -> Refusal:
    """The refusal of a point at which the state of `path`, or of the tree, is unknown."""
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
    """Refuse if the state of `path` after record `seq`, named `point` by the caller, is unknown."""
    gaps = gaps_of(history, path, seq)
    if gaps:
        raise refusal(history, point, gaps, path, seq)


def require_not_lost(history: History, seq: int, point: str) -> None:
    """Refuse a point that is a lost record."""
    gaps = tuple(gap for gap in history.lost() if gap.first <= seq <= gap.last)
    if gaps:
        raise refusal(history, point, gaps)


def warning(gaps: Sequence[LostStretch], so: str) -> dict[str, Any]:
    """The warning that a reply is incomplete; `so`: the consequence."""
    return {"type": RECORD_LOST, "message": f"{named(gaps).capitalize()} lost to damage of the journal: {so}."}
