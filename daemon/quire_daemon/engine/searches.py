"""What a decision needs that takes long: what a search finds.

The call waits for it, no longer than its deadline, and is decided again with the answer. A search is by a regular
expression, which may never end, and so runs in a process (`SearchClient`).
"""

from __future__ import annotations

from typing import Final

from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.core import Call
from quire_daemon.engine.respond import Responder
from quire_daemon.watch import RETRY_S
from quire_daemon.workers.regex import Search, SearchClient
from quire_journal.model import Refusal

MOST_ASKED: Final = 5  # times that one call asks, because the file changed meanwhile, before it is told `busy`


class DeferredSearches:
    """What calls wait for, on its way."""

    def __init__(
        self, recorder: Recorder, in_force: LiveSettings, searching: SearchClient, responder: Responder
    ) -> None:
        self._clock, self._in_force = recorder.clock, in_force
        self._searching, self._responder = searching, responder
        self._searches: dict[int, Call] = {}  # by their tickets

    def search(self, call: Call, search: Search) -> bool:
        """Ask for `search`; the call waits for its answer. False when it has been answered instead."""
        self.give_up(call)
        if not self._may_ask(call):
            return False
        call.ticket = self._searching.ask(search, max(self._in_force.now.limits.regex_ms, 1))
        call.searching = search
        self._searches[call.ticket] = call
        self._wait(call)
        return True

    def _may_ask(self, call: Call) -> bool:
        """May it ask once more? Where not, it is answered: its file changes faster than it can be searched."""
        call.asked += 1
        if call.asked > MOST_ASKED:
            path = call.tool.paths(call.params)[0]
            message = f"{path} changes faster than the pattern can be searched for in it; try again."
            self._responder.refuse(call, Refusal("busy", message, "retry", path=path, retry_after_ms=250))
        return call.asked <= MOST_ASKED

    def look(self) -> None:
        """Let the searches go on; calls whose search has ended are decided in this turn."""
        for ticket, answer in self._searching.look(self._clock.mono_s()):
            call = self._searches.pop(ticket, None)
            if call is not None and call.searching is not None:
                call.found = {**call.found, call.searching: answer}
                call.ticket, call.searching, call.retry_s = 0, None, 0.0

    def _wait(self, call: Call) -> None:
        left_s = (call.deadline_ns - self._clock.now_ns()) / 1e9 if call.deadline_ns else float("inf")
        call.retry_s = self._clock.mono_s() + left_s + RETRY_S

    def give_up(self, call: Call) -> None:
        """The call waits no more."""
        self._searching.cancel(call.ticket)
        self._searches.pop(call.ticket, None)
        call.ticket, call.searching = 0, None

    def close(self) -> None:
        """Nothing more is found out."""
        self._searching.close()
