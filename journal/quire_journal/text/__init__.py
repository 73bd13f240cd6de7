"""Text: lines and their hashes, diffs, merges, and the transfer of changes between versions. Pure functions."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.text.conflict_markers import *
    from quire_journal.text.definitions import *
    from quire_journal.text.line_diff import *
    from quire_journal.text.line_hash import *
    from quire_journal.text.merge3 import *
    from quire_journal.text.splice import *
    from quire_journal.text.text import *
    from quire_journal.text.transform import *
else:
    __getattr__ = face(
        __name__,
        conflict_markers="BETWEEN Dispute MarkedDispute OURS THEIRS disputed mark place_after",
        definitions="definitions_at",
        line_diff=(
            "Block blocks breaks_between changed_ranges common_bytes common_lines diff "
            "first_difference same_end same_start slid_down"
        ),
        line_hash=("FULL_DIGITS LineHashes SHOWN_DIGITS hash8 hash8_each is_poor line_id pack quality"),
        merge3="Contradiction merge",
        splice="Along Splice apply carry_ranges clash moved_ranges new_breaks shift_lines spliced trim",
        text="BINARY_PROBE BOM Text content_lines shown",
        transform="BlockedSplice CarriedSplices carry changes three_way",
    )
