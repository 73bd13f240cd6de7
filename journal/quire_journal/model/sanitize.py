"""Text that agents supply, as it may be stored and shown: no control, direction or other unseen characters, capped.

Names, reasons, labels and command lines come from whoever calls, are kept for years, and are shown to people and to
other agents. What is left here is what `str.isprintable` admits (that leaves out the categories Cc, Cf, Cs, Co, Cn, Zl,
Zp, and every white space but the blank).
"""

from __future__ import annotations

from typing import Final

from quire_journal.model.ids import blob_id

MOST_NAME: Final = 200
"""Characters of a name."""

_MARK: Final = 9
"""Characters of what is added to a name that was changed."""


def plain(text: str, most: int) -> str:
    """`text` in one line of at most `most` characters; white space is folded, a cut is marked by `…`."""
    looked_at = most * 4 + 64
    line = "".join(c for c in " ".join(text[:looked_at].split()) if c.isprintable())
    return line if len(line) <= most and not text[looked_at:].strip() else f"{line[: most - 1]}…"


def plain_name(text: str, shown: str | None = None) -> str:
    """The name of an agent, a session, a turn: printable, at most `MOST_NAME` characters.

    Where that changes it, a hash of the whole is added: two agents never become one because their names look alike.
    `shown`: what may be shown of the text, where that is not all of it.
    """
    shown = text if shown is None else shown
    if shown == text and len(text) <= MOST_NAME and text.isprintable():
        return text
    kept = "".join(c for c in shown[:MOST_NAME] if c.isprintable())
    return f"{kept[: MOST_NAME - _MARK]}~{blob_id(text.encode('utf-8', 'surrogatepass')).hex()[:8]}"
