"""A dialect: one edit protocol as agents speak it, as a record of functions.

A dialect only says what the caller means: `plan` turns its arguments into splices of one immutable text, or
refuses. Staleness, leases, safety, journalling, rebase and the atomic write exist once, outside
(`handlers/edit.py`), and are the same for every dialect.

To add one: a file beside this one, a line in the table in `__init__.py`, a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from quire_daemon.config import Settings
from quire_journal.splice import Splice
from quire_journal.text import Text

P = TypeVar("P", bound=msgspec.Struct)


@dataclass(frozen=True)
class Sight:
    """What the caller is judged on: its base, and which lines of it this caller was shown.

    `shown` is None for a caller that was never shown the file; it is judged on the file as it is.
    """

    text: Text
    shown: tuple[tuple[int, int], ...] | None = None

    def was_shown(self, line: int) -> bool:
        """Was line `line` (0-based) of the base shown to this caller?"""
        return self.shown is not None and any(start <= line < stop for start, stop in self.shown)


@dataclass(frozen=True)
class Plan:
    """What a request does to one text: sorted splices in the coordinates of `Sight.text`."""

    splices: tuple[Splice, ...]
    operations: int  # how many operations the caller asked for
    final_break: bool | None = None  # None keeps the file's own
    warnings: tuple[dict[str, Any], ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)  # more fields of the reply, in the dialect's words


@dataclass(frozen=True)
class Dialect(Generic[P]):
    """One edit protocol."""

    name: str  # the tool's name
    params: type[P]  # arguments beside the common ones; decoded strictly
    plan: Callable[[P, Sight, Settings], Plan]  # pure; raises `Refused`
    stale: str  # the code of a refusal because another writer changed the file since the base
    judged_on_base: bool = True  # False: takes its text as proof and only reports
    safety: str = "warn"  # default of `safety_check`
    manual: str = ""  # the guidance that the seeds require in an agent's system prompt
