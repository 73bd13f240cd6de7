"""Signer of the journal: extends the Merkle tree to the newest record and signs its head, on its own thread.

The tree continues from the last signed head if the record at that position still has the signed hash, which covers all
earlier records. Otherwise the journal was truncated, restored or rewritten: its tree is set aside, and a new one
begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from quire_daemon.heads.folder import HeadFolder
from quire_journal.model import JournalDamaged
from quire_journal.storage import Store, last_number
from quire_journal.transparency import (
    DOMAIN,
    BadNote,
    MissingTile,
    Note,
    NoteSignature,
    RightEdge,
    StoredTree,
    TreeHead,
    VerifierKey,
    keys_of,
    leaves,
    public_of,
    signed,
)

CHUNK: Final = 1000
Cosign = Callable[[str], Sequence[tuple[VerifierKey, NoteSignature]]]
"""Signs a head's text with other keys of the user; returns each key and signature."""


class SignedHead(NamedTuple):
    head: TreeHead
    public: bytes  # key of the journal
    new: bool  # signed now
    broken: str = ""  # how the journal differs from the previous head, or ""


class BrokenTree(Exception):
    """The journal does not continue its last signed head; the message is a sentence."""


def sign_head(
    store: Store,
    folder: HeadFolder,
    private: bytes,
    workspace: str,
    at_s: int,
    pace: Callable[[], None] = lambda: None,
    cosign: Cosign = lambda text: (),
) -> SignedHead | None:
    """Sign a head over all records; None if there are none. `at_s`: Unix time; `pace` is called after each record.

    Raises `OSError` if a file cannot be written, `StoreFailure` if the journal cannot be read, and `JournalDamaged` if
    a record is missing.
    """
    broken = ""
    try:
        last, edge = _grown(store, folder, pace)
    except BrokenTree as error:
        broken = str(error)
        folder.set_aside(broken, at_s)
        last, edge = _grown(store, folder, pace)
    public = public_of(private)
    if last is not None and last.size == edge.size:
        return SignedHead(last, public, False, broken)
    if not edge.size:
        return None
    origin = last.origin if last is not None else f"{DOMAIN}/{workspace}/{at_s}"
    head = TreeHead(origin, edge.size, edge.root())
    for tile, data in edge.partial():
        folder.put(tile, data)
    note, beside = signed(head, private, at_s), cosign(head.text)
    note = Note(note.text, (*note.signatures, *(signature for _, signature in beside)))
    folder.publish(note.encoded(), (*keys_of(origin, public), *(key for key, _ in beside)))
    return SignedHead(head, public, True, broken)


def difference(store: Store, folder: HeadFolder, pace: Callable[[], None] = lambda: None) -> str:
    """Return how the journal contradicts its last signed head; "" if it does not. Raises `StoreFailure`."""
    try:
        _start(store, folder, pace)
    except BrokenTree as error:
        return str(error)
    return ""


def rebuild(store: Store, folder: HeadFolder) -> None:
    """Rewrite the tree of the last signed head from the records. Raises `BrokenTree` if they contradict it."""
    last = _last(folder)
    if last is not None:
        for tile, data in _made_again(store, folder, last, lambda: None).partial():
            folder.put(tile, data)


def _grown(store: Store, folder: HeadFolder, pace: Callable[[], None]) -> tuple[TreeHead | None, RightEdge]:
    last, edge, end = _start(store, folder, pace)
    _append(store, folder, edge, end, pace)
    return last, edge


def _start(store: Store, folder: HeadFolder, pace: Callable[[], None]) -> tuple[TreeHead | None, RightEdge, int]:
    last = _last(folder)
    with store.reading() as r:
        end = last_number(r, "records")
    if last is None:
        return None, RightEdge(), end
    if end < last.size:
        raise BrokenTree(f"The journal ends with record {end}, and its head of {last.size} records was signed.")
    return last, _edge(store, folder, last, pace), end


def _edge(store: Store, folder: HeadFolder, last: TreeHead, pace: Callable[[], None]) -> RightEdge:
    try:
        edge = RightEdge.of(last.size, folder.read)
        there = StoredTree(last.size, folder.read).leaf(last.size - 1) if last.size else b""
    except MissingTile:
        return _made_again(store, folder, last, pace)
    if edge.root() != last.root:
        return _made_again(store, folder, last, pace)
    with store.reading() as r:
        for seq, leaf, known in leaves(r, last.size, 1):
            if seq != last.size or (known and leaf != there):
                raise BrokenTree(f"Record {last.size} is not the one with which the last signed head ends.")
    return edge


def _made_again(store: Store, folder: HeadFolder, last: TreeHead, pace: Callable[[], None]) -> RightEdge:
    edge = RightEdge()
    _append(store, folder, edge, last.size, pace)
    if edge.size != last.size or edge.root() != last.root:
        raise BrokenTree(f"The first {last.size} records are not those of the last signed head.")
    return edge


def _append(store: Store, folder: HeadFolder, edge: RightEdge, end: int, pace: Callable[[], None]) -> None:
    while edge.size < end:
        with store.reading() as r:
            rows = list(leaves(r, edge.size + 1, min(CHUNK, end - edge.size)))
        if not rows:
            return
        for seq, leaf, _ in rows:
            if seq != edge.size + 1:
                raise JournalDamaged(f"record {edge.size + 1} is missing from the log; run `quire verify`")
            for tile, data in edge.append(leaf):
                folder.put(tile, data)
            pace()


def _last(folder: HeadFolder) -> TreeHead | None:
    try:
        return folder.head()
    except BadNote as error:
        raise BrokenTree(f"The last signed head cannot be read: {error}.") from error
