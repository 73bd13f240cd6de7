"""Letters for random texts: few, but of every kind that something could trip over.

To draw from all of Unicode, Hypothesis makes tables of it, which takes two seconds of each process in a new clone;
`scripts/test --long` does so.
"""

from __future__ import annotations

from hypothesis import strategies as st

import live

_RANGES = (
    (0x00, 0x250),  # controls, ASCII, two bytes in UTF-8
    (0x300, 0x310),  # combining
    (0x5D0, 0x5D8),  # from right to left
    (0x600, 0x620),  # Arabic, with what formats it
    (0x7FE, 0x802),  # the last of two bytes, the first of three
    (0x180E, 0x180F),
    (0x2000, 0x2070),  # blanks of every width, line and paragraph separators, directions
    (0x3000, 0x3008),
    (0x4E00, 0x4E08),
    (0xD7FE, 0xD800),  # the last before the surrogates
    (0xE000, 0xE002),  # private
    (0xFDD0, 0xFDD2),  # no characters
    (0xFE00, 0xFE04),  # variants
    (0xFEFF, 0xFF00),
    (0xFFF0, 0x10002),  # replacement, no characters, the first of four bytes
    (0x1F600, 0x1F608),
    (0xE0001, 0xE0002),  # a tag
    (0x10FFFE, 0x110000),  # the last
)
LETTERS = "".join(chr(code) for first, stop in _RANGES for code in range(first, stop))


def letters() -> st.SearchStrategy[str]:
    """One letter that UTF-8 can have."""
    return st.characters(codec="utf-8") if live.LONG else st.sampled_from(LETTERS)


def texts(max_size: int | None = None) -> st.SearchStrategy[str]:
    """A text that UTF-8 can have."""
    return st.text(max_size=max_size) if live.LONG else st.text(LETTERS, max_size=max_size)
