"""Does work in a child process, which a kill of this process does not end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable


def outliving(work: Callable[[], int]) -> int | None:
    """Call `work` in a child process in a session of its own; return what it returned, or None if it raised, or if the
    child was killed. An exception here, of a signal, kills the child.

    If this process is killed, the child finishes the work, and then this function returns in the child instead.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    reading, writing = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        result = _result(work)
        if os.getppid() != parent:
            return result
        if result is not None:
            os.write(writing, str(result).encode())
        os._exit(0)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as told:
            result_told = told.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    return int(result_told) if result_told else None


def _result(work: Callable[[], int]) -> int | None:
    try:
        os.setsid()
        result = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001  (None tells of it)
        return None
    return result
