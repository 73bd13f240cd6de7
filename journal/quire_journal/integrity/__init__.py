"""Integrity: check of a journal, and salvage of a damaged one."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.integrity.checker import *
    from quire_journal.integrity.lmdb_pages import *
    from quire_journal.integrity.salvager import *
else:
    __getattr__ = face(
        __name__,
        checker="Finding check",
        lmdb_pages="Pages",
        salvager="not_held salvage sentence",
    )
