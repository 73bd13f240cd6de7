"""Workspaces: where the journal of a checkout lies, which journal belongs to it, and who holds its lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.workspaces.discover import (
        adopt as adopt,
        checked as checked,
        find_workspace as find_workspace,
        served_already as served_already,
    )
    from quire_journal.workspaces.identity import (
        Identity as Identity,
        drop_workspace_id as drop_workspace_id,
        identity_for as identity_for,
        known_journals as known_journals,
        read_identity as read_identity,
        settle as settle,
    )
    from quire_journal.workspaces.layout import (
        NoFolder as NoFolder,
        Place as Place,
        WorkspaceRefused as WorkspaceRefused,
        at_home as at_home,
        make_private_folder as make_private_folder,
        open_own as open_own,
        place_of as place_of,
        require_own_kinds as require_own_kinds,
        settings_files as settings_files,
        state_home as state_home,
        trace_socket as trace_socket,
    )
    from quire_journal.workspaces.lock import (
        Lock as Lock,
        LockHolder as LockHolder,
        hold_lock as hold_lock,
        is_held as is_held,
        look_into as look_into,
        running as running,
    )
    from quire_journal.workspaces.mount_id import mount_of as mount_of
else:
    __getattr__ = face(
        __name__,
        discover="adopt checked find_workspace served_already",
        identity="Identity drop_workspace_id identity_for known_journals read_identity settle",
        layout=(
            "NoFolder Place WorkspaceRefused at_home make_private_folder open_own place_of "
            "require_own_kinds settings_files state_home trace_socket"
        ),
        lock="Lock LockHolder hold_lock is_held look_into running",
        mount_id="mount_of",
    )
