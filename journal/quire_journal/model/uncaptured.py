"""Why the journal does not hold the bytes of a version: the words of events and replies."""

from __future__ import annotations

from typing import Final

SECRET: Final = "secret"
"""The file's name marks it as a secret."""

HOLDS_SECRET: Final = "holds_secret"
"""The bytes contain a key or a token."""

PURGED: Final = "purged"
"""The bytes were purged."""

TOO_LARGE: Final = "too_large"
"""The file exceeds the size limit of the settings."""

UNREADABLE: Final = "unreadable"
"""The daemon may not read the file."""

IGNORED: Final = "ignored"
"""An ignore rule hides the file, so nobody watches it."""

NOT_A_FILE: Final = "not_a_file"
"""The path is a FIFO, a socket or a device."""
