"""Provisional sequence numbers for decisions whose records do not exist yet; real numbers replace them later."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from quire_daemon.core import Write
from quire_journal.model import Event, parse_version_token, version_token

T = TypeVar("T")

_BEYOND: Final = 1 << 62
_MOST: Final = 1 << 24

_TOKEN: Final = re.compile(r"v\d{19}")

_TOKEN_CHARS: Final = 20


class ProvisionalSeqs(msgspec.Struct, frozen=True):
    """Provisional numbers of one decision's records, counted from a random, large `first` that no text contains by
    chance.
    """

    first: int

    @classmethod
    def drawn(cls) -> ProvisionalSeqs:
        return cls(_BEYOND + secrets.randbelow(1 << 36) * _MOST)

    def has(self, seq: int) -> bool:
        return 0 <= seq - self.first < _MOST

    def seq(self, seq: int, seqs: Sequence[int]) -> int:
        """Return the real number for a provisional `seq`; any other `seq` unchanged. `seqs`: the real numbers in
        order.
        """
        return seqs[seq - self.first] if self.has(seq) else seq

    def event(self, event: Event, seqs: Sequence[int]) -> Event:
        found = {
            name: self.seq(value, seqs)
            for name in event.__struct_fields__
            if isinstance(value := getattr(event, name), int) and self.has(value)
        }
        return msgspec.structs.replace(event, **found) if found else event

    def write(self, write: Write, seqs: Sequence[int]) -> Write:
        return msgspec.structs.replace(write, seq=self.seq(write.seq, seqs))

    def reply(self, value: Any, seqs: Sequence[int]) -> Any:
        """Return a reply, or a part of it, with real in place of provisional numbers, also in version tokens (`v12`).
        Raises `IndexError` if `seqs` lacks a number.
        """
        kind = type(value)  # exact types: a reply has thousands of values, and nearly all stay
        if kind is str:
            return self._version(value, seqs) if len(value) == _TOKEN_CHARS and _TOKEN.fullmatch(value) else value
        if kind is int:
            return value if value < self.first else self.seq(value, seqs)
        if kind is bool or value is None:
            return value
        if isinstance(value, Mapping):
            return {name: self.reply(each, seqs) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.reply(each, seqs) for each in value]
        return value

    def _version(self, token: str, seqs: Sequence[int]) -> str:
        seq = parse_version_token(token)
        return token if seq is None else version_token(self.seq(seq, seqs))
