"""Patch: parses patches (`*** Begin Patch` and unified diffs) and finds the lines that they change."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.dialects.patch.locate import *
    from quire_daemon.dialects.patch.model import *
    from quire_daemon.dialects.patch.text import *
else:
    __getattr__ = face(
        __name__,
        locate="NAME plan_file",
        model="FilePatch",
        text="parse_patch",
    )
