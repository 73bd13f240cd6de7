"""Structs of all replies."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.core.replies.admin import *
    from quire_daemon.core.replies.base import *
    from quire_daemon.core.replies.edits import *
    from quire_daemon.core.replies.history import *
    from quire_daemon.core.replies.leases import *
    from quire_daemon.core.replies.undo import *
else:
    __getattr__ = face(
        __name__,
        admin=(
            "DescribeReply DoctorReply ExportReply GcReply HubReply ManualReply OpStatusReply OutboxReply ProveReply "
            "PurgeReply RepairReply ShutdownReply StatusReply VerifyReply WhoReply"
        ),
        base="RefusalReply Reply",
        edits=(
            "EditFileReply HashlineReply InsertedReply MultiEditReply PatchReply ReadReply ReplacedLinesReply "
            "ReplacedReply WriteReply"
        ),
        history=(
            "AcceptReply BlameReply BlobsReply ContributionsReply DiffReply LanesReply LogReply RejectReply "
            "ReviewReply ShowReply SinceReply StoriesReply SyntaxReply TreeReply WhyReply"
        ),
        leases="ClaimReply ClaimsReply ReleaseReply",
        undo=(
            "BurstReply CheckpointReply GuardReply LandReply NativeReply RunReply SavedReply TextEditorReply "
            "UnwoundReply"
        ),
    )
