"""The `export` service: sends a range of the log in an exchange format, page by page."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.core.replies import ExportReply
from quire_daemon.maintenance.export_session import Export
from quire_daemon.maintenance.service import Service, ServiceHost
from quire_journal.export import BY, FORMATS, Source, Stretch
from quire_journal.history import parse_point
from quire_journal.model import Refusal
from quire_journal.storage import StoreFailure
from quire_journal.storage.blobs import NotHeld


class ExportParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `export`: `format` begins an export; `export` (its id) and `page` continue it."""

    format: str = ""
    from_: str = msgspec.field(name="from", default="")  # a point: export what follows it; "": from the beginning
    to: str = ""  # a point: export up to it; "": until now
    by: str = "batch"  # unit of a commit, mail or trace
    with_prompts: bool = False  # for jsonl and events: include prompts and agents' command lines
    export: str = ""
    page: int = 1


def run(call: Call, host: ServiceHost) -> None:
    """Reply with a page: `export` (id), `page`, `content_base64`, `done`, and the number of `records` exported so far
    and in all.
    """
    params = call.params
    assert isinstance(params, ExportParams)
    now_s = host.clock.mono_s()
    export = (
        _begun(params, call, host) if not params.export else host.exporting.find(params.export, call.who.key, now_s)
    )
    if export is None:
        message = f"There is no export {params.export[:40]!r} under way (any more); begin again."
        raise Refusal("not_found", message, "begin_again", argument="export")
    export.asked_s = now_s
    if export.busy:
        raise Refusal("busy", "A page of this export is being made.", "retry", retry_after_ms=100)
    if params.page == export.page:
        host.answer(call, _reply(export))
        return
    if params.page != export.page + 1:
        message = f"page: the next page of this export is {export.page + 1}, not {params.page}."
        raise Refusal("schema_invalid", message, argument="page")
    _make_page(export, call, host)


def _make_page(export: Export, call: Call, host: ServiceHost) -> None:
    export.busy = True

    def work() -> Callable[[], None]:
        try:
            export.next_page(host.clock.mono_s)
        finally:
            export.busy = False
        return lambda: host.answer(call, _reply(export))

    def failed(error: Exception) -> None:
        host.exporting.end(export)
        if isinstance(error, StoreFailure):  # a read failed; stored data is intact
            host.answer(call, Refusal("fault", f"The export cannot go on: {error}", "begin_again").reply())
        elif isinstance(error, NotHeld):  # the bytes were held when the export began
            message = f"The export cannot go on, as bytes were dropped or purged meanwhile: {error}; begin again."
            host.answer(call, Refusal("busy", message, "begin_again").reply())
        else:
            host.answer(call, host.told("export", error))

    host.start_job(work, "export", failed)


def _begun(params: ExportParams, call: Call, host: ServiceHost) -> Export:
    _require_word("format", params.format, FORMATS)
    _require_word("by", params.by, BY)
    host.commit_noted()
    journal = host.recorder.journal
    with host.recorder.history() as history:
        after = parse_point(params.from_, history, "from") if params.from_ else 0
        upto = parse_point(params.to, history, "to") if params.to else journal.head
    if after > upto:
        message = f"from: record {after} is later than record {upto}, up to which the export goes."
        raise Refusal("schema_invalid", message, argument="from")
    stretch, root = Stretch(after, upto), os.fspath(host.root)
    source = Source(journal.store, stretch, journal.workspace_id, root, params.with_prompts)
    chunks = FORMATS[params.format].export(source, params.by)
    export = Export(call.who.key, source, chunks, host.clock.mono_s())
    host.exporting.begin(export)
    return export


def _reply(export: Export) -> dict[str, Any]:
    stretch = export.source.stretch
    told = export.source.at - stretch.after
    total = stretch.upto - stretch.after
    return {
        "ok": True,
        "message": f"{total} records exported." if export.done else f"{told} of {total} records told; more follows.",
        "export": export.id,
        "page": export.page,
        "content_base64": b64encode(export.last).decode("ascii"),
        "done": export.done,
        "records": told,
        "of": total,
    }


def _require_word(argument: str, word: str, table: dict[str, Any]) -> None:
    if word not in table:
        message = f"{argument}: there is no {word[:40]!r}; there are {', '.join(table)}."
        raise Refusal("schema_invalid", message, argument=argument)


EXPORT: Final = Service("export", ExportParams, run, reply=ExportReply)
