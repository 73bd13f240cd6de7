"""Tools that write files: the caller's base, rebase, checks and result."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.edit.apply_patch import *
    from quire_daemon.tools.edit.basis import *
    from quire_daemon.tools.edit.delete_move import *
    from quire_daemon.tools.edit.diff_preview import *
    from quire_daemon.tools.edit.edit_file import EDIT_FILE_TOOL as EDIT_FILE_TOOL
    from quire_daemon.tools.edit.engine import EDIT_TOOL as EDIT_TOOL, edit_tool as edit_tool
    from quire_daemon.tools.edit.hashline_edit import HASHLINE_TOOL as HASHLINE_TOOL
    from quire_daemon.tools.edit.regex_replace import REGEX_TOOL as REGEX_TOOL
    from quire_daemon.tools.edit.result import *
    from quire_daemon.tools.edit.stale_replies import *
    from quire_daemon.tools.edit.view import VIEW_TOOL as VIEW_TOOL
    from quire_daemon.tools.edit.write_file import WRITE_TOOL as WRITE_TOOL
else:
    __getattr__ = face(
        __name__,
        apply_patch="PATCH_TOOL",
        basis="Basis basis_at",
        delete_move="DELETE_TOOL MOVE_TOOL",
        diff_preview="localised_diff",
        edit_file="EDIT_FILE_TOOL",
        engine="EDIT_TOOL edit_tool",
        hashline_edit="HASHLINE_TOOL",
        regex_replace="REGEX_TOOL",
        result="OFF withheld",
        stale_replies="Stale refuse_stale",
        view="VIEW_TOOL",
        write_file="WRITE_TOOL",
    )
