"""Family: warns callers about files that other checkouts of the repository have changed.

Each daemon writes a note about its changes (`note.py`) and notifies the others (`bell.py`). They compare the changed
files with their own and git's merge base (`compare.py`, `preview.py`) and keep the result (`family.py`). No daemon
waits for another: a note has a bounded size, and a notification may be lost.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.family.family import *
    from quire_daemon.family.remote import *
else:
    __getattr__ = face(__name__, family="Family", remote="HubLease RemoteHost")
