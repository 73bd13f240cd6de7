"""Starts `quire ui`: checks for Textual, connects, and starts the feed's thread."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from quire_client.ui.filters import Filter

if TYPE_CHECKING:
    from quire_client.api import Client

INSTALL: Final = f"The screen needs Textual: `{sys.executable} -m pip install 'textual>=8.2,<9'` (the extra `ui`)."
"""Message for a missing Textual."""


def installed() -> bool:
    """Return True if Textual is installed, without importing it (0.3 s)."""
    from importlib.util import find_spec

    return find_spec("textual") is not None


def open_screen(connect: Callable[[], Client], workspace: str, first: str, wanted: Filter) -> None:
    """Show the screen until the user quits. `connect` must not start a daemon. Requires Textual."""
    from quire_client.ui.app import QuireApp
    from quire_client.ui.feed import LiveFeed

    asker = Asker(connect)
    app = QuireApp(asker.ask, workspace, first, wanted)
    feed = LiveFeed(connect, app.hear, time.sleep)
    app.on_start = threading.Thread(target=feed.run, name="feed", daemon=True).start
    try:
        app.run()
    finally:
        feed.ended = True
        asker.close()


class Asker:
    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._client: Client | None = None
        self._turn = threading.Lock()

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        from quire_client.transport import NoDaemon
        from quire_journal.workspaces import WorkspaceRefused

        with self._turn:
            try:
                if self._client is None:
                    self._client = self._connect()
                return self._client.call(tool, arguments)
            except (NoDaemon, WorkspaceRefused) as reason:
                self.close()
                return {"ok": False, "error": "no_daemon", "message": str(reason)}

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
