"""Git: which git command changed the checkout, who ran it, and which commits lines come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.watch.git.attribution import GitWriter as GitWriter
    from quire_daemon.watch.git.commit_blame import CommitBlame as CommitBlame, Question as Question, Told as Told
    from quire_daemon.watch.git.head import GitHead as GitHead, git_folder as git_folder
    from quire_daemon.watch.git.trace2 import Commands as Commands
else:
    __getattr__ = face(
        __name__,
        attribution="GitWriter",
        commit_blame="CommitBlame Question Told",
        head="GitHead git_folder",
        trace2="Commands",
    )
