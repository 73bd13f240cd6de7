"""Error messages for a client in a sandbox, and a check whether a sandbox forbids connections."""

from __future__ import annotations

import _socket  # `socket` itself brings enum and selectors
import errno
from typing import Final

REFUSED: Final = (errno.EPERM, errno.EACCES)
NOT_WRITABLE: Final = (*REFUSED, errno.EROFS)

_BY_FILES: Final = (
    "`[spool] enabled = true` in your own config.toml (not the workspace's) lets such callers call by files, in "
    ".quire/spool."
)

NO_CONNECTION: Final = f"This process may not connect to the daemon: it is in a sandbox, probably. {_BY_FILES}"


def no_start(root: object, why: str) -> str:
    """Return the error message for a daemon that does not run and cannot be started from this sandbox."""
    return (
        f"No daemon runs for {root}, and this process may not start one ({why}): it is in a sandbox, probably. Start "
        f"one outside of it with `quire up`. {_BY_FILES}"
    )


def no_spool(why: str) -> str:
    """Return the error message for a sandboxed client that can neither connect nor write request files."""
    return (
        f"This process may not connect to the daemon, and cannot write to .quire/spool ({why}): it is in a sandbox, "
        "probably. Let it write to the workspace."
    )


def blocked(path: str) -> bool:
    """Return True if a sandbox forbids this process to connect to the Unix socket `path`, which need not exist."""
    try:
        line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            line.setblocking(False)
            line.connect(path)
        finally:
            line.close()
    except OSError as error:
        return error.errno in REFUSED
    return False
