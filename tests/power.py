"""A power cut, as the database sees it: the page that leads to the last commit never came to the disk."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

_PAGE: Final = 4096
_NUMBER_AT: Final = 16 + 4 + 4 + 8 + 8 + 48 + 48 + 8
"""Of a meta page: where the number of its transaction stands."""


def lose_the_last_commit(folder: Path) -> None:
    """Take the newest commit of the journal in `folder` back. Nobody has it open."""
    with open(folder / "db" / "data.mdb", "r+b") as file:
        numbers: list[int] = []
        for page in (0, _PAGE):
            file.seek(page + _NUMBER_AT)
            numbers.append(struct.unpack("=Q", file.read(8))[0])
        newest = numbers.index(max(numbers))
        assert numbers[newest] == numbers[1 - newest] + 1
        file.seek(newest * _PAGE + _NUMBER_AT)
        file.write(struct.pack("=Q", max(0, numbers[newest] - 2)))
