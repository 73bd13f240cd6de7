"""Patch: patches in the envelope of agents and as unified diffs, parsed and located."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.dialects.patch.locate import NAME as NAME, plan_file as plan_file
    from quire_daemon.dialects.patch.model import FilePatch as FilePatch
    from quire_daemon.dialects.patch.text import parse_patch as parse_patch
else:
    __getattr__ = face(
        __name__,
        locate="NAME plan_file",
        model="FilePatch",
        text="parse_patch",
    )
