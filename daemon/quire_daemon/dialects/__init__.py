"""The table of edit protocols. A new one is a module beside this, a line here, and a test."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.dialects.base import Dialect
from quire_daemon.dialects.edit import EDIT
from quire_daemon.dialects.hashline_edit import HASHLINE_EDIT

DIALECTS: Final[dict[str, Dialect[Any]]] = {
    EDIT.name: EDIT,
    HASHLINE_EDIT.name: HASHLINE_EDIT,
}
"""Tool name → dialect."""
