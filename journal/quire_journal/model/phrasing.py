"""Phrases of replies and messages."""

from __future__ import annotations

from typing import Final


def counted(number: int, what: str, many: str = "") -> str:
    """Return `1 file`, `2 files`; `many` is an irregular plural."""
    return f"{number} {what if number == 1 else many or f'{what}s'}"


def capitalised(said: str) -> str:
    return said[:1].upper() + said[1:]


def size(count: float) -> str:
    """Return a number of bytes in a suitable unit: `12 bytes`, `3.4 MiB`."""
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count /= 1024
        unit += 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")
