"""Workspace: files of the checkout, resolved, read, staged and swapped, none outside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.workspace import syscalls as syscalls
    from quire_daemon.workspace.capabilities import can_openat2 as can_openat2
    from quire_daemon.workspace.confine import Beneath as Beneath, refusal as refusal
    from quire_daemon.workspace.mkdirs import own_folder as own_folder
    from quire_daemon.workspace.read import FileReader as FileReader
    from quire_daemon.workspace.stage import (
        TOGETHER as TOGETHER,
        StagedWrite as StagedWrite,
        UnsyncedWrites as UnsyncedWrites,
    )
    from quire_daemon.workspace.stat_cache import SeenFiles as SeenFiles
    from quire_daemon.workspace.types import (
        DisplacedBytes as DisplacedBytes,
        FileBusy as FileBusy,
        FileVanished as FileVanished,
        Image as Image,
        InDoubt as InDoubt,
        LateBytes as LateBytes,
        Look as Look,
        NoPath as NoPath,
        NotRegular as NotRegular,
        Place as Place,
        Protection as Protection,
        Signature as Signature,
        SwapDone as SwapDone,
        SwapLost as SwapLost,
        TooLarge as TooLarge,
        UnreadFile as UnreadFile,
    )
    from quire_daemon.workspace.workspace import COOKIES as COOKIES, HOME as HOME, TMP as TMP, Workspace as Workspace
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
