"""The process that forks daemons for tests (`nursery`): `python -P forking.py DESCRIPTOR-OF-A-SOCKET`.

A request is the words and the environment of the daemon, and three descriptors: its log, its stderr, and where to
write its exit status when it has ended. The answer is its process id.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

MOST: Final = 1 << 20
"""Bytes of one request."""


def serve(line: socket.socket) -> None:
    """Fork for each request, and tell how each fork ended, until nobody is at the other end."""
    running: dict[
        int, tuple[int, int]
    ] = {}  # by the descriptor that becomes readable at its end: process id, whom to tell
    while True:
        for ready in select.select([line, *running], [], [])[0]:
            if ready is not line:
                pid, tell = running.pop(ready)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(BrokenPipeError):
                    os.write(tell, b"%d" % status)
                os.close(tell)
                os.close(ready)
                continue
            request, descriptors, _, _ = socket.recv_fds(line, MOST, 3)
            if not request:
                return
            log, errors, tell = descriptors
            pid = os.fork()
            if not pid:
                words, environ = json.loads(request)
                become(words, environ, log, errors)
            os.close(log)
            os.close(errors)
            running[os.pidfd_open(pid)] = pid, tell
            line.send(b"%d" % pid)


def become(words: list[str], environ: dict[str, str], log: int, errors: int) -> NoReturn:
    """Be the daemon that `words` would start."""
    from quire_daemon.__main__ import main

    be(main, ["quired", *words[3:]], words, environ, (os.open(os.devnull, os.O_RDONLY), log, errors))


def be(
    main: Callable[[], int],
    argv: list[str],
    words: list[str],
    environ: Mapping[str, str],
    streams: tuple[int, int, int],
) -> NoReturn:
    """Be the program that `words` would start, in a process just forked; the descriptors become 0, 1 and 2."""
    status = 1
    try:
        os.setsid()
        for here, there in enumerate(streams):
            os.dup2(there, here)
        os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv[:] = argv
        sys.orig_argv[:] = words
        status = main()
        sys.stderr.flush()
    except BaseException:
        sys.excepthook(*sys.exc_info())  # as at the end of a program
        raise
    finally:
        os._exit(status)


def main() -> None:
    from quire_daemon import __main__, app, config, examining, faults, recovery, server, soundness  # noqa: F401
    from quire_journal import replay  # noqa: F401
    from quire_journal.stores import lmdb  # noqa: F401

    config.load(None, None)  # what is made at its first use has been made then
    gc.collect()
    gc.freeze()  # a daemon leaves what was imported alone
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
