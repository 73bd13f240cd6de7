"""Core: the values that a call consists of: arguments, the world it meets, its decision; no disk, no clock, no
thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.core.announcement import (
        MOST_PAYLOADS as MOST_PAYLOADS,
        AnnouncedCall as AnnouncedCall,
        Cell as Cell,
        Content as Content,
        Hunks as Hunks,
        Patch as Patch,
        Payload as Payload,
        Removal as Removal,
        Replace as Replace,
        Replacement as Replacement,
        WritePart as WritePart,
    )
    from quire_daemon.core.arguments import (
        OfVersion as OfVersion,
        WriteArguments as WriteArguments,
        checked_sha256 as checked_sha256,
        require_in_bounds as require_in_bounds,
    )
    from quire_daemon.core.call import (
        Call as Call,
        IncomingRequest as IncomingRequest,
        LongThought as LongThought,
        LookProgress as LookProgress,
        Peer as Peer,
        Wait as Wait,
    )
    from quire_daemon.core.decision import (
        MOST_INSIDE as MOST_INSIDE,
        Clear as Clear,
        Decision as Decision,
        FileNow as FileNow,
        ImpliedFiles as ImpliedFiles,
        Make as Make,
        Move as Move,
        NeedsCommits as NeedsCommits,
        P as P,
        Present as Present,
        Put as Put,
        Remove as Remove,
        Tool as Tool,
        Who as Who,
        World as World,
        Write as Write,
        names as names,
        no_paths as no_paths,
        refused_reply as refused_reply,
    )
    from quire_daemon.core.decode import decode_arguments as decode_arguments
    from quire_daemon.core.json_schema import (
        Schema as Schema,
        described as described,
        flat as flat,
        one_shape as one_shape,
        without as without,
    )
    from quire_daemon.core.reconcile import (
        Kind as Kind,
        OnDisk as OnDisk,
        Renames as Renames,
        SeenStat as SeenStat,
        StatEntry as StatEntry,
        compare as compare,
        difference as difference,
        with_moves as with_moves,
    )
    from quire_daemon.core.traced_writer import Ancestor as Ancestor, TracedWriter as TracedWriter
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
        reconcile="Kind OnDisk Renames SeenStat StatEntry compare difference with_moves",
        traced_writer="Ancestor TracedWriter",
    )
