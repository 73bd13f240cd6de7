"""Live feed of `quire ui`: waits for new records, and reconnects after a restart of the daemon."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from quire_client.transport import NoDaemon
from quire_journal.workspaces import WorkspaceRefused

if TYPE_CHECKING:
    from quire_client.api import Client

WAIT_MS: Final = 25_000
AGAIN_S: Final = 0.5
LOST: Final = ("unknown", "no_daemon", "expired")


class News(NamedTuple):
    records: int = 0
    lost: str = ""


class LiveFeed:
    """Follows the journal in its own thread, and reports new records and lost connections by `tell`. `pause` waits
    some seconds before the next attempt.
    """

    def __init__(
        self, connect: Callable[[], Client], tell: Callable[[News], None], pause: Callable[[float], None]
    ) -> None:
        self.cursor = ""
        self.ended = False
        self._connect, self._tell, self._pause = connect, tell, pause

    def run(self) -> None:
        while not self.ended:
            try:
                with self._connect() as client:
                    self._tell(News(lost=self._listen(client)))
            except (NoDaemon, WorkspaceRefused) as reason:
                self._tell(News(lost=str(reason)))
            if not self.ended:
                self._pause(AGAIN_S)

    def _listen(self, client: Client) -> str:
        wait_ms = 0  # the first call returns at once: it shows that a daemon runs
        while not self.ended:
            arguments = {"cursor": self.cursor, "wait_ms": wait_ms} if self.cursor else {}
            reply = client.call("since", arguments, timeout_s=30.0 + wait_ms / 1000)
            if not reply.get("ok"):
                if reply.get("error") not in LOST:
                    self.cursor = ""  # the cursor belongs to another journal: start again
                return str(reply.get("message") or "The daemon ended.")
            self.cursor = str(reply.get("cursor") or self.cursor)
            self._tell(News(len(reply.get("records") or ())))
            wait_ms = WAIT_MS
        return ""
