"""Packer: moves the frames of blobs without a base into packs (`packs`), during the copy of a compaction.

A first pass decides which packs stay, and which of other journals are linked: those of whose rows this journal has at
least half, byte for byte. The second pass writes rows that are in none of them into new packs, and replaces each by a
reference. The copy refers to a pack only when all are synced; without the copy, nothing refers to a new pack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from quire_journal.model import JournalDamaged
from quire_journal.storage import packs
from quire_journal.storage.blobs import BlobRow, overflow, row as blob_row
from quire_journal.storage.fsync import sync_path
from quire_journal.storage.packs import PackBuilder
from quire_journal.storage.port import ReadTransaction, Store, u64

PACK_BYTES: Final = 4 << 20
"""Size from which on a pack is written; it is in memory until then."""

LEAST_BYTES: Final = 1 << 18
"""Bytes of new rows below which no pack is made for them."""

_SHORT: Final = 64  # length below which a reference saves nothing
_MOST_SHARED: Final = 200_000  # rows of other journals' packs that are kept in mind
_SLICE: Final = 1000


class _Place(NamedTuple):
    """Place of a row in a pack."""

    pack: bytes  # id
    offset: int


_NOWHERE: Final = _Place(b"", 0)


class _Shared(NamedTuple):
    """Pack of another journal."""

    folder: Path
    name: bytes
    rows: int  # their number


class Packer:
    """Maker of a copy's packs: call `survey`, then `row` for each row of `blobs`, then `finish`. Raises `OSError` and
    `JournalDamaged`.
    """

    def __init__(self, source: Path, into: Path, shared: Sequence[Path] = (), erase: bool = False) -> None:
        """`source` and `into` are the folders of the databases, `shared` those of other journals. With `erase`, a pack
        stays only if every row of it is in use here.
        """
        self._source, self._into, self._shared, self._erase = source, into, shared, erase
        self._names: dict[bytes, bytes] = {}  # id → name of the packs that stay
        self._at: dict[bytes, _Place] = {}  # digest of a row → its place in a linked pack
        self._taken: set[bytes] = set()  # ids of all packs that were met
        self._makes = False  # new packs are worthwhile
        self._builder: PackBuilder | None = None
        self.moved: set[int] = set()  # blobs whose frames have left the table `pieces`

    # ── first pass ──

    def survey(self, store: Store, pause: Callable[[], None]) -> None:
        with store.reading() as r:
            own = dict(r.scan("packs"))
            links = r.empty("gone")  # bytes that went from this journal must not come back
        shared, at = self._read_shared(own) if links else ({}, {})
        used: Counter[bytes] = Counter()  # by the id of the pack
        fresh: Counter[bytes] = Counter()  # bytes of rows in the table, by the id of the pack that could have them
        start = 0
        while True:
            with store.reading() as r:
                rows = [pair for _, pair in zip(range(_SLICE), r.scan("blobs", u64(start)), strict=False)]
                for key, value in rows:
                    start = int.from_bytes(key, "big") + 1
                    stored = _keyframe(start - 1, value)
                    if stored is None:
                        continue
                    if stored.pack:
                        used[stored.pack] += 1
                    elif (row := _whole_row(r, start - 1, stored)) is not None:
                        place = at.get(_digest(row), _NOWHERE) if at else _NOWHERE
                        used[place.pack] += 1
                        fresh[place.pack] += len(row)
            pause()
            if len(rows) < _SLICE:
                break
        self._taken.update(own, shared)
        self._decide(own, shared, used)
        self._at = {digest: place for digest, place in at.items() if place.pack in self._names}
        self._makes = sum(size for id, size in fresh.items() if id not in self._names) >= LEAST_BYTES

    def _read_shared(self, own: Mapping[bytes, bytes]) -> tuple[dict[bytes, _Shared], dict[bytes, _Place]]:
        shared: dict[bytes, _Shared] = {}
        at: dict[bytes, _Place] = {}
        seen = {*own.values()}
        for folder in self._shared:
            for name in sorted(_names_elsewhere(folder) - seen):
                seen.add(name)
                pack = packs.whole(folder, name) if len(at) < _MOST_SHARED else None
                if pack is not None and pack.id not in shared and pack.id not in own:
                    shared[pack.id] = _Shared(folder, name, pack.row_count)
                    for offset, row in pack.rows():
                        at.setdefault(_digest(row), _Place(pack.id, offset))
        return shared, at

    def _decide(self, own: Mapping[bytes, bytes], shared: Mapping[bytes, _Shared], used: Counter[bytes]) -> None:
        for id, name in own.items():
            try:
                count = packs.count(self._source, name)
            except JournalDamaged:
                count = 0  # kept, so that a check finds it
            if used[id] and used[id] * (1 if self._erase else 2) >= count:
                self._names[id] = name
        for id, one in shared.items():
            if used[id] and 2 * used[id] >= one.rows and packs.link(one.folder, self._into, one.name):
                self._names[id] = one.name

    # ── second pass ──

    def row(self, r: ReadTransaction, number: int, value: bytes) -> bytes:
        """Return what the copy gets for the row `value` of blob `number`: a reference if the frame goes into a pack,
        else `value`.
        """
        stored = _keyframe(number, value)
        if stored is None or stored.pack in self._names:
            return value
        row = _whole_row(r, number, stored)
        if row is None or not (self._makes or stored.pack or _digest(row) in self._at):
            return value
        place = self._at.get(_digest(row)) or self._added(row)
        if stored.rest and not stored.pack:
            self.moved.add(number)
        size = len(blob_row.read(number, row).frame)
        at = place.offset + len(row) - size
        return blob_row.row(number, BlobRow(0, 0, stored.size, stored.kind, b"", size, pack=place.pack, at=at))

    def _added(self, row: bytes) -> _Place:
        if self._builder is None:
            self._builder = PackBuilder(self._taken)
            self._taken.add(self._builder.id)
        place = _Place(self._builder.id, self._builder.add(row))
        if self._builder.size >= PACK_BYTES:
            self._write()
        return place

    def _write(self) -> None:
        if self._builder is not None:
            self._names[self._builder.id] = self._builder.write(self._into)
            self._builder = None

    def finish(self, target: Store) -> None:
        """Write the last pack, and the table `packs` of the copy."""
        self._write()
        sync_path(self._into)
        with target.writing() as w:
            w.put_all("packs", sorted(self._names.items()))


def _names_elsewhere(folder: Path) -> set[bytes]:
    try:
        return packs.names(folder)
    except OSError:
        return set()


def _keyframe(number: int, value: bytes) -> BlobRow | None:
    """Decode the row of a blob that has no base and is long enough for a pack; None for other rows."""
    try:
        stored = blob_row.read(number, value)
    except ValueError:
        return None  # damaged: copied as it is
    return None if stored.base or not (stored.pack or len(value) + stored.rest >= _SHORT) else stored


def _whole_row(r: ReadTransaction, number: int, stored: BlobRow) -> bytes | None:
    """Return the row with its whole frame; None if a piece is missing, and the blob is copied as it is. Raises
    `JournalDamaged` if the pack, which would be removed, cannot be read.
    """
    if stored.pack:
        frame = r.packed(stored.pack, stored.at, stored.rest)
    else:
        try:
            frame = overflow.joined(r, number, stored.rest) if stored.rest else stored.frame
        except JournalDamaged:
            return None
    return blob_row.row(number, BlobRow(0, 0, stored.size, stored.kind, frame))


def _digest(row: bytes) -> bytes:
    return blake2b(row, digest_size=16).digest()
