"""Rows of the screen: pieces of styled text; and the cursor's position when rows change."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, NamedTuple

PLAIN: Final = ""
BOLD: Final = "bold"
DIM: Final = "dim"
ADDED: Final = "added"
REMOVED: Final = "removed"
HUNK: Final = "hunk"
WARN: Final = "warn"
NAME: Final = "name"
WRITER: Final = "writer"


class Span(NamedTuple):
    text: str
    style: str = PLAIN


class Row(NamedTuple):
    """A row of the screen. A row with a key can be selected."""

    spans: tuple[Span, ...]
    key: Hashable = None


class Place(NamedTuple):
    at: int = 0
    top: int = 0


def row(*spans: Span | str, key: Hashable = None) -> Row:
    return Row(tuple(Span(one) if isinstance(one, str) else one for one in spans), key)


def plain(rows: Iterable[Row]) -> list[str]:
    return ["".join(span.text for span in one.spans).rstrip() for one in rows]


def moved(rows: Sequence[Row], place: Place, steps: int, height: int) -> Place:
    """Return the position `steps` rows down (negative: up), at a selectable row if there is one."""
    if not rows:
        return Place()
    at = min(max(place.at + steps, 0), len(rows) - 1)
    direction = 1 if steps >= 0 else -1
    found = next((one for one in _from(at, direction, len(rows)) if rows[one].key is not None), None)
    if found is None:
        found = next((one for one in _from(at, -direction, len(rows)) if rows[one].key is not None), at)
    top = place.top
    if found == place.at:  # no further selectable row: scroll instead
        top += steps
    return shown(rows, Place(found, top), height, near=found != place.at)


def shown(rows: Sequence[Row], place: Place, height: int, near: bool = True) -> Place:
    """Return the position scrolled so that as many rows as fit are visible; with `near`, also the cursor's row."""
    last = max(len(rows) - height, 0)
    top = min(max(place.top, 0), last)
    if near:
        if all(one.key is None for one in rows[: place.at]) and place.at < height:
            top = 0  # show the rows above the first selectable one
        top = min(max(top, place.at - height + 1), place.at)
    return Place(place.at, max(top, 0))


def kept(old: Sequence[Row], place: Place, new: Sequence[Row], height: int) -> Place:
    """Return the position in the `new` rows at which the same row is selected, on the same line of the screen if
    possible.
    """
    if not old or not new:
        return moved(new, Place(), 0, height)
    where = {one.key: at for at, one in enumerate(new) if one.key is not None}
    candidates = [place.at, *range(place.at + 1, len(old)), *range(place.at - 1, -1, -1)]
    at = next((where[old[one].key] for one in candidates if one < len(old) and old[one].key in where), 0)
    if place.top == 0 and at < height:
        return shown(new, Place(at, 0), height)
    return shown(new, Place(at, at - (place.at - place.top)), height)


def _from(at: int, direction: int, count: int) -> range:
    return range(at, count if direction > 0 else -1, direction)
