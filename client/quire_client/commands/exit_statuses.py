"""Exit statuses of `quire`. Every start of the command line imports this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

DONE: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
NO_DAEMON: Final = 4
DENIED: Final = 5
LEASE_HELD: Final = 6
DAMAGED: Final = 7
FAULT: Final = 70
UNWRITTEN: Final = 74
INTERRUPTED: Final = 130

_STATUS_OF: Final = {
    "not_found": NOT_FOUND,
    "unknown": NO_DAEMON,
    "no_daemon": NO_DAEMON,
    "expired": NO_DAEMON,
    "unreachable": NO_DAEMON,
    "permission_denied": DENIED,
    "outside_workspace": DENIED,
    "lease_held": LEASE_HELD,
    "journal_damaged": DAMAGED,
    "not_written": UNWRITTEN,
    "fault": FAULT,
}


def status_of(reply: Mapping[str, Any]) -> int:
    return DONE if reply.get("ok") else _STATUS_OF.get(str(reply.get("error")), REFUSED)
