"""Git: which git commands changed the checkout, who ran them, and the commits of lines."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.watch.git.attribution import *
    from quire_daemon.watch.git.commit_blame import *
    from quire_daemon.watch.git.head import *
    from quire_daemon.watch.git.merge_bases import *
    from quire_daemon.watch.git.trace2 import *
else:
    __getattr__ = face(
        __name__,
        attribution="GitWriter",
        commit_blame="CommitBlame Question Told",
        head="GitHead is_under_lock",
        merge_bases="MOST_TEXT_BYTES MergeBases conflicts",
        trace2="Commands",
    )
