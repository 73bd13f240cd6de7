"""Text from agents, made safe to store and show: no control, direction or invisible characters (`str.isprintable`), and
capped.
"""

from __future__ import annotations

from typing import Final

from quire_journal.model.ids import blob_id

MOST_NAME: Final = 200

_MARK: Final = 9


def plain(text: str, most: int) -> str:
    """Return `text` as one line of at most `most` characters; `…` marks a cut."""
    looked_at = most * 4 + 64
    line = "".join(c for c in " ".join(text[:looked_at].split()) if c.isprintable())
    return line if len(line) <= most and not text[looked_at:].strip() else f"{line[: most - 1]}…"


def plain_name(text: str, shown: str | None = None) -> str:
    """Return the name of an agent, a session or a turn: printable, at most `MOST_NAME` characters. A changed name gets
    a hash of the whole `text`, so that two agents never share a name. `shown` is the part of `text` that may be shown
    (None: all).
    """
    shown = text if shown is None else shown
    if shown == text and len(text) <= MOST_NAME and text.isprintable():
        return text
    kept = "".join(c for c in shown[:MOST_NAME] if c.isprintable())
    return f"{kept[: MOST_NAME - _MARK]}~{blob_id(text.encode('utf-8', 'surrogatepass')).hex()[:8]}"
