"""Explain: which announced calls made the bytes that were found, and in which order. Pure.

Calls are tried one after the other, in any order that fits, on the bytes before. Where they come to exactly what was
found, each of them is proved (`exact`). Where more was changed beside them, the calls are proved by the lines of theirs
that stand, and what was changed beside is told apart (`exact+`): it is the work of a formatter within the call, where
nothing but the layout differs, and else of somebody unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from quire_daemon.core import AnnouncedCall
from quire_daemon.tools.evidence.results import about, moved, results
from quire_journal.text import Text, changed_ranges, diff

MOST_CALLS: Final = 4
"""Calls that are tried together: of more than these nobody waits for all orders."""

MOST_TRIES: Final = 200
"""Results that are made for one look at a file."""


class ExplainedStep(NamedTuple):
    """The bytes after one part of a change, and the call that made it; None for what somebody unknown did."""

    data: bytes | None  # None: the file is gone
    call: AnnouncedCall | None
    layout: bool = False  # of what stands beside a call: only the layout of its text differs


def explain(
    path: str, before: bytes | None, found: bytes | None, calls: Sequence[AnnouncedCall]
) -> tuple[ExplainedStep, ...]:
    """The steps from the bytes before to those that were found; none where no call accounts for any of it."""
    offering = [call for call in calls if any(about(payload, path) for payload in call.payloads)][-MOST_CALLS:]
    partly: tuple[ExplainedStep, ...] = ()
    for tried, steps in enumerate(_orders(path, before, found, offering)):
        if tried == MOST_TRIES:
            break
        if steps[-1].data == found:
            return steps
        if len(steps) > len(partly) and _stands(before, steps, found):
            partly = steps
    if not partly:
        return ()
    made = partly[-1].data
    return (*partly, ExplainedStep(found, None, layout=_same_but_layout(made, found)))


def _orders(
    path: str, before: bytes | None, found: bytes | None, calls: Sequence[AnnouncedCall]
) -> Iterator[tuple[ExplainedStep, ...]]:
    """Every way to perform some of the calls one after the other, the shorter first."""
    level: list[tuple[ExplainedStep, ...]] = [()]
    for _ in calls:
        longer: list[tuple[ExplainedStep, ...]] = []
        for steps in level:
            at = steps[-1].data if steps else before
            done = {step.call.burst for step in steps if step.call is not None}
            for call in calls:
                if call.burst in done:
                    continue
                made = (data for payload in call.payloads for data in results(payload, path, at, found))
                for data in dict.fromkeys(made):
                    if data != at:
                        longer.append((*steps, ExplainedStep(data, call)))
                        yield longer[-1]
        level = longer


def _stands(before: bytes | None, steps: Sequence[ExplainedStep], found: bytes | None) -> bool:
    """Does a line that each call brought stand where it was put; of one that only removes, is all of that gone?"""
    if found is None or any(step.data is None for step in steps):
        return False
    was, now = Text.of(before or b""), Text.of(found)
    for step in steps:
        made = Text.of(step.data or b"")
        if made.binary or now.binary:
            return False
        brought, removed = _changed(was, made)
        lost = {at for splice in diff(made, now) for at in range(splice.start, splice.stop)}
        lines = [line.strip() for line in now.lines]
        if brought and not any(made.lines[at].strip() for at in brought - lost):
            return False
        if not brought and any(was.lines[at].strip() in lines for at in removed if was.lines[at].strip()):
            return False
        was = made
    return True


def _changed(was: Text, made: Text) -> tuple[set[int], set[int]]:
    """(the lines of the new text that came, the lines of the old one that went)."""
    changed = changed_ranges(diff(was, made))
    came = {at for one in changed for at in range(one["start"] - 1, one["end"])}
    return came, {at for one in changed for at in range(one["was_start"] - 1, one["was_end"])}


def explain_move(
    path: str, to: str, before: bytes, found: bytes, calls: Sequence[AnnouncedCall]
) -> AnnouncedCall | None:
    """The call whose patch moves the file and comes to these bytes; None where there is none."""
    for call in calls:
        if any(found in moved(payload, path, to, before) for payload in call.payloads):
            return call
    return None


_LAYOUT: Final = re.compile(rb"[\s'\"`,;()\\]+")


def _same_but_layout(made: bytes | None, found: bytes | None) -> bool:
    """Do the two differ only in blanks, line breaks, quotes and closing commas, as a formatter leaves them?"""
    if made is None or found is None:
        return False
    return _LAYOUT.sub(b"", made) == _LAYOUT.sub(b"", found)
