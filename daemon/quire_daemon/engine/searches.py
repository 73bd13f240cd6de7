"""Results that a decision waits for: searches by regular expression, and git's answers about commits.

A regular expression may never end, so the search runs in its own process (`SearchClient`). If git has not answered
after `COMMITS_S`, the reply says that its answer is pending.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Protocol

from quire_daemon.clock import Clock
from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.core import Call, Wait
from quire_daemon.watch import RETRY_S
from quire_daemon.watch.git import Question, Told
from quire_daemon.workers.regex import Search, SearchClient
from quire_journal.history import CommitBytes, CommitEntries, CommitFileLines
from quire_journal.model import Refusal

MOST_ASKED: Final = 5  # searches of one call, repeated because the file changes, before the call is refused `busy`

COMMITS_S: Final = 2.0
"""Seconds that a call waits for git."""

AGAIN_S: Final = 30.0
"""Seconds for which a failed answer of git is reused."""

MOST_COMMIT_FILES: Final = 64

COMMIT_BYTES: Final = 64 << 20
"""Maximum bytes of cached answers; the newest is cached at any size."""


Answer = CommitFileLines | CommitEntries | CommitBytes


class CommitAsker(Protocol):
    """Interface for questions to git about commits (`CommitBlame`)."""

    def ask(self, question: Question, told: Told) -> None: ...
    def close(self) -> None: ...


class DeferredSearches:
    def __init__(self, recorder: Recorder, in_force: LiveSettings, searching: SearchClient) -> None:
        self._clock, self._in_force, self._searching = recorder.clock, in_force, searching
        self._searches: dict[int, Call] = {}  # by their tickets

    def wait(self, call: Call, search: Search) -> Wait:
        """Begin `search`, and return a `Wait` until its result comes. Raises `Refusal` if the file changed during each
        of `MOST_ASKED` searches.
        """
        self.give_up(call)
        self._require_fewer(call)
        call.ticket = self._searching.ask(search, max(self._in_force.now.limits.regex_ms, 1))
        call.searching = search
        self._searches[call.ticket] = call
        left_s = (call.deadline_ns - self._clock.now_ns()) / 1e9 if call.deadline_ns else float("inf")
        return Wait(self._clock.mono_s() + left_s + RETRY_S)

    def _require_fewer(self, call: Call) -> None:
        call.asked += 1
        if call.asked > MOST_ASKED:
            path = call.tool.paths(call.params)[0]
            message = f"{path} changes faster than the pattern can be searched for in it; try again."
            raise Refusal("busy", message, "retry", path=path, retry_after_ms=250)

    def look(self) -> None:
        for ticket, answer in self._searching.look(self._clock.mono_s()):
            call = self._searches.pop(ticket, None)
            if call is not None and call.searching is not None:
                call.found = {**call.found, call.searching: answer}
                call.ticket, call.searching, call.retry_s = 0, None, 0.0

    def give_up(self, call: Call) -> None:
        self._searching.cancel(call.ticket)
        self._searches.pop(call.ticket, None)
        call.ticket, call.searching = 0, None

    def close(self) -> None:
        self._searching.close()


class DeferredCommits:
    def __init__(self, clock: Clock, asker: CommitAsker) -> None:
        self._clock, self._asker = clock, asker
        # answer and end of its validity (monotonic)
        self._told: OrderedDict[Question, tuple[Answer, float]] = OrderedDict()
        self._bytes = 0
        self._asked: set[Question] = set()
        self._waiting: list[Call] = []

    def answer(self, file: Question) -> Any:
        """Return git's answer to this question, if still valid; None if there is none."""
        found = self._told.get(file)
        if found is None or found[1] < self._clock.mono_s():
            return None
        self._told.move_to_end(file)
        return found[0]

    def awaited(self, call: Call) -> bool:
        """Return True if the call's waiting time for git (at most `COMMITS_S`) is over."""
        return bool(call.commits_s) and self._clock.mono_s() >= call.commits_s

    def wait(self, call: Call, files: Sequence[Question]) -> Wait:
        """Ask git, and return a `Wait` until git has answered or the call's time for git is over."""
        now = self._clock.mono_s()
        left_s = (call.deadline_ns - self._clock.now_ns()) / 1e9 if call.deadline_ns else float("inf")
        call.commits_s = call.commits_s or now + max(min(COMMITS_S, left_s / 2), RETRY_S)
        self._waiting.append(call)
        for file in files:
            if file not in self._asked and len(self._asked) < MOST_COMMIT_FILES:
                self._asked.add(file)
                self._asker.ask(file, partial(self._tell, file))
        return Wait(call.commits_s if self._waiting else now)

    def _tell(self, file: Question, lines: Answer) -> None:
        self._asked.discard(file)
        self._forget(file)
        self._told[file] = lines, self._clock.mono_s() + (AGAIN_S if lines.why else float("inf"))
        self._bytes += _size(lines)
        while self._bytes > COMMIT_BYTES and len(self._told) > 1:
            self._forget(next(iter(self._told)))
        for call in self._waiting:
            call.retry_s = 0.0
        self._waiting.clear()

    def _forget(self, file: Question) -> None:
        old = self._told.pop(file, None)
        self._bytes -= 0 if old is None else _size(old[0])

    def close(self) -> None:
        self._asker.close()


def _size(lines: Answer) -> int:
    if isinstance(lines, CommitEntries):
        return 300 * len(lines.entries) + 200
    if isinstance(lines, CommitBytes):
        return sum(map(len, lines.held.values())) + 200
    return len(lines.body) + 8 * len(lines.numbers) + 200 * len(lines.commits) + 200
