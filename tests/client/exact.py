"""Texts that a person reads are held exactly, in files: a change of one shows in the diff of a commit.

`QUIRE_REGENERATE=1` writes the files anew; read what changed before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ROOT / "tests" / "vectors" / "cli"


def assert_exact(text: str, file: str | Path) -> None:
    """`text` is what stands in `file` (of `tests/vectors/cli`, or a path)."""
    path = TEXTS / file
    if os.environ.get("QUIRE_REGENERATE") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8"), f"{path.relative_to(ROOT)} differs; QUIRE_REGENERATE=1 writes it anew"
