"""Replaces control characters and invisible characters by visible signs."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from rich.cells import cell_len, set_cell_size

TAB: Final = 4
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


def visible(text: object, keep: str = "") -> str:
    """Return `text` with visible signs for control, direction, zero-width and surrogate characters, except `keep`."""
    said = str(text)
    if said.isascii() and said.isprintable():
        return said
    return "".join(c if c in keep else _sign(c) for c in said)


def visible_in(value: Any) -> Any:
    """Return a reply with `visible` applied to all its texts; line breaks and tabs are not replaced."""
    if isinstance(value, str):
        return visible(value, "\n\t")
    if isinstance(value, dict):
        return {name: visible_in(one) for name, one in value.items()}
    return [visible_in(one) for one in value] if isinstance(value, list) else value


def code(line: str) -> str:
    """Return a file's line with tabs expanded and other control characters made visible."""
    return visible(line.expandtabs(TAB))


def fitted(text: str, width: int) -> str:
    """Return `text` in exactly `width` columns, cut with "…" or padded with blanks."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + "…", width)


def _sign(character: str) -> str:
    number = ord(character)
    if number < 0x20:
        return chr(0x2400 + number)
    if number == 0x7F:
        return "␡"
    hidden = unicodedata.category(character) in _HIDDEN or character in _BLANK
    if hidden or 0xFE00 <= number <= 0xFE0F or 0xE0100 <= number <= 0xE01EF:
        return f"<U+{number:04X}>"
    return character
