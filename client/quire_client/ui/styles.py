"""Styles of rows as a terminal shows them. Writers have the colours of Okabe and Ito, which colour-blind users can
distinguish.
"""

from __future__ import annotations

from typing import Final

from rich.style import Style

_WRITERS: Final = ("#3c9bd6", "#d08700", "#009e73", "#c06a98", "#d55e00", "#8f7fe0")

_STYLES: Final = {
    "": Style(),
    "bold": Style(bold=True),
    "dim": Style(dim=True),
    "added": Style(color="#009e73"),
    "removed": Style(color="#d55e00"),
    "hunk": Style(color="#3c9bd6", bold=True),
    "warn": Style(color="#d08700", bold=True),
    "name": Style(),
    **{f"writer{number}": Style(color=colour, bold=True) for number, colour in enumerate(_WRITERS)},
}

CHOSEN: Final = Style(reverse=True)


def style_of(name: str) -> Style:
    return _STYLES[name]
