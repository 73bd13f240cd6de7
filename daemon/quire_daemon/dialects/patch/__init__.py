"""Patch: patches in the envelope of agents and as unified diffs, parsed and located."""

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
