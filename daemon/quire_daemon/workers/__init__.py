"""Workers: threads, other processes, and work in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.workers import process as process
    from quire_daemon.workers.fiber import Fiber as Fiber, Pause as Pause
    from quire_daemon.workers.pipe import LENGTH as LENGTH, die_with as die_with, framed as framed, received as received
    from quire_daemon.workers.pool import (
        Cancellation as Cancellation,
        Failed as Failed,
        Guarded as Guarded,
        Job as Job,
        Jobs as Jobs,
        StartJob as StartJob,
    )
    from quire_daemon.workers.process import (
        Command as Command,
        PipedProcess as PipedProcess,
        last_words as last_words,
        program as program,
        wired as wired,
    )
    from quire_daemon.workers.throttle import Breather as Breather, Throttle as Throttle
else:
    __getattr__ = face(
        __name__,
        fiber="Fiber Pause",
        pipe="LENGTH die_with framed received",
        pool="Cancellation Failed Guarded Job Jobs StartJob",
        process="Command PipedProcess last_words program wired",
        throttle="Breather Throttle",
    )
