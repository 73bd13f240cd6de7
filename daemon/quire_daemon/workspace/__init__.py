"""Workspace: resolves, reads, stages and swaps files of the checkout, and never touches a file outside."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.workspace import syscalls as syscalls
    from quire_daemon.workspace.capabilities import *
    from quire_daemon.workspace.confine import *
    from quire_daemon.workspace.mkdirs import *
    from quire_daemon.workspace.read import *
    from quire_daemon.workspace.stage import *
    from quire_daemon.workspace.stat_cache import *
    from quire_daemon.workspace.types import *
    from quire_daemon.workspace.workspace import *
else:
    __getattr__ = face(
        __name__,
        capabilities="can_openat2",
        confine="Beneath refusal",
        mkdirs="own_folder",
        read="FileReader",
        stage="StagedWrite TOGETHER UnsyncedWrites",
        stat_cache="SeenFiles",
        types=(
            "DisplacedBytes FileBusy FileVanished Image InDoubt LateBytes Look NoPath "
            "NotRegular Place Protection Signature SwapDone SwapLost TooLarge UnreadFile"
        ),
        workspace="COOKIES HOME TMP Workspace",
    )
