"""Codes for the reason why the journal does not hold the bytes of a version."""

from __future__ import annotations

from typing import Final

SECRET: Final = "secret"
"""The file's name marks the file as a secret."""

HOLDS_SECRET: Final = "holds_secret"
"""The bytes contain a key or a token."""

PURGED: Final = "purged"

TOO_LARGE: Final = "too_large"
"""The file exceeds the size limit of the settings."""

UNREADABLE: Final = "unreadable"

IGNORED: Final = "ignored"
"""An ignore rule excludes the file, so it is not watched."""

NOT_A_FILE: Final = "not_a_file"
"""The path is a FIFO, a socket or a device."""
