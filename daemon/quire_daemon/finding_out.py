"""What a decision needs that takes long: what a search finds, or who wrote the lines of a file.

The call waits for it, no longer than its deadline, and is decided again with the answer. A search is by a regular
expression, which may never end, and so runs in a process (`searching`); lines are worked out on a thread
(`handlers.origins`), where nothing that takes minutes is ahead of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from quire_daemon.answering import Answering
from quire_daemon.call import Call
from quire_daemon.gather import RETRY_S
from quire_daemon.handlers.base import OriginsOf
from quire_daemon.handlers.origins import worked_out
from quire_daemon.in_force import InForce
from quire_daemon.jobs import StartJob
from quire_daemon.recorder import Recorder
from quire_daemon.search import Search
from quire_daemon.searching import Searching
from quire_journal.blame import Blame
from quire_journal.history import History
from quire_journal.refusals import Refused

MOST_ASKED: Final = 5  # times that one call asks, because the file changed meanwhile, before it is told `busy`


class FindingOut:
    """What calls wait for, on its way."""

    def __init__(
        self, recorder: Recorder, in_force: InForce, searching: Searching, answering: Answering, ask_thread: StartJob
    ) -> None:
        self._recorder, self._clock, self._in_force = recorder, recorder.clock, in_force
        self._searching, self._answering, self._ask_thread = searching, answering, ask_thread
        self._searches: dict[int, Call] = {}  # by their tickets

    def search(self, call: Call, search: Search) -> bool:
        """Ask for `search`; the call waits for its answer. False when it has been answered instead."""
        self.give_up(call)
        if not self._may_ask(call, "the pattern can be searched for in it"):
            return False
        call.ticket = self._searching.ask(search, max(self._in_force.now.limits.regex_ms, 1))
        call.searching = search
        self._searches[call.ticket] = call
        self._wait(call)
        return True

    def _may_ask(self, call: Call, what: str) -> bool:
        """May it ask once more? Where not, it is answered: its file changes faster than `what`."""
        call.asked += 1
        if call.asked > MOST_ASKED:
            path = call.tool.paths(call.params)[0]
            message = f"{path} changes faster than {what}; try again."
            self._answering.refuse(call, Refused("busy", message, "retry", path=path, retry_after_ms=250))
        return call.asked <= MOST_ASKED

    def look(self) -> None:
        """Let the searches go on; calls whose search has ended are decided in this turn."""
        for ticket, answer in self._searching.look(self._clock.mono_s()):
            call = self._searches.pop(ticket, None)
            if call is not None and call.searching is not None:
                call.found = {**call.found, call.searching: answer}
                call.ticket, call.searching, call.retry_s = 0, None, 0.0

    def work_out(self, call: Call, asked: OriginsOf) -> bool:
        """Have a thread find out who wrote these lines; the call waits for it. False when it has been answered."""
        if not self._may_ask(call, "it can be worked out who wrote its lines"):
            return False
        store = self._recorder.journal.store

        def work() -> Callable[[], None]:
            with store.reading() as reading:
                found = worked_out(asked, History(reading))
            return partial(self._worked_out, call, asked, found)

        call.working = asked
        self._wait(call)
        self._ask_thread(work, call.tool.name, partial(self._not_worked_out, call, asked))
        return True

    def _worked_out(self, call: Call, asked: OriginsOf, found: Blame | None) -> None:
        """Where the bytes have gone meanwhile (None), the decision finds that out, and does not ask again."""
        if call.working == asked:
            call.working, call.retry_s = None, 0.0
            call.origins = {**call.origins, asked: found}

    def _not_worked_out(self, call: Call, asked: OriginsOf, error: Exception) -> None:
        if call.working == asked:
            call.working, call.retry_s, call.failed = None, 0.0, error

    def _wait(self, call: Call) -> None:
        left_s = (call.deadline_ns - self._clock.now_ns()) / 1e9 if call.deadline_ns else float("inf")
        call.retry_s = self._clock.mono_s() + left_s + RETRY_S

    def give_up(self, call: Call) -> None:
        """The call waits no more."""
        self._searching.cancel(call.ticket)
        self._searches.pop(call.ticket, None)
        call.ticket, call.searching, call.working = 0, None, None

    def close(self) -> None:
        """Nothing more is found out."""
        self._searching.close()
