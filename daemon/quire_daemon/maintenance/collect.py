"""The `gc` service: deletes old file contents that no retention rule keeps (`gc.collector`). Records are not
deleted.
"""

from __future__ import annotations

from typing import Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.core.replies import GcReply
from quire_daemon.maintenance.gc import CollectionOrder
from quire_daemon.maintenance.service import Service, ServiceHost
from quire_journal.model import Refusal

MOST_LISTED: Final = 1000


class GcParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    dry_run: bool = False
    compact: bool = False
    limit: int = 100  # blobs listed by a dry run
    skip: int = 0  # start of the listing: `next` of the previous page
    only: str = ""  # list only blobs that are "kept" or "dropped"


def run(call: Call, host: ServiceHost) -> None:
    """Start a garbage collection. Its reply comes at its end: `policy`, `kept`, `droppable` and `reasons`; with
    `dry_run` a page of `blobs` with reasons and `next`, the start of the next page; else `dropped`, and after a
    compaction `compacted` (bytes before and after).
    """
    params = call.params
    if not 0 <= params.limit <= MOST_LISTED:
        raise Refusal("schema_invalid", f"limit: must be from 0 to {MOST_LISTED}.", argument="limit")
    if params.skip < 0 or params.only not in ("", "kept", "dropped"):
        argument = "skip" if params.skip < 0 else "only"
        raise Refusal("schema_invalid", f'{argument}: not below 0, and "kept" or "dropped".', argument=argument)
    limit = params.limit if params.dry_run else 0
    asked = CollectionOrder(params.dry_run, params.compact, "asked", limit, params.skip, params.only)
    host.collector.begin(asked, lambda body: host.answer(call, body))


GC: Final = Service("gc", GcParams, run, reply=GcReply)
