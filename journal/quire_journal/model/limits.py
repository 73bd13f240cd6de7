"""Limits of this process that an error reports: threads and processes, open files, memory. The refusal is `busy`, as
the call is not at fault; its field `limit` names the limit.
"""

from __future__ import annotations

import errno
from typing import Final, Literal, TypeAlias

from quire_journal.model.refusals import Refusal

Limit: TypeAlias = Literal["", "threads", "descriptors", "memory"]

MOST_CAUSES: Final = 8

RETRY_MS: Final = 1000

_BY_NUMBER: Final[dict[int, Limit]] = {
    errno.EMFILE: "descriptors",
    errno.ENFILE: "descriptors",
    errno.ENOMEM: "memory",
}

NO_THREAD: Final = "can't start new thread"

_SAID: Final[dict[Limit, tuple[str, str]]] = {
    "threads": (
        "no thread or process can be started: their limit is reached",
        "End unneeded processes, or raise the limit (`ulimit -u`, `TasksMax=` of systemd, `pids.max` of a container)",
    ),
    "descriptors": (
        "no more files can be opened: their limit is reached",
        "Close unneeded clients, or raise the limit (`ulimit -n`, `LimitNOFILE=` of systemd)",
    ),
    "memory": (
        "there is no memory left",
        "End unneeded processes, or raise the limit (`ulimit -v`, `MemoryMax=` of systemd)",
    ),
}


class NoProcess(OSError):
    """A process could not be started. Only for this OSError does EAGAIN mean the limit of processes."""


def reached(error: BaseException | None) -> Limit:
    """Return the limit that `error` or one of its causes reports; "" if they report no limit."""
    for _ in range(MOST_CAUSES):  # bounded: an error can be its own cause
        if error is None:
            break
        if found := _told_by(error):
            return found
        error = error.__cause__
    return ""


def _told_by(error: BaseException) -> Limit:
    if type(error).__name__ == MemoryError.__name__:  # also LMDB's, which only one room may import
        return "memory"
    if isinstance(error, RuntimeError):
        return "threads" if str(error) == NO_THREAD else ""
    if isinstance(error, NoProcess) and error.errno == errno.EAGAIN:
        return "threads"
    if isinstance(error, OSError):
        return _BY_NUMBER.get(error.errno or 0, "")
    return ""


def refusal(limit: Limit, what: str, outcome: str = "Nothing was changed") -> Refusal:
    """Return the refusal `busy` because of this limit, with the remedy. `what` is a clause about the failed act."""
    said, action = _SAID[limit]
    message = f"{what}: {said}. {outcome}. {action}, then try again."
    return Refusal("busy", message, "retry", limit=limit, retry_after_ms=RETRY_MS)


def wrong(limit: Limit) -> str:
    """Return a clause that says that the limit is reached."""
    return _SAID[limit][0]


def sentence(limit: Limit) -> str:
    """Return the message of a program that could not start because of the limit, with the remedy."""
    said, action = _SAID[limit]
    return f"{said}. {action}, then start it again."
