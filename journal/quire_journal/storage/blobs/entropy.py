"""The entropy tables that stand in front of every base of a delta (`codec.TABLED`).

A dictionary of zstd begins with tables: of literals, of offsets, lengths of matches and lengths of literals, and with
three offsets to be repeated (RFC 8878, section 5). A frame that is packed with it may use them. Otherwise each frame
tells its own, which takes as long as a short delta itself, or does without.

These were made by `tests/bench/entropy.py` of 2,000 deltas of five histories (flask, click, jinja, httpx, requests).
Made of any three of them, or of another history, they save the others as much, to three thousandths. They are part of
the format of the journal: frames cannot be read without them, and so they never change; better ones are another kind.
"""

from __future__ import annotations

from typing import Final

TABLES: Final = bytes.fromhex(
    "37a430ec717569724211b01255d500cc3cf3cc33cf3cf34c3c64f5863e9e48732242659ce6449f0875aa958df843d4785d9c"
    "8267d9dfd2b7f414b963eef6eef5eefd077905744be29bf50a72000081389244511686715101000288344b821c46411032c6"
    "1842082100000000000000004044664066260100428450214308000000000000000000000000010000000400000008000000"
)
"""What a dictionary begins with. Its offsets to be repeated are 1, 4 and 8, so that 8 bytes at least must follow."""
