"""Integrity: checks of a journal, and salvage of a damaged one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.integrity.checker import Finding as Finding, check as check, check_end as check_end
    from quire_journal.integrity.lmdb_pages import Pages as Pages
    from quire_journal.integrity.salvager import not_held as not_held, salvage as salvage, sentence as sentence
else:
    __getattr__ = face(
        __name__,
        checker="Finding check check_end",
        lmdb_pages="Pages",
        salvager="not_held salvage sentence",
    )
