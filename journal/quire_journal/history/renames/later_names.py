"""Later names: the names that a file got by renames after a record."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from quire_journal.history import History, is_by_git
from quire_journal.history.renames.found_renames import FoundRenames
from quire_journal.model import FileMoved, OutsideMoved, cached_property
from quire_journal.views import standing
from quire_journal.views.indexes import of_kind

_MOVES: Final = (FileMoved, OutsideMoved)


class _Step(NamedTuple):
    """Rename of a file."""

    name: str
    left: int  # the record by which the file left the name
    to: str
    came: int  # the record since which it is at `to`


class LaterNames:
    """Renames in the log, read once when they are needed first. A rename that only contents show counts if no file has
    the old name now.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._found = history.once(FoundRenames)
        self._known: dict[tuple[str, int], Sequence[_Step]] = {}

    def of(self, path: str, seq: int) -> tuple[str, ...]:
        """Return the names since record `seq` of the file that was at `path` after that record."""
        return tuple(dict.fromkeys((*(step.name for step in self._steps(path, seq)), self.now(path, seq))))

    def own(self, path: str, seq: int) -> tuple[str, ...]:
        """Return the names since record `seq` of the file that was at `path` after it, except names that another file
        has now.
        """
        steps, now = self._steps(path, seq), self.now(path, seq)
        goes_on = standing(self._history.file(now)) is not None
        others = {one.name for one in steps if one.name != now and goes_on and self._has_another(one.name, one.left)}
        return tuple(name for name in self.of(path, seq) if name not in others)

    def now(self, path: str, seq: int) -> str:
        """Return the newest name of the file that was at `path` after record `seq`."""
        steps = self._steps(path, seq)
        return steps[-1].to if steps else path

    def _steps(self, path: str, seq: int) -> Sequence[_Step]:
        """Return the renames, in order, of the file that was at `path` after record `seq`."""
        if (path, seq) not in self._known:
            steps, at, since = list[_Step](), path, seq
            while (step := self._step(at, since)) is not None:
                steps.append(step)
                at, since = step.to, step.came
            self._known[path, seq] = steps
        return self._known[path, seq]

    def _step(self, path: str, seq: int) -> _Step | None:
        left = self._leaving(path, seq)
        if left is not None:
            return _Step(path, left, self._left_for[path, left], left)
        head = self._history.file(path)
        if head is None or not head.gone or head.seq <= seq:
            return None
        one = self._found.of(path, head)
        return None if one is None or one.came <= seq else _Step(path, one.left, one.new, max(one.left, one.came))

    def _leaving(self, path: str, seq: int) -> int | None:
        """Return the record that moved away the file that was at `path` after record `seq`; None if none did."""
        left, came = self._left.get(path, ()), self._came.get(path, ())
        at, first = bisect_right(left, seq), bisect_right(came, seq)
        if at == len(left):
            return None
        return None if first < len(came) and came[first] < left[at] else left[at]  # else another file left it

    def _has_another(self, path: str, left: int) -> bool:
        """True if `path` has a file now that is neither the one that left by record `left`, restored, nor one that git
        put back.
        """
        if standing(self._history.file(path)) is None:
            return False
        came = next((one for one in self._history.versions(path, after=left) if not one.gone), None)
        if came is None or came.base == left:
            return False
        return bool(came.moved_from) or not is_by_git(getattr(self._history.event(came.seq), "hint", ""))

    @cached_property
    def _left_for(self) -> dict[tuple[str, int], str]:
        """Return (old name, record) → new name of the renames."""
        found: dict[tuple[str, int], str] = {}
        wanted = [[of_kind(kind.kind) for kind in _MOVES]]
        for _, seqs in self._history.with_terms(wanted, 0, self._history.head()):
            for seq in seqs:
                event = self._history.event(seq)
                if isinstance(event, _MOVES) and self._history.version(event.to, seq) is not None:
                    found[event.path, seq] = event.to
        return found

    @cached_property
    def _left(self) -> dict[str, list[int]]:
        """Return name → the renames by which files left it, in order."""
        found: dict[str, list[int]] = {}
        for path, seq in self._left_for:
            found.setdefault(path, []).append(seq)
        return found

    @cached_property
    def _came(self) -> dict[str, list[int]]:
        """Return name → the renames by which files came to it, in order."""
        found: dict[str, list[int]] = {}
        for (_, seq), to in self._left_for.items():
            found.setdefault(to, []).append(seq)
        return found
