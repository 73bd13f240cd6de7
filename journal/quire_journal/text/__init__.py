"""Text: lines of a file and their hashes, differences, merges, and changes carried from one version to another;
pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.text.conflict_markers import (
        BETWEEN as BETWEEN,
        OURS as OURS,
        THEIRS as THEIRS,
        Dispute as Dispute,
        MarkedDispute as MarkedDispute,
        disputed as disputed,
        mark as mark,
        place_after as place_after,
    )
    from quire_journal.text.definitions import definitions_at as definitions_at
    from quire_journal.text.line_diff import (
        Block as Block,
        blocks as blocks,
        breaks_between as breaks_between,
        changed_ranges as changed_ranges,
        common_bytes as common_bytes,
        common_lines as common_lines,
        diff as diff,
        first_difference as first_difference,
        same_end as same_end,
        same_start as same_start,
    )
    from quire_journal.text.line_hash import (
        FULL_DIGITS as FULL_DIGITS,
        SHOWN_DIGITS as SHOWN_DIGITS,
        LineHashes as LineHashes,
        hash8 as hash8,
        hash8_each as hash8_each,
        is_poor as is_poor,
        line_id as line_id,
        pack as pack,
        quality as quality,
    )
    from quire_journal.text.merge3 import merge as merge
    from quire_journal.text.splice import (
        Along as Along,
        Splice as Splice,
        apply as apply,
        carry_ranges as carry_ranges,
        clash as clash,
        moved_ranges as moved_ranges,
        new_breaks as new_breaks,
        shift_lines as shift_lines,
        trim as trim,
    )
    from quire_journal.text.text import (
        BINARY_PROBE as BINARY_PROBE,
        BOM as BOM,
        Text as Text,
        content_lines as content_lines,
        shown as shown,
    )
    from quire_journal.text.transform import (
        BlockedSplice as BlockedSplice,
        CarriedSplices as CarriedSplices,
        carry as carry,
        changes as changes,
        three_way as three_way,
    )
else:
    __getattr__ = face(
        __name__,
        conflict_markers="BETWEEN Dispute MarkedDispute OURS THEIRS disputed mark place_after",
        definitions="definitions_at",
        line_diff=(
            "Block blocks breaks_between changed_ranges common_bytes common_lines diff "
            "first_difference same_end same_start"
        ),
        line_hash=("FULL_DIGITS LineHashes SHOWN_DIGITS hash8 hash8_each is_poor line_id pack quality"),
        merge3="merge",
        splice="Along Splice apply carry_ranges clash moved_ranges new_breaks shift_lines trim",
        text="BINARY_PROBE BOM Text content_lines shown",
        transform="BlockedSplice CarriedSplices carry changes three_way",
    )
