"""A call about what happened waits until everything has been looked at that happened on the disk before it came."""

from __future__ import annotations

from typing import Final

from quire_daemon.clock import Clock
from quire_daemon.core import Call, Wait
from quire_daemon.watch import RETRY_S, Outside, Watcher

CATCH_UP_S: Final = 2.0
"""How long a query waits for the watcher's cookie before it answers with what is known, and says so."""


class WatcherBarrier:
    """Has calls wait for the watcher's cookie, and for the looks at what it told of before that."""

    def __init__(self, outside: Outside, watcher: Watcher, clock: Clock) -> None:
        self._outside, self._watcher, self._clock = outside, watcher, clock

    def wait(self, call: Call) -> Wait | None:
        """None once the watcher has caught up, or that takes too long (`call.behind`). That is so once for all.

        So a call that stays for news is answered with the first, whatever else is to be looked at by then.
        """
        now = self._clock.mono_s()
        if not call.cookie:
            self._outside.scanner.hurry()
            self._outside.look_at_unwatched()
            call.cookie = self._watcher.cookie()
            call.catch_up_s = now + CATCH_UP_S
        told = self._watcher.seen(call.cookie)
        patience_s = call.tool.settle_s if told else 0.0
        call.behind = not (told and self._outside.idle())
        if call.behind and now < call.catch_up_s + patience_s:
            return Wait(now + RETRY_S)
        call.caught_up = True
        return None
