"""Client methods that check, repair, export, ship or shrink the whole journal."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quire_client.calls.base import Answer, Calls, stated


class Maintenance(Calls):
    """Client methods that concern the whole journal."""

    def verify(
        self,
        read_data: str = "all",
        *,
        against: str | None = None,
        keys: Sequence[str] | None = None,
        source: str | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """Check the journal: database pages, hash chain, blobs, views, and the stored signed heads.

        `read_data` says which stored bytes are read and decompressed: "all", "none", or the n-th of t equal parts,
        "n/t". `against` is the text of signed heads that were saved elsewhere; `keys` are the verifier keys that must
        have signed them (default: the journal's), `source` says in the reply where the heads were found.

        Reply: `findings` (empty), `read_data`, and `heads`: each signed head with `state` ("held" if the journal still
        contains it) and its contents.
        Refused: `journal_damaged` (with `findings`, each a sentence), `schema_invalid` (no signed head or no key in the
        text).
        Source: quire_daemon.maintenance.verify
        """
        wanted = stated(read_data=read_data, against=against, keys=None if keys is None else list(keys), source=source)
        return self.call("verify", wanted, timeout_s=timeout_s)

    def prove(
        self,
        at: str = "",
        *,
        writer: bool = False,
        since: str = "",
        with_prompts: bool = False,
        timeout_s: float | None = None,
    ) -> Answer:
        """Return the signed head of the journal, and a proof that anybody can check.

        `at` is the point whose record is proved; with `writer`, the record that introduced that record's writer.
        `since` is the text of an earlier signed head; the proof then shows that the newest head extends it. A record
        with a prompt or an agent's command line is proved by its hash alone, unless `with_prompts`.

        Reply: `checkpoint` (the signed head), `keys`, `proof`, `seq` and `masked` (only the record's hash is
        included).
        Refused: `not_found` (no such record, or no proof), `schema_invalid`.
        Source: quire_daemon.maintenance.prove
        """
        wanted = {"at": at, "writer": writer, "since": since, "with_prompts": with_prompts}
        return self.call("prove", wanted, timeout_s=timeout_s)

    def outbox(
        self,
        *,
        to: str = "",
        took: bytes = b"",
        number: int = 0,
        gap: int = 0,
        restart: bool = False,
        look: bool = False,
        trouble: str = "",
        timeout_s: float | None = None,
    ) -> Answer:
        """Return the journal's next segment (sealed records) for the store `to`, and how much that store has.

        `quire ship` calls this. `took` is the segment read back from the store under `number`. With `gap`, the store
        has lost the segments from that number to before `number` for good. With `restart`, the store has lost a shipped
        segment, and shipping begins again at the first one. `look` only reports the state. `to` and `trouble` (why the
        store is unreachable) are shown by `status`.

        Reply: `to`, `journal` (its name there), `holder` (the journal under whose name the last segment is stored),
        `number` and `hash` of the last segment, `records` (shipped), `behind` (to be shipped), `gaps`, and if a segment
        is due `segment` and `contents`, as bytes, and `changed` (it was shipped with other bytes before).
        Refused: `busy` (a segment is being sealed), `schema_invalid`.
        Source: quire_daemon.maintenance.outbox
        """
        wanted = {"to": to, "took": took, "number": number, "gap": gap, "restart": restart}
        return self.call("outbox", {**wanted, "look": look, "trouble": trouble}, timeout_s=timeout_s)

    def hub(
        self,
        *,
        hosts: Sequence[Mapping[str, Any]] | None = None,
        leases: Mapping[str, Mapping[str, Any]] | None = None,
        join: bool = False,
        leave: bool = False,
        timeout_s: float | None = None,
    ) -> Answer:
        """Return the news of this checkout for other hosts of its team, and the daemon's news of those hosts.

        `quire ship` calls it. `hosts` replaces the daemon's news: the latest news that each host has sent to the hub.
        `leases` maps the number of an exclusive lease of this checkout to its `standing` at the hub (`held`, `taken` by
        another host, `unconfirmed`), `for_s` (seconds for which it is surely held) and `token` (fencing token). `join`:
        this checkout has joined a team; `leave`: it has left its team.

        Reply: `journal`, `checkout`, `note` (branch, changed files, leases), `hosts`, `leases`, `linked` (`quire ship`
        runs and brings news).
        Refused: `schema_invalid`.
        Source: quire_daemon.maintenance.hub
        """
        return self.call(
            "hub", {"hosts": hosts, "leases": leases or {}, "join": join, "leave": leave}, timeout_s=timeout_s
        )

    def repair(self, execute: bool = False, timeout_s: float | None = None) -> Answer:
        """Plan the repair of a damaged journal; with `execute` the daemon ends and its next start repairs it.

        Reply: `findings`, a list of sentences, `plan`, a sentence, and `executed`.
        Refused: `busy`.
        Source: quire_daemon.maintenance.repair
        """
        return self.call("repair", {"execute": execute}, timeout_s=timeout_s)

    def purge(
        self,
        *,
        path: str = "",
        blob: str = "",
        matching: str = "",
        plan: bool = False,
        note: str = "",
        timeout_s: float | None = None,
    ) -> Answer:
        """Remove the bytes of a path, of a blob (sha256), or of text that a regex matches, for good.

        They are removed from everything that Quire controls. `plan` only reports what would be removed.

        Reply: `versions` and `blobs` that are removed, `records` that named them, `on_disk` with files of the checkout
        that still have the bytes, `remain`: possible copies outside Quire's control.
        Refused: `not_found` (no such file in the journal), `invalid_regex`, `regex_timeout`, `schema_invalid` (nothing
        selected), `busy`.
        Source: quire_daemon.maintenance.purge
        """
        wanted = {"path": path, "blob": blob, "matching": matching, "note": note}
        arguments = {name: value for name, value in wanted.items() if value}
        return self.call("purge", {**arguments, "plan": plan}, timeout_s=timeout_s)

    def export(
        self,
        format: str,
        write: Callable[[bytes], object],
        *,
        start: str | None = None,
        end: str | None = None,
        by: str | None = None,
        with_prompts: bool | None = None,
        told: Callable[[int, int], None] = lambda done, total: None,
    ) -> Answer:
        """Export the history, or its range from point `start` to point `end`, by passing pieces of bytes to `write`.

        Changes on disk at the time of the call are included. Prompts and agents' command lines are included only
        `with_prompts`. `told` gets the number of exported records and their total. After a refusal the pieces written
        so far are useless.

        Reply: that of the last piece: `export` (the export's id), `page` (the piece's number, from 1), `done`,
        `records` (exported), `of` (their total).
        Refused: `schema_invalid` (no such format), `not_found` (a point).
        Source: quire_daemon.maintenance.export, formats in quire_journal.export.formats
        """
        if end is None:
            self.call("since")  # answers when the watcher has reported everything
        asked = {"format": format, "from": start, "to": end, "by": by, "with_prompts": with_prompts}
        reply = self.call("export", stated(**asked))
        while reply.get("ok"):
            write(b64decode(reply["content_base64"]))
            told(reply["records"], reply["of"])
            if reply["done"]:
                break
            following = {"export": reply["export"], "page": reply["page"] + 1}
            reply = self.call("export", following)
            if reply.get("error") == "unknown":  # the reply was lost: the daemon still has it
                reply = self.call("export", following)
        return reply

    def gc(self, timeout_s: float | None = None, **arguments: Any) -> Answer:
        """Remove blobs that no retention rule keeps.

        `dry_run` removes nothing and lists `limit` (100) blobs, from number `skip` on; `only` ("kept" or "dropped")
        limits the list. `compact` also shrinks the journal's file.

        Reply: `policy`, `kept` and `droppable` of `{blobs, bytes}`, `reasons`; with `dry_run` also `blobs`, a page, and
        `next`, the `skip` of the next page; else `dropped`, and after compaction `compacted` (bytes before and after).
        Refused: `busy` (another collection runs), `schema_invalid`.
        Source: quire_daemon.maintenance.collect
        """
        return self.call("gc", arguments, timeout_s=timeout_s)

    def op_status(self, op: str) -> Answer:
        """Return the outcome of a call whose reply was lost; `op` is the operation id in its "unknown" reply.

        Reply: `outcome`, "applied", "not_applied" or "superseded" (applied, and changed since).
        Refused: `schema_invalid` (not an operation id).
        Source: quire_daemon.tools.admin.status
        """
        return self.call("op_status", {"op": op})

    def doctor(self) -> Answer:
        """Run the daemon's checks of itself and its environment.

        Reply: `healthy`, `checks` of `{name, ok, detail}`.
        Refused: nothing of its own.
        Source: quire_daemon.maintenance.doctor
        """
        return self.call("doctor")
