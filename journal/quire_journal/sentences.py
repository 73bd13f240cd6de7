"""Pieces of the sentences that replies and messages are made of."""

from __future__ import annotations


def counted(number: int, what: str, many: str = "") -> str:
    """`1 file`, `2 files`; `many` where the plural is not that with an s."""
    return f"{number} {what if number == 1 else many or f'{what}s'}"


def capitalised(said: str) -> str:
    """`said` as a sentence begins."""
    return said[:1].upper() + said[1:]
