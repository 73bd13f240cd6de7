"""Indexes: which records have a term, or made a version with given bytes, in rows of 256 records each."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.views.indexes import contents as contents, term_index as term_index
    from quire_journal.views.indexes.term_index import *
else:
    __getattr__ = face(__name__, term_index="BLOCK of_kind")
