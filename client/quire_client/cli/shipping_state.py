"""Sentences about the copy of the journal in a remote store, for `quire status` and `quire ship`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quire_client.cli import render


def fork_told(journal: str, origin: str) -> str:
    """Return a sentence about a journal that is shipped under another name since it forked."""
    names = render.one_line(origin, 80), render.one_line(journal, 80)
    return (
        f"the far side has other records of {names[0]}, by a copy of this journal or from before one was put back; "
        f"this one goes on there as {names[1]}: `quire log --kind journal_forked`"
    )


def gaps_told(gaps: Sequence[int]) -> str:
    """Return a sentence about segments that are missing in the remote store for good."""
    which = f"segment {gaps[0]}" if len(gaps) == 1 else f"{len(gaps)} segments, the first is {gaps[0]}"
    return f"the far side lost {which}, which cannot be made again as it was"


def lost_told(lost: Mapping[str, Any]) -> str:
    """Return a sentence about segments of the shipped history that the remote store has lost."""
    what = f"{render.counted(lost['segments'], 'segment')} up to record {lost['records']}"
    return f"the far side lost some of {what}, seen {render.moment(lost['at'])}; it gets again what it has not"
