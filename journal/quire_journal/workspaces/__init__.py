"""Workspaces: the place of a checkout's journal, its identity and lock, and the family of its repository."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.workspaces.discover import *
    from quire_journal.workspaces.family import *
    from quire_journal.workspaces.identity import *
    from quire_journal.workspaces.layout import *
    from quire_journal.workspaces.lock import *
    from quire_journal.workspaces.mount_id import *
    from quire_journal.workspaces.repository import *
else:
    __getattr__ = face(
        __name__,
        discover="adopt checked find_workspace served_already",
        family="MOST_NOTE_BYTES Member branch_of family_in family_of hub_file members note_bytes note_file",
        identity="Identity drop_workspace_id identity_for known_journals read_identity settle",
        layout=(
            "NoFolder Place WorkspaceRefused at_home make_private_folder open_own packing_lock_file place_of "
            "require_own_kinds reserve_file settings_files state_home trace_folder trace_socket"
        ),
        lock="Lock LockHolder hold_lock is_held look_into running take_lock",
        mount_id="mount_of",
        repository="common_folder file_tail git_folder regular_bytes",
    )
