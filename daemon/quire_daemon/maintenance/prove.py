"""The `prove` service: proofs that anybody can check without Quire: the signed head, a record in it, or that it extends
an earlier head.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.core.replies import ProveReply
from quire_daemon.heads import HeadFolder, NoProof, SignedHead, prove_growth, prove_head, prove_record
from quire_daemon.maintenance.service import Service, ServiceHost
from quire_journal.export import withheld
from quire_journal.history import History, parse_point
from quire_journal.model import Event, Record, Refusal, WriterIntroduced, counted, decode_record
from quire_journal.transparency import BadNote, TreeHead, checkpoints_in, read_head, read_notes
from quire_journal.views.indexes import term_index


class ProveParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    at: str = ""  # a point: the record to prove; "": only the head
    writer: bool = False  # the record that introduced the writer of that record, instead
    with_prompts: bool = False  # also a record with a prompt, or an agent's command line
    since: str = ""  # text of an earlier head that the newest one must extend


def run(call: Call, host: ServiceHost) -> None:
    """Reply with `proof`, `checkpoint` (the signed head) and `keys`, after signing a head if none covers the record."""
    params = call.params
    before = _earlier(params.since) if params.since else None
    if (params.at and before is not None) or (params.writer and not params.at):
        argument = "since" if before is not None else "writer"
        raise Refusal("schema_invalid", f"{argument}: name a record, or an earlier head.", argument=argument)
    host.commit_noted()
    seq = _record(params, host) if params.at else 0

    def failed(error: Exception) -> None:
        if isinstance(error, NoProof):
            host.answer(call, Refusal("not_found", str(error), "run_verify").reply())
        else:
            host.answer(call, host.told("prove", error))

    def covered(signed: SignedHead | None) -> None:
        host.start_job(lambda: _work(call, host, seq, before), "prove", failed)

    host.heads.cover(seq, covered, failed)


def _earlier(text: str) -> TreeHead:
    try:
        return max((read_head(note.text) for note in read_notes(checkpoints_in(text))), key=lambda head: head.size)
    except (BadNote, ValueError) as error:
        raise Refusal("schema_invalid", f"since: {error}.", argument="since") from None


def _record(params: ProveParams, host: ServiceHost) -> int:
    with host.recorder.history() as history:
        seq = int(parse_point(params.at, history, "at"))
        record = history.record(seq)
        if record is None:
            raise Refusal("not_found", f"There is no record at {params.at!r}.", "name_a_point", point=params.at)
        return _introduction(record, history, host) if params.writer else seq


def _introduction(record: Record, history: History, host: ServiceHost) -> int:
    wanted = [[term_index.of_kind(WriterIntroduced.kind)]]
    with host.recorder.journal.store.reading() as r:
        for _, seqs in term_index.find(r, wanted, 0, record.seq, reverse=True):
            for seq in seqs:
                found = history.record(seq)
                event: Event | None = found.event() if found is not None else None
                if isinstance(event, WriterIntroduced) and event.id == record.writer:
                    return seq
    raise Refusal("not_found", f"Record {record.seq} has no writer: it came from outside.", "name_a_version")


def _work(call: Call, host: ServiceHost, seq: int, before: TreeHead | None) -> Callable[[], None]:
    folder, store = HeadFolder.of(host.state_dir), host.recorder.journal.store
    if seq:
        proof = prove_record(store, folder, seq, _shows(call.params.with_prompts))
        message = f"Record {seq} is one of the {counted(proof.head.size, 'record')} of the signed head."
        if proof.masked:
            message += " The proof has its hash alone: it was purged, or has a prompt or an agent's command line."
    elif before is not None:
        proof = prove_growth(store, folder, before)
        message = f"The head of {counted(proof.head.size, 'record')} goes on from that of {before.size}."
    else:
        proof = prove_head(folder)
        message = f"The signed head of {counted(proof.head.size, 'record')}."
    body: dict[str, Any] = {
        "ok": True,
        "message": message,
        "origin": proof.head.origin,
        "records": proof.head.size,
        "root": proof.head.root.hex(),
        "checkpoint": proof.checkpoint,
        "keys": folder.keys().splitlines(),
        **({"proof": proof.text} if proof.text else {}),
        **({"seq": seq, "masked": proof.masked} if seq else {}),
    }
    return lambda: host.answer(call, body)


def _shows(with_prompts: bool) -> Callable[[bytes], bool]:
    """Return a function on stored records: True if a proof may contain the record, False if only its hash."""

    def shows(stored: bytes) -> bool:
        event = decode_record(stored).event()
        return with_prompts or withheld(event) == event

    return shows


PROVE: Final = Service("prove", ProveParams, run, reply=ProveReply)
