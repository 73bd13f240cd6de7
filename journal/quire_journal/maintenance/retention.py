"""Retention: choice of versions whose bytes may be dropped. Records are never dropped.

The rules are restic's, for the versions of each file: a version is kept if one rule keeps it. Always kept are heads,
files at a checkpoint, and versions that an open burst, an unsettled write, an open edit checkpoint, a lease on lines or
a recent reader may need. In old runs of outside versions (a formatter, a build) the rules see only the last
(`thin_outside`). A shared blob stays if any verdict keeps it, and so do its bases.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from quire_journal.views import OUTSIDE_TYPE, Version, standing

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
_DURATION: Final = re.compile(r"(\d{1,9})([smhdwy])", re.ASCII)
_SECOND: Final = 1_000_000_000


def duration_ns(text: str) -> int:
    """Parse `90d`, `12h`, `1y` as nanoseconds; "" and `0` are 0. Raises `ValueError` with a sentence."""
    if text in ("", "0"):
        return 0
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a duration, which is a number followed by s, m, h, d, w or y, such as 90d")
    return int(found[1]) * _UNITS[found[2]] * _SECOND


class Policy(msgspec.Struct, frozen=True):
    """Rules for the past of each file. A count of -1 is unlimited, 0 disables the rule."""

    keep_last: int = 0  # newest versions
    keep_within_ns: int = 0  # maximum age in ns
    hourly: int = 0  # the last version of each of the last n hours that have one
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0
    thin_outside_ns: int = 0  # the rules ignore outside versions followed by another within this time,
    thin_after_ns: int = 0  # once that other version is this old

    @property
    def keeps_nothing(self) -> bool:
        """True if there is no rule, which, as in restic, is a mistake: then nothing is dropped."""
        counts = (self.keep_last, self.hourly, self.daily, self.weekly, self.monthly, self.yearly)
        return not any(counts) and not self.keep_within_ns

    def __str__(self) -> str:
        told = [f"keep-last {self.keep_last}"] if self.keep_last else []
        if self.keep_within_ns:
            told.append(f"keep-within {span(self.keep_within_ns)}")
        told += [f"{word} {count}" for word, count, _ in self.buckets() if count]
        if self.thin_outside_ns:
            told.append(f"thin-outside {span(self.thin_outside_ns)} after {span(self.thin_after_ns)}")
        return ", ".join(told) or "no rule"

    def buckets(self) -> Sequence[tuple[str, int, str]]:
        """Return (name, count, strftime format) of the rules for each hour, day, …"""
        return (
            ("hourly", self.hourly, "%Y-%m-%d %Hh"),
            ("daily", self.daily, "%Y-%m-%d"),
            ("weekly", self.weekly, "%G-W%V"),
            ("monthly", self.monthly, "%Y-%m"),
            ("yearly", self.yearly, "%Y"),
        )


class Pins(msgspec.Struct, frozen=True):
    """Versions that are kept whatever the policy, besides the heads."""

    cursors: Sequence[
        tuple[int, str]
    ] = ()  # (cursor, reason): the state of every file at the cursor; "checkpoint before-lunch"
    since: Sequence[tuple[int, str]] = ()  # (cursor, reason): that state and all later versions; "open burst 12"
    versions: Mapping[tuple[str, int], str] = msgspec.field(default_factory=dict)  # (path, seq) → reason


class RetentionVerdict(NamedTuple):
    version: Version
    keep: bool
    reason: str


def judge(
    path: str,
    versions: Sequence[Version],
    policy: Policy,
    pins: Pins,
    now_ns: int,
    held: Callable[[bytes], bool] = lambda blob: True,
) -> list[RetentionVerdict]:
    """Return a verdict for each version of `path` with held bytes, oldest first. `versions` also has displaced and
    dropped versions, so that later collections judge alike.
    """
    kept = _pinned(path, versions, pins)
    mine = [v for v in versions if v.blob and not v.uncaptured and held(v.blob)]
    thinned = _thinned(versions, policy, now_ns)
    if policy.keeps_nothing:
        return [RetentionVerdict(v, True, kept.get(v.seq, "no rule in the policy: nothing is dropped")) for v in mine]
    candidates = [v for v in mine if v.seq not in thinned]
    for version in candidates:
        if policy.keep_within_ns and now_ns - version.at_ns <= policy.keep_within_ns:
            kept.setdefault(version.seq, f"within {span(policy.keep_within_ns)}")
    heads = [v for v in candidates if not v.displaced]
    for version in _newest(heads, policy.keep_last):
        kept.setdefault(version.seq, f"one of the last {policy.keep_last} of {path}")
    for word, count, form in policy.buckets():
        for version, bucket in _one_each(heads, count, form):
            kept.setdefault(version.seq, f"{word} {bucket}")
    return [_judged(v, kept, thinned) for v in mine]


def _judged(version: Version, kept: Mapping[int, str], thinned: Mapping[int, str]) -> RetentionVerdict:
    if version.seq in kept:
        return RetentionVerdict(version, True, kept[version.seq])
    why = thinned.get(version.seq) or ("displaced bytes, and no rule keeps them" if version.displaced else _NO_RULE)
    return RetentionVerdict(version, False, why)


_NO_RULE: Final = "no rule keeps it"


def _pinned(path: str, versions: Sequence[Version], pins: Pins) -> dict[int, str]:
    kept: dict[int, str] = {}
    states = [v for v in versions if not v.displaced]
    if states and not states[-1].gone:
        kept[states[-1].seq] = f"head of {path}"
    for version in versions:
        if (path, version.seq) in pins.versions:
            kept.setdefault(version.seq, pins.versions[path, version.seq])
    for cursor, reason in (*pins.cursors, *pins.since):
        then = standing(_state_at(states, cursor))
        if then is not None:
            kept.setdefault(then.seq, reason)
    for cursor, reason in pins.since:
        for version in versions:
            if version.seq > cursor:
                kept.setdefault(version.seq, reason)
    return kept


def _state_at(states: Sequence[Version], cursor: int) -> Version | None:
    upto = bisect_right(states, cursor, key=lambda version: version.seq)
    return states[upto - 1] if upto else None


def _thinned(versions: Sequence[Version], policy: Policy, now_ns: int) -> dict[int, str]:
    if not policy.thin_outside_ns:
        return {}
    found: dict[int, str] = {}
    states = [v for v in versions if not v.displaced]
    for version, later in pairwise(states):
        stood_ns = later.at_ns - version.at_ns
        if (
            version.type == later.type == OUTSIDE_TYPE
            and 0 <= stood_ns <= policy.thin_outside_ns  # a negative time means that the clock was set back
            and now_ns - later.at_ns >= policy.thin_after_ns
        ):
            found[version.seq] = f"outside, superseded after {span(stood_ns)}"
    return found


def _newest(versions: Sequence[Version], count: int) -> Sequence[Version]:
    return versions if count < 0 else versions[max(len(versions) - count, 0) :]


def _one_each(versions: Sequence[Version], count: int, form: str) -> Iterable[tuple[Version, str]]:
    last = ""
    for version in reversed(versions) if count else ():
        bucket = datetime.fromtimestamp(version.at_ns // _SECOND, UTC).strftime(form)
        if bucket != last:
            if count == 0:
                return
            count -= 1
            last = bucket
            yield version, bucket


def span(ns: int) -> str:
    """Return a duration for a sentence: `90d`, `3 s`."""
    for unit in ("d", "h"):
        size = _UNITS[unit] * _SECOND
        if ns >= size and ns % size == 0:
            return f"{ns // size}{unit}"
    seconds = ns / _SECOND
    return f"{seconds:.0f} s" if seconds >= 1 or not ns else f"{seconds:.2g} s"
