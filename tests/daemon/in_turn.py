"""Long work without threads, for tests: it is done when its results are taken, in order, or fails as a test says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from quire_daemon.workers.pool import Failed, Guarded, Job, brought, ended


class JobsInTurn:
    """As `quire_daemon.workers.pool.Jobs`; both pass one contract suite."""

    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded
        self._waiting: deque[tuple[Job, str, Failed | None]] = deque()
        self.fails: dict[str, Exception] = {}
        """Work of this name ends with this error, once, instead of being done."""

    @property
    def waiting(self) -> list[str]:
        """The names of what is not done."""
        return [what for _, what, _ in self._waiting]

    def start(self, work: Job, what: str, failed: Failed | None = None) -> None:
        self._waiting.append((work, what, failed))

    def take_results(self) -> None:
        for work, what, failed in [self._waiting.popleft() for _ in range(len(self._waiting))]:
            then = brought(partial(self._fail, what) if what in self.fails else work)
            if then is not None:
                self._guarded(what, partial(ended, then, failed))

    def _fail(self, what: str) -> Callable[[], None]:
        raise self.fails.pop(what)
