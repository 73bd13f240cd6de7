"""Renames: the earlier and later names of a file, by records of moves, or by equal or similar contents."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.history.renames.found_renames import *
    from quire_journal.history.renames.later_names import *
    from quire_journal.history.renames.similar_files import SIMILAR as SIMILAR, alike as alike, similarity as similarity
else:
    __getattr__ = face(
        __name__,
        found_renames="FoundRename FoundRenames",
        later_names="LaterNames",
        similar_files="SIMILAR alike similarity",
    )
