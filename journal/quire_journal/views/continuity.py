"""How many versions each writer type made of a path; the files view counts as it adds them and takes them back."""

from __future__ import annotations

from typing import Final

import msgspec

from quire_journal.log import Reading, Writing, u32

_ENCODER: Final = msgspec.msgpack.Encoder(order="sorted")
_COUNTS: Final = msgspec.msgpack.Decoder(dict[str, int])


def counts(r: Reading, path: int) -> dict[str, int]:
    """Writer type → number of versions of the path with this number."""
    found = r.get("continuity", u32(path))
    return {} if found is None else _COUNTS.decode(found)


def count(w: Writing, path: int, type: str, by: int) -> None:
    """Add `by` to the versions of a writer type; a type without versions leaves no trace."""
    now = counts(w, path)
    now[type] = now.get(type, 0) + by
    if now[type] <= 0:
        del now[type]
    if now:
        w.put("continuity", u32(path), _ENCODER.encode(now))
    else:
        w.delete("continuity", u32(path))
