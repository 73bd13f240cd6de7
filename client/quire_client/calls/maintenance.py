"""The journal as a whole: check, repair, hand over, thin out."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Any

from quire_client.calls.base import Answer, Calls, stated


class Maintenance(Calls):
    """Calls about the journal, not about a file of it."""

    def verify(self, read_data: str = "all", timeout_s: float | None = None) -> Answer:
        """Check the journal: its pages, its chain, every blob, every view.

        `read_data` says which stored bytes are unpacked: "all", "none", or the n-th of t equal parts, "n/t".

        Reply: `findings` (none) and `read_data`.
        Refused: `journal_damaged` (with `findings`, each a sentence).
        Source: quire_daemon.maintenance.verify
        """
        return self.call("verify", {"read_data": read_data}, timeout_s=timeout_s)

    def repair(self, execute: bool = False, timeout_s: float | None = None) -> Answer:
        """What would be done about a damaged journal; `execute` does it: the daemon ends, and the next one does.

        Reply: `findings`, a list of sentences, `plan`, one, and `executed`.
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
        """Remove bytes from everywhere that Quire controls: those of a path, of a blob (sha256), or what matches.

        `plan` only says what would go. What is purged does not come back.

        Reply: `versions` and `blobs` that go, `records` that told of them, `on_disk` where the bytes still stand in the
        checkout, `remain`: where copies may be that Quire does not control.
        Refused: `not_found` (no such file in the journal), `invalid_regex`, `regex_timeout`, `schema_invalid` (nothing
        named), `busy`.
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
        """Hand the history, or what came after `start` up to `end`, to `write` in a format, piece by piece.

        What people asked agents for, and agents' command lines, are in it `with_prompts` only.

        Everything that is on disk by now is in it. `told` gets how many records of how many are told. After a refusal
        what was written so far is of no use.

        Reply: of the last piece: `export`, `page`, `done`, `records`, `of`.
        Refused: `schema_invalid` (no such format), `not_found` (a point).
        Source: quire_daemon.maintenance.export, formats in quire_journal.export.formats
        """
        if end is None:
            self.call("since")  # answered when the watcher has told of everything
        asked = {"format": format, "from": start, "to": end, "by": by, "with_prompts": with_prompts}
        reply = self.call("export", stated(**asked))
        while reply.get("ok"):
            write(b64decode(reply["content_base64"]))
            told(reply["records"], reply["of"])
            if reply["done"]:
                break
            following = {"export": reply["export"], "page": reply["page"] + 1}
            reply = self.call("export", following)
            if reply.get("error") == "unknown":  # its reply was lost: the daemon still has it
                reply = self.call("export", following)
        return reply

    def gc(self, timeout_s: float | None = None, **arguments: Any) -> Answer:
        """Drop bytes that no rule of the settings keeps: `dry_run`, `compact`, `limit`, `skip`, `only`.

        Reply: `policy`, `kept` and `droppable` of `{blobs, bytes}`, `reasons`; with `dry_run` also `blobs`, a page, and
        `next`; else `dropped`, and where it compacts `compacted` (bytes before and after).
        Refused: `busy` (one runs already), `schema_invalid`.
        Source: quire_daemon.maintenance.collect
        """
        return self.call("gc", arguments, timeout_s=timeout_s)

    def op_status(self, op: str) -> Answer:
        """What became of a call whose outcome was unknown; `op` is in its reply.

        Reply: `outcome`, "applied", "not_applied" or "superseded" (applied, and changed since).
        Refused: `schema_invalid` (no operation's id).
        Source: quire_daemon.tools.admin.status
        """
        return self.call("op_status", {"op": op})

    def doctor(self) -> Answer:
        """The daemon's own checks.

        Reply: `healthy`, `checks` of `{name, ok, detail}`.
        Refused: nothing of its own.
        Source: quire_daemon.maintenance.doctor
        """
        return self.call("doctor")
