"""Git: which git command changed the checkout, and who ran it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.watch.git.attribution import GitWriter as GitWriter
    from quire_daemon.watch.git.head import GitHead as GitHead, git_folder as git_folder
    from quire_daemon.watch.git.trace2 import Commands as Commands
else:
    __getattr__ = face(
        __name__,
        attribution="GitWriter",
        head="GitHead git_folder",
        trace2="Commands",
    )
