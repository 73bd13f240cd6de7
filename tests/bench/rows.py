"""The table of rows. A new one is a function in a `rows_*.py` that yields lines, and a line here."""

from __future__ import annotations

from typing import Final

import rows_edit
import rows_many
import rows_scripts
import rows_tree
from table import Row

ROWS: Final[dict[str, Row]] = {
    row.name: row
    for row in (
        Row("edit", "a durable edit of a file, as it grows, beside the floor of everybody", rows_edit.edit, "lines"),
        Row("history", "the same edit, when the file has many versions", rows_edit.history, "versions"),
        Row("read", "a read with hashes of an unchanged file, beside an echo of as many bytes", rows_edit.read),
        Row("clients", "clients at once, each with its file", rows_many.clients, "clients"),
        Row("visible", "an outside write, until it is journaled and told", rows_many.visible),
        Row(
            "capture",
            "the first capture of a tree and a restart, beside a shadow repository",
            rows_tree.capture,
            "files",
        ),
        Row("checkpoint", "a checkpoint, beside the snapshot of a shadow repository", rows_tree.checkpoint, "files"),
        Row("undo", "undo of a burst, beside git checkout", rows_tree.undo, "files"),
        Row("restart", "the first answer after kill -9", rows_tree.restart),
        Row("rest", "memory and processor at rest and under load", rows_many.rest),
        Row("queries", "the first page of every query of a long log", rows_scripts.queries, "events"),
        Row("blames", "who wrote each line of a file with many versions", rows_scripts.blames, "versions"),
        Row("bytes", "what a real history takes up (QUIRE_BENCH_REPO), beside git", rows_scripts.storage),
        Row("collection", "edits beside a gc", rows_scripts.collection),
        Row("hooks", "how long a hook keeps an agent waiting", rows_scripts.hooks),
        Row("server", "the first answer of `quire mcp`, beside an empty server of its SDK", rows_scripts.mcp),
        Row("commands", "whole processes of the command line", rows_tree.commands),
    )
}
