"""Journals as older formats had them, from `tests/vectors`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from quire_journal.storage.port import Store

VECTORS: Final = Path(__file__).parents[1] / "vectors"

PATH: Final = "src/naïve file.py"
"""The one file in them: record 1 introduces its writer, 2 to 5 are its versions."""


def old_journal(store: Store, format: int) -> Store:
    """Put the journal of an older format into an empty store."""
    with store.writing() as w:
        for table, rows in json.loads((VECTORS / f"journal_format_{format}.json").read_text()).items():
            for key, value in rows.items():
                w.put(table, bytes.fromhex(key), bytes.fromhex(value))
    return store
