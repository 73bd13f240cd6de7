"""Why the journal does not have the bytes of a version that it tells of: the words of events, and of replies."""

from __future__ import annotations

from typing import Final

SECRET: Final = "secret"
"""The name of the file says that it is one."""

HOLDS_SECRET: Final = "holds_secret"
"""There is a key or a token in them."""

PURGED: Final = "purged"
"""Somebody had them removed."""

TOO_LARGE: Final = "too_large"
"""They are more than the settings have kept."""

UNREADABLE: Final = "unreadable"
"""The file is closed to us."""

IGNORED: Final = "ignored"
"""An ignore rule hides the file since then: nobody watches it any more."""

NOT_A_FILE: Final = "not_a_file"
"""A FIFO, a socket or a device stands there."""
