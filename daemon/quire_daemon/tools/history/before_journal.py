"""Sentences about the time before the journal: nothing was observed then, so no file of that time can be called
absent.
"""

from __future__ import annotations

from quire_journal.history import History, to_the_second


def before_it(seq: int, history: History) -> str:
    """Return a sentence that the point `seq` is before the first complete scan of the tree; "" for a later point."""
    first = history.record(1)
    if first is None or seq >= (history.first_scan() or 1):
        return ""
    return f"The journal begins at {to_the_second(first.at_ns)}; of what was there before it knows nothing."


def and_before_it(seq: int, history: History) -> str:
    """Return `before_it` with a leading space, to append to a message."""
    said = before_it(seq, history)
    return f" {said}" if said else ""
