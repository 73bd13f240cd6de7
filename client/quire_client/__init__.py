"""The client of the journal daemon: `connect` returns a `Client`, whose calls return replies as dicts.

    from quire_client import connect

    with connect("/path/to/project", agent="me", session="s1") as client:
        shown = client.read_file("src/app.py", hashes=True)

Names are imported when they are first used, so importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from quire_journal import VERSION as __version__

if TYPE_CHECKING:
    from quire_client.api import Client, connect
    from quire_client.transport import NoDaemon
    from quire_journal.workspaces import WorkspaceRefused

__all__ = ["Client", "NoDaemon", "WorkspaceRefused", "__version__", "connect"]

_HOMES: Final = {
    "Client": "quire_client.api",
    "connect": "quire_client.api",
    "NoDaemon": "quire_client.transport.errors",
    "WorkspaceRefused": "quire_journal.workspaces.layout",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
