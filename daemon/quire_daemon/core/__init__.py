"""Core values of a call: its arguments, its world and its decision. No disk, clock or thread."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.core.announcement import *
    from quire_daemon.core.arguments import *
    from quire_daemon.core.call import *
    from quire_daemon.core.decision import *
    from quire_daemon.core.decode import *
    from quire_daemon.core.json_schema import *
    from quire_daemon.core.reconcile import *
    from quire_daemon.core.traced_writer import *
else:
    __getattr__ = face(
        __name__,
        announcement=(
            "AnnouncedCall Cell Content Hunks MOST_PAYLOADS Patch Payload Removal Replace Replacement WritePart"
        ),
        arguments="OfVersion WriteArguments checked_sha256 require_in_bounds",
        call="Call IncomingRequest LongThought LookProgress Peer Wait",
        decision=(
            "Clear Decision FileNow ImpliedFiles MOST_INSIDE Make Move NeedsCommits P "
            "Present Put Remove Tool Who World Write names no_paths refused_reply"
        ),
        decode="decode_arguments",
        json_schema="Schema described flat one_shape without",
        reconcile="Kind OnDisk Renames SeenStat StatEntry compare difference settled_ns with_moves",
        traced_writer="Ancestor TracedWriter",
    )
