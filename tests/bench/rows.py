"""The table of rows. A new one is a function in a `rows_*.py` that yields lines, and a line here."""

from __future__ import annotations

from typing import Final

import rows_edit
import rows_house
import rows_hub
import rows_many
import rows_scripts
import rows_ship
import rows_tree
from table import Row

# None of them states a time: what a run took of the processor stands under its lines.
_EDIT = (
    "the daemon's processor: deciding, folding three records into the views and swapping are thousands of calls of "
    "Python, where the disk and the wire of the floor wait. From 20,000 lines on the whole text is written, hashed and "
    "compared, too."
)
_READ = (
    "the file is opened under a lease, so that a write through a mapping is not missed, some 300 calls of Python take "
    "the request to the reply that is kept, and the caller makes 2,000 strings of it, where the echo is one copy."
)
_CLIENTS = (
    "one thread of Python decides and performs, so that what an edit takes of the daemon's processor bounds the rate, "
    "whatever the number of clients. They share the commits, and one client alone leaves that thread little rest."
)
_VISIBLE = (
    "the write itself, then one turn: 130 kB are read, hashed and looked through for secrets, committed and told."
)
_CAPTURE = (
    "a file is a record, its bytes and their address, a version, a head and a name in the store, put by one "
    "interpreter, where git writes an object and a line of its index in C. Reading and packing go on in other "
    "processes. Of 1,000 files most is the start of Python."
)
_CHECKPOINT = "it is a turn of the loop and one synced commit; what that takes alone stands under the line."
_UNDO = (
    "each file is planned, decided, journaled, folded, staged, synced and swapped in Python; git writes the bytes, "
    "syncs nothing, and knows nothing of what others did. The system calls alone of what an undo promises take as long "
    "as git when Python makes them (tests/bench/undo.py). An ext4 without a journal passes over inodes that were "
    "removed in the last minutes, one by one: an undo and git both pay for that."
)
_COMMANDS = "the start of Python and the imports of pyzmq and msgspec are most of it."
_RESTART = (
    "Python and its libraries start, a process of its own checks the end of the log before it is served, and every "
    "path that was known is read from the journal."
)
_QUERIES = (
    "patches are made of texts that have to be unpacked, and what is asked for the first time touches pages of the "
    "journal, and code, that nothing has touched before."
)
_WAITS = (
    "the figure counts all threads of the daemon. Of the longest turn of an undo in 1,000 files most is the commit of "
    "a portion of its records; a rollback and a restore write in the same way. Of an export three quarters are the "
    "thread that makes its pages beside the loop, but both share one interpreter. A wait has several turns in it, and "
    "whatever else the machine does, which was busy: the waits without such a call stand beside them."
)
_COLLECTION = "drops and edits commit to the same disk, one after the other."
_RUNS = (
    "each file that the command changed is read, hashed, compared, journaled, synced and swapped into the tree by one "
    "interpreter, where a formatter in Rust takes some 50 µs a file on two processors."
)
_HUB = "what was stored is read back before it counts as shipped, and each subject is held against a second message."
_SHIPPING = (
    "each version leaves whole: it is unpacked, hashed, encrypted and told beside the loop in one interpreter, and the "
    "shipper syncs each segment to the same disk that edits wait for."
)
_BYTES = (
    "contents are first versions of files, binaries, and what changed. Git's aggressive pack, which looks for the best "
    "base of each among 250, takes more than the budget, or nearly as much, for contents alone; here each is made "
    "while an edit waits, and what finds it again (37 bytes a version) is among it."
)
_HOUSE = (
    "an edit passes about twice the wanted frames, functions and modules: admission, observation, decision, records, "
    "views and swap are each spread over many small modules. The product has grown by 29 % since it was counted "
    "first (63,269 lines), where 4,000 lines were to go. Start, watch and engine commit each on their own, not in one "
    "place."
)

ROWS: Final[dict[str, Row]] = {
    row.name: row
    for row in (
        Row(
            "edit",
            "a durable edit of a file, as it grows, beside the floor of everybody",
            rows_edit.edit,
            "lines",
            reason=_EDIT,
        ),
        Row("history", "the same edit, when the file has many versions", rows_edit.history, "versions"),
        Row(
            "read",
            "a read with hashes of an unchanged file, beside an echo of as many bytes",
            rows_edit.read,
            reason=_READ,
        ),
        Row("clients", "clients at once, each with its file", rows_many.clients, "clients", reason=_CLIENTS),
        Row("visible", "an outside write, until it is journaled and told", rows_many.visible, reason=_VISIBLE),
        Row(
            "capture",
            "the first capture of a tree and a restart, beside a shadow repository",
            rows_tree.capture,
            "files",
            _CAPTURE,
        ),
        Row(
            "checkpoint",
            "a checkpoint, beside the snapshot of a shadow repository",
            rows_tree.checkpoint,
            "files",
            reason=_CHECKPOINT,
        ),
        Row("undo", "undo of a burst, beside git checkout", rows_tree.undo, "files", reason=_UNDO),
        Row("restart", "the first answer after kill -9", rows_tree.restart, "events", reason=_RESTART),
        Row("rest", "memory and processor at rest and under load", rows_many.rest),
        Row(
            "queries",
            "the first page of every query of a long log, and a blame",
            rows_scripts.queries,
            "events",
            reason=_QUERIES,
        ),
        Row("blames", "who wrote each line of a file with many versions", rows_scripts.blames, "versions"),
        Row("waits", "what others wait while one caller asks for much", rows_scripts.waits, reason=_WAITS),
        Row(
            "bytes",
            "what real histories take up (those that QUIRE_BENCH_REPO names, or this), beside git",
            rows_scripts.storage,
            reason=_BYTES,
        ),
        Row("collection", "edits beside a gc", rows_scripts.collection, reason=_COLLECTION),
        Row("shipping", "edits while `quire ship` runs, and whether it keeps up", rows_ship.shipping, reason=_SHIPPING),
        Row("hub", "`quire ship` through JetStream beside a plain publisher", rows_hub.hub, reason=_HUB),
        Row("hooks", "how long a hook keeps an agent waiting", rows_scripts.hooks, reason=_COMMANDS),
        Row("server", "the first answers of `quire mcp`", rows_scripts.mcp),
        Row("commands", "whole processes of the command line", rows_tree.commands, reason=_COMMANDS),
        Row("runs", "`quire run`, plain and isolated, beside the command alone", rows_tree.runs, reason=_RUNS),
        Row(
            "house",
            "how much of the source an act passes, and how large its rooms are",
            rows_house.house,
            reason=_HOUSE,
        ),
    )
}
