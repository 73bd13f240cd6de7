"""Family: what other checkouts of the repository change, compared beside the loop and told before an edit.

Each daemon keeps a note (`note.py`) in its own state folder and rings the others (`bell.py`). They read the note,
compare the files on disk with those of git's merge base (`compare.py`, `preview.py`) and keep the result for the loop
(`family.py`). No daemon waits for another: a note is a file of bounded size, a ring a datagram that may get lost.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.family.family import *
else:
    __getattr__ = face(__name__, family="Family")
