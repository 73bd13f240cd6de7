"""How what other programs did to a file was found out: the words that the log, and whoever asks it, has for that."""

from __future__ import annotations

from typing import Final

CAPTURED: Final = "captured"
"""The first comparison of tree and journal met it: it was there before anybody looked."""

WATCHED: Final = "watched"
"""The watcher told of it."""

SCANNED: Final = "scanned"
"""A later comparison met it, or something else that does not tell when it happened."""

READ: Final = "read"
"""A call met it."""

DISPLACED: Final = "displaced"
"""It was met where a write of ours was taken back, or put back."""
