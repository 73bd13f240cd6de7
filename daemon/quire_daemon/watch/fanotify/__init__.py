"""Fanotify: the processes that write in the checkout, if the kernel may report them."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.watch.fanotify.tracer import *
else:
    __getattr__ = face(__name__, tracer="Tracer")
