"""Facts from the log for `quire_journal.history.undo_guard`, which checks the result of an undo."""

from __future__ import annotations

from collections.abc import Iterable

from quire_daemon.tools.undo.batches import Batches
from quire_journal.history import FileTimeline, GuardedUndo, Unwound, guard
from quire_journal.model import cached_property


class Guard:
    """Checks the planned result of each file of one undo."""

    def __init__(self, known: Batches, chosen: Iterable[int]) -> None:
        self._known = known
        self.chosen = frozenset(chosen)
        self._nothing: dict[int, bool] = {}

    def check(self, life: FileTimeline, found: Unwound) -> Unwound:
        """Return the planned result for a file, as far as the chosen batches account for it."""
        undoing = GuardedUndo(self.chosen, self._comes_to_nothing, self._affected, self._known.undoers_in(life.steps))
        return guard(self._known.history, life, found, undoing)

    @cached_property
    def _affected(self) -> set[int]:
        found: set[int] = set()
        todo = [*self.chosen]
        while todo:
            more = {*self._known.undid(todo.pop())} - found
            found |= more
            todo += more
        return found

    def _comes_to_nothing(self, batch: int) -> bool:
        """True if the batch undid only chosen batches, or batches of which the same is true."""
        known, todo = self._nothing, [batch]
        while todo:
            at = todo[-1]
            undid = [b for b in self._known.undid(at) if b not in self.chosen]
            unknown = [b for b in undid if b not in known]
            if unknown:
                todo += unknown
            else:
                known[todo.pop()] = bool(self._known.undid(at)) and all(known[b] for b in undid)
        return known[batch]
