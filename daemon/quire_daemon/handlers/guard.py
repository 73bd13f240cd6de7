"""The guard of one undo: what the log says of its batches, for `quire_journal.undo_guard`, which decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from quire_daemon.handlers.batches import Batches, in_paths
from quire_journal.lives import Life, Step
from quire_journal.undo_guard import Undoing, guard
from quire_journal.unwind import Unwound


class Guard:
    """Guards the plans for the files of one undo."""

    def __init__(self, known: Batches, chosen: Iterable[int]) -> None:
        self._known = known
        self.chosen = frozenset(chosen)
        self._nothing: dict[int, bool] = {}

    def check(self, life: Life, found: Unwound) -> Unwound:
        """What a file comes to, as far as the chosen batches account for it."""
        undoing = Undoing(self.chosen, self._comes_to_nothing, self._affected, _undoers_in(self._known, life.steps))
        return guard(self._known.history, life, found, undoing)

    @cached_property
    def _affected(self) -> set[int]:
        """What the chosen ones undid, and what that undid, and so on."""
        found: set[int] = set()
        todo = [*self.chosen]
        while todo:
            more = {*self._known.undid(todo.pop())} - found
            found |= more
            todo += more
        return found

    def _comes_to_nothing(self, batch: int) -> bool:
        """Has it undone nothing but chosen batches, or undos that come to nothing themselves?"""
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


def _undoers_in(known: Batches, steps: Sequence[Step]) -> Callable[[int], Sequence[int]]:
    """The batches that say of a batch that they undid it, and were about the file of these steps."""
    found: dict[int, Sequence[int]] = {}
    about: dict[int, bool] = {}

    def undoers(batch: int) -> Sequence[int]:
        if batch not in found:
            for by in known.undoers(batch):
                if by not in about:
                    about[by] = _is_about(known, by, steps)
            found[batch] = [by for by in known.undoers(batch) if about[by]]
        return found[batch]

    return undoers


def _is_about(known: Batches, undoer: int, steps: Sequence[Step]) -> bool:
    """Did a batch that undid others undo them in the file of these steps, too?"""
    mark = known.mark(undoer)
    if mark is None:
        return True
    if any(step.seq in mark.left for step in steps):
        return False
    if not mark.paths:
        return True
    fits = in_paths(mark.paths, known.history)
    undone = [step for step in steps if step.batch in mark.undone] or steps  # else it undid what had nothing to do here
    return any(fits(path) for step in undone for path in (step.before.path, step.after.path))
