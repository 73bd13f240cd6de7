"""The time before a journal: nobody looked at what there was then, so nobody can say that it was not there."""

from __future__ import annotations

from quire_journal.history import History, to_the_second


def before_it(seq: int, history: History) -> str:
    """What to say of a point that lies before the whole tree had been looked at; "" of all others."""
    first = history.record(1)
    if first is None or seq >= (history.first_scan() or 1):
        return ""
    return f"The journal begins at {to_the_second(first.at_ns)}; of what was there before it knows nothing."


def and_before_it(seq: int, history: History) -> str:
    """The same as one more sentence."""
    said = before_it(seq, history)
    return f" {said}" if said else ""
