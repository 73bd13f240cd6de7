"""One writer's part of the changes to files, with or without what others did."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.history.by_writer.file_writers import *
    from quire_daemon.tools.history.by_writer.own_changes import *
    from quire_daemon.tools.history.by_writer.parts import *
else:
    __getattr__ = face(
        __name__,
        own_changes="IsStart is_mover starts_at steps_since steps_since_alike without_own writing_since",
        parts="FileDifference MadeDifference in_one_patch is_other made_difference own_part part_alone",
        file_writers="versioned_paths writers_between",
    )
