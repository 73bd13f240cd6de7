"""Workers: long work on threads, in other processes, or in slices."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.workers import process as process
    from quire_daemon.workers.fiber import *
    from quire_daemon.workers.pipe import *
    from quire_daemon.workers.pool import *
    from quire_daemon.workers.process import *
    from quire_daemon.workers.throttle import *
else:
    __getattr__ = face(
        __name__,
        fiber="Fiber Pause",
        pipe="LENGTH die_with framed received",
        pool="Cancellation Failed Guarded Job Jobs StartJob",
        process="Command PipedProcess last_words program wired",
        throttle="Breather Throttle",
    )
