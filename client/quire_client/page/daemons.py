"""The page's connections to the daemon: concurrent calls, each on its own connection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from quire_client.calls import Answer
from quire_client.transport import NoDaemon
from quire_journal.model import Refusal
from quire_journal.workspaces import WorkspaceRefused

MOST_FREE: Final = 8
LOST: Final = ("no_daemon", "unknown", "expired")
"""Error codes of replies that mean that the daemon has ended."""


class PageClient(Protocol):
    def call(self, tool: str, args: Mapping[str, Any] | None = None, *, timeout_s: float | None = None) -> Answer: ...
    def close(self) -> None: ...


Connect = Callable[[bool], PageClient]
"""Returns a client that connects at its first call; True allows it to start a daemon. May raise NoDaemon."""


class Daemon:
    """A pool of connections to the daemon. Thread-safe."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._free: list[PageClient] = []
        self._lock = threading.Lock()
        self._closed = False

    def call(self, tool: str, arguments: Mapping[str, Any], timeout_s: float, *, start: bool = False) -> Answer:
        """Call `tool` and return its reply; a failure is a refusal and never an exception. `start` may start a
        daemon.
        """
        client: PageClient | None = None
        try:
            client = self._connect(True) if start else self._take()
            return client.call(tool, arguments, timeout_s=timeout_s)
        except (NoDaemon, WorkspaceRefused) as reason:
            return {"ok": False, "error": "no_daemon", "message": str(reason), "suggested_action": "ask_user"}
        except (TypeError, ValueError, OverflowError, RecursionError) as error:  # not expressible as a message
            return Refusal("schema_invalid", f"{tool}: {error}", "fix_arguments").reply()
        finally:
            if client is not None:
                self._give_back(client)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for client in free:
            client.close()

    def _take(self) -> PageClient:
        with self._lock:
            found = self._free.pop() if self._free else None
        return found or self._connect(False)

    def _give_back(self, client: PageClient) -> None:
        with self._lock:
            if not self._closed and len(self._free) < MOST_FREE:
                self._free.append(client)
                return
        client.close()
