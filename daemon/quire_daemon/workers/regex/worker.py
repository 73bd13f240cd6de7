"""The search process: `python -m quire_daemon.workers.regex.worker FD PARENT`. The daemon may kill it at any moment.

Each message is a `Search` with its time limit, answered before the next is read; the first message of the process says
that it is ready (framed as in `workers.pipe`).
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from typing import Final

import msgspec

from quire_daemon.workers import die_with, framed, received
from quire_daemon.workers.regex.job import Answer, Search, run

MOST_MEMORY: Final = 1024**3
SPARE_S: Final = 1.0
"""Seconds over the time limit after which the search process kills itself."""

Question = tuple[Search, float]
"""(search, time limit in seconds)."""

READY: Final = b""


def serve(wire: socket.socket) -> None:
    decode = msgspec.msgpack.Decoder(Question).decode
    with wire.makefile("rb") as incoming:
        wire.sendall(framed(READY))
        while True:
            search, limit_s = decode(received(incoming))
            signal.setitimer(signal.ITIMER_REAL, limit_s + SPARE_S)  # the unhandled signal ends the process
            answer: Answer = run(search)
            signal.setitimer(signal.ITIMER_REAL, 0)
            wire.sendall(framed(msgspec.msgpack.encode(answer)))
            del search, answer  # free the texts before the next question


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the daemon, which ends this process
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    die_with(int(sys.argv[2]))
    with socket.socket(fileno=int(sys.argv[1])) as wire:
        try:
            serve(wire)
        except (EOFError, ConnectionError, msgspec.MsgspecError):
            os._exit(0)  # the daemon has ended, perhaps within a message


if __name__ == "__main__":
    main()
