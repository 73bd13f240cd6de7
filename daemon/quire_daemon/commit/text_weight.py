"""How much may be at hand of the texts that were read, shown or written last, taken apart into lines already."""

from __future__ import annotations

from typing import Final

from quire_journal.text import Text

MOST_BYTES: Final = 80 << 20  # of memory, as `weight` has it


def weight(text: Text) -> int:
    """About how many bytes of memory a text takes that is edited and shown: of a file of short lines ten times its own.

    Each line is an object, and so are its hash and what a read shows of it. Measured, by what the process takes more:
    100 lines of 16 bytes 21 kB, 2,000 lines of 45 bytes 530 kB, five lines of 20 bytes 1 to 5 kB.
    """
    return 3 * len(text.data) + 120 * len(text) + 4096
