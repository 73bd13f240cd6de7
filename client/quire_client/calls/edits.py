"""Client methods that write files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from quire_client.calls.base import Answer, Calls, stated


class WriteArguments(TypedDict, total=False):
    """Optional arguments of every tool that writes files."""

    base: str
    on_stale: str  # "reject" or "rebase"
    dry_run: bool
    safety_check: str  # "strict", "warn" or "off"
    idempotency_key: str
    allow_uncaptured: bool


class Edits(Calls):
    def write_file(
        self, path: str, content: str, *, expected_sha256: str | None = None, **common: Unpack[WriteArguments]
    ) -> Answer:
        """Write a whole file. Replacing an existing one needs `base`, or `expected_sha256` of its bytes.

        Reply: the fields of an edit (see `quire_client.api`), with `created` for a new file.
        Refused: `write_conflict` (neither was given; `current_version`), `stale_file` (the bytes differ),
        `stale_base`.
        Source: quire_daemon.tools.edit.write_file
        """
        return self.call("write_file", stated(path=path, content=content, expectedSha256=expected_sha256, **common))

    def edit(self, path: str, operations: Sequence[Mapping[str, Any]], **common: Unpack[WriteArguments]) -> Answer:
        """Edit lines that are named by their anchors (from `read_file(hashes=True)`); all operations or none.

        An operation is `{op, hash, content?, …}`: `replace_line`, `replace_range`, `insert_after`, `insert_before`,
        `delete_line` and more; `manual("edit")` has them all.

        Reply: the fields of an edit (see `quire_client.api`).
        Refused: `anchor_stale`, `anchor_ambiguous`, `anchor_low_entropy`, `overlapping_operations`,
        `safety_check_failed`.
        Source: quire_daemon.tools.edit.engine, quire_daemon.dialects.edit
        """
        return self.call("edit", stated(path=path, operations=list(operations), **common))

    def hashline_edit(
        self,
        path: str,
        edits: Sequence[Mapping[str, Any]] = (),
        *,
        delete: bool | None = None,
        rename: str | None = None,
        **common: Unpack[WriteArguments],
    ) -> Answer:
        """Edit lines named `LINE#ID`, as `read_file(format="hashline")` shows them; or `delete` or `rename` the file.

        Reply: the fields of an edit (see `quire_client.api`).
        Refused: `hash_mismatch`, `invalid_ref`, `line_out_of_range`, `overlapping_edits`, `no_op`.
        Source: quire_daemon.tools.edit.hashline_edit, quire_daemon.dialects.hashline_edit
        """
        return self.call("hashline_edit", stated(path=path, edits=list(edits), delete=delete, rename=rename, **common))

    def edit_file(
        self, path: str, expected_sha256: str, edits: Sequence[Mapping[str, Any]], **common: Unpack[WriteArguments]
    ) -> Answer:
        """Replace exact texts in a file whose bytes have the given sha256; each edit is `{oldText, newText, …}`.

        Reply: the fields of an edit (see `quire_client.api`).
        Refused: `stale_file`, `old_text_not_found`, `multiple_matches`, `overlapping_edits`, `schema_invalid` (no edit
        given).
        Source: quire_daemon.tools.edit.edit_file, quire_daemon.dialects.edit_file
        """
        return self.call("edit_file", stated(path=path, expectedSha256=expected_sha256, edits=list(edits), **common))

    def apply_patch(
        self, patch: str, expected_sha256_by_path: Mapping[str, str] | None = None, **common: Unpack[WriteArguments]
    ) -> Answer:
        """Apply a patch (the `*** Begin Patch` envelope, or a unified diff) to several files; all or none.

        Reply: `files`, each with the fields of an edit (see `quire_client.api`).
        Refused: `patch_parse_error` (`line`), `patch_apply_error` (`reason`), `stale_base`, `stale_file`.
        Source: quire_daemon.tools.edit.apply_patch, quire_daemon.dialects.patch.locate
        """
        return self.call("apply_patch", stated(patch=patch, expectedSha256ByPath=expected_sha256_by_path, **common))

    def delete_file(self, path: str, **common: Unpack[WriteArguments]) -> Answer:
        """Delete a file; the journal keeps its bytes.

        Reply: the fields of an edit (see `quire_client.api`), with `deleted`.
        Refused: `not_found`, `stale_base`.
        Source: quire_daemon.tools.edit.delete_move
        """
        return self.call("delete_file", stated(path=path, **common))

    def move_file(self, path: str, to: str, **common: Unpack[WriteArguments]) -> Answer:
        """Move a file together with its history. An existing file at `to` is never overwritten.

        Reply: the fields of an edit (see `quire_client.api`), with `moved_from`.
        Refused: `not_found`, `already_exists` (a file is at `to`), `stale_base`.
        Source: quire_daemon.tools.edit.delete_move
        """
        return self.call("move_file", stated(path=path, to=to, **common))
