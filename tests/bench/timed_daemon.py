"""A daemon whose turns are timed: `quire_daemon` with a file of (when a turn began, seconds, seconds of processor).

    python tests/bench/timed_daemon.py FILE [the daemon's own words]

Seconds of processor are those of all threads of the daemon during the turn. Only turns of more than `WORTH_S` are told.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from quire_daemon import __main__
from quire_daemon.app import App
from quire_daemon.core.call import IncomingRequest

WORTH_S = 0.001


def time_turns(told: int) -> None:
    """From now on each turn is timed, and told to this descriptor."""
    turn = App.turn

    def timed(app: App, incoming: Sequence[IncomingRequest]) -> None:
        begun, used = time.monotonic(), time.process_time()
        turn(app, incoming)
        took = time.monotonic() - begun
        if took > WORTH_S:
            os.write(told, b"%.6f %.6f %.6f\n" % (begun, took, time.process_time() - used))

    App.turn = timed  # type: ignore[method-assign]


if __name__ == "__main__":
    time_turns(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
    sys.exit(__main__.main(sys.argv[2:]))
