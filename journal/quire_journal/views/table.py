"""Table of views. A view is a fold over the records whose result is stored.

A fold reads the record, its event, its own tables and earlier records, so that a log always gives the same bytes. It
may also read `paths` and `writers`, whose numbers never change, and the views in its `needs`, which are folded before
it.

A new view is a module with its fold, its tables in `port.TABLES`, and a line in `VIEWS`. Increment the version when a
fold changes, or when events.py gets a kind that it folds: the next start rebuilds the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

import msgspec

from quire_journal.model import Event, Record, ReplyKept, WriterIntroduced
from quire_journal.storage import WriteTransaction
from quire_journal.views import (
    anchors,
    batches,
    bursts,
    callers,
    checkpoints,
    clock,
    files,
    leases,
    lost_bytes,
    paths,
    reads,
    stale_reads,
    uncaptured,
    writers,
)
from quire_journal.views.indexes import contents, term_index


class View(msgspec.Struct, frozen=True):
    """Fold and its tables.

    `apply` folds a record, whose event is None for an unknown kind. `kinds` are the kinds folded (None: all).
    `apply_with` also takes a function for the bytes of a blob. `apply_all` folds consecutive records; no view may need
    such a view. `texts` are the kinds whose texts the rows depend on (None: `kinds`); `who`: the rows depend on
    writers.
    """

    name: str
    version: int
    tables: tuple[str, ...]
    apply: Callable[[WriteTransaction, Record, Event | None], None]
    kinds: tuple[type[Event], ...] | None = None
    needs: tuple[str, ...] = ()
    apply_with: Callable[[WriteTransaction, Record, Event | None, anchors.BytesOf], None] | None = None
    apply_all: Callable[[WriteTransaction, Sequence[tuple[Record, Event | None]]], None] | None = None
    texts: tuple[type[Event], ...] | None = None
    who: bool = False


VIEWS: Final[tuple[View, ...]] = (
    View("paths", 1, paths.TABLES, paths.fold, paths.KINDS),
    View("writers", 2, writers.TABLES, writers.fold, writers.KINDS),
    View("callers", 1, callers.TABLES, callers.fold, callers.KINDS),
    View("files", 4, files.TABLES, files.fold, files.KINDS),
    View("reads", 3, reads.TABLES, reads.fold, reads.KINDS, who=True),
    View("stale", 2, stale_reads.TABLES, stale_reads.fold, stale_reads.KINDS, needs=("files", "reads"), who=True),
    View("clock", 1, clock.TABLES, clock.fold, texts=()),
    View("losses", 1, lost_bytes.TABLES, lost_bytes.fold, lost_bytes.KINDS),
    View("anchors", 6, anchors.TABLES, anchors.fold, anchors.KINDS, needs=("files", "losses"), apply_with=anchors.fold),
    View("checkpoints", 2, checkpoints.TABLES, checkpoints.fold, checkpoints.KINDS),
    View("batches", 4, batches.TABLES, batches.fold, apply_all=batches.fold_all, texts=(ReplyKept,), who=True),
    View("bursts", 2, bursts.TABLES, bursts.fold, bursts.KINDS, who=True),
    View("capture", 2, uncaptured.TABLES, uncaptured.fold, uncaptured.KINDS, needs=("files",)),
    View("leases", 1, leases.TABLES, leases.fold, leases.KINDS, who=True),
    View("contents", 2, contents.TABLES, contents.fold, contents.KINDS, apply_all=contents.fold_all, texts=()),
    View("terms", 4, term_index.TABLES, term_index.fold, apply_all=term_index.fold_all, texts=(), who=True),
)

TABLES: Final = tuple(table for view in VIEWS for table in view.tables)


def of_kind(kind: type[Event] | None) -> tuple[View, ...]:
    """Return the views that fold records of this kind (None: unknown) one by one, in order."""
    return tuple(view for view in VIEWS if view.apply_all is None and (view.kinds is None or kind in view.kinds))


def told_by(kinds: Collection[type[Event]]) -> tuple[View, ...]:
    """Return the views whose rows may depend on texts in records of these kinds, in the order in
    which they are folded.
    """
    found: set[str] = set()
    for view in VIEWS:
        texts = view.kinds if view.texts is None else view.texts
        named = view.who and WriterIntroduced in kinds
        if named or any(texts is None or kind in texts for kind in kinds) or found.intersection(view.needs):
            found.add(view.name)
    return tuple(view for view in VIEWS if view.name in found)


def with_needed(views: Sequence[View]) -> tuple[View, ...]:
    found = {"paths", "writers", *(view.name for view in views)} if views else set()
    for view in reversed(VIEWS):  # a view is listed after those it needs
        if view.name in found:
            found.update(view.needs)
    return tuple(view for view in VIEWS if view.name in found)
