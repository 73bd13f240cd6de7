"""Gaps: records that damage took (`salvager`), and what nobody can tell because of them.

The state of a path at a point is that of its newest version up to there, unless a lost record in between may have made
another one. What was kept can prove that none did: the next version names the one that it was made from. A salvage ends
the doubt, for what was on disk then was compared with the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from quire_journal.history.history import History
from quire_journal.model import Refusal, counted, version_token
from quire_journal.views import OUTSIDE_TYPE, LostStretch, Version, standing

RECORD_LOST: Final = "record_lost"
"""Why something cannot be told: the record that would tell it is lost."""

MOST_NAMED: Final = 5
"""Stretches that a sentence names, and `MOST_LISTED` that a reply lists; the others are counted."""

MOST_LISTED: Final = 100


def gaps_at(history: History, seq: int) -> tuple[LostStretch, ...]:
    """The lost records up to `seq`, where no salvage up to there has compared the disk with the journal since."""
    return tuple(gap for gap in history.lost() if gap.first <= seq < gap.salvaged)


def gaps_after(history: History, seq: int, upto: int | None = None) -> tuple[LostStretch, ...]:
    """The lost records behind `seq`, up to `upto`."""
    return tuple(gap for gap in history.lost() if seq < gap.last and (upto is None or gap.first <= upto))


def gaps_of(history: History, path: str, seq: int) -> tuple[LostStretch, ...]:
    """The lost records for which nobody can tell what was at `path` after record `seq`; none where that is known."""
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
    """The lost records for which nobody can tell whether `version` really came next after `earlier`."""
    known = 0 if earlier is None else earlier.seq
    doubted = tuple(gap for gap in history.lost() if known < gap.last and gap.first < version.seq)
    made_of = earlier is not None and version.base == known
    if not made_of and (version.base or standing(earlier) is not None):
        return doubted
    # A tool looks at what it replaces. What was found on disk after the salvage may be what a lost record made.
    return tuple(gap for gap in doubted if gap.salvaged < version.seq and version.type == OUTSIDE_TYPE)


def lost_version(gaps: Sequence[LostStretch], base: int = 0) -> Version:
    """What stands for a version that is lost: nothing is known of it, but its number where a later one names it."""
    seq = base if any(gap.first <= base <= gap.last for gap in gaps) else 0
    return Version(seq, 0, 0, seq, "", b"", 0, 0, uncaptured=RECORD_LOST)


def version_then(history: History, path: str, seq: int) -> Version | None:
    """The version of `path` that was the head after record `seq`, or what stands for it where that is not known."""
    gaps = gaps_of(history, path, seq)
    return lost_version(gaps) if gaps else history.version_at(path, seq)


def is_lost(version: Version | None) -> bool:
    """Does this only stand for a version that is lost?"""
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
    """The refusal of a question about a point at which lost records leave it open what was at `path`, or anywhere."""
    are = "is" if len(gaps) == 1 and gaps[0].first == gaps[0].last else "are"
    what = f"what {path} was at {point}" if path else f"what there was at {point}"
    message = f"Nobody can tell {what}: {named(gaps)} {are} lost to damage of the journal."
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
    """Refuse where nobody can tell what was at `path` after record `seq`, which the caller named as `point`."""
    gaps = gaps_of(history, path, seq)
    if gaps:
        raise refusal(history, point, gaps, path, seq)


def require_not_lost(history: History, seq: int, point: str) -> None:
    """Refuse a point that is itself a lost record."""
    gaps = tuple(gap for gap in history.lost() if gap.first <= seq <= gap.last)
    if gaps:
        raise refusal(history, point, gaps)


def warning(gaps: Sequence[LostStretch], so: str) -> dict[str, Any]:
    """The warning of a reply that lost records leave incomplete; `so`: what follows from that."""
    return {"type": RECORD_LOST, "message": f"{named(gaps).capitalize()} lost to damage of the journal: {so}."}
