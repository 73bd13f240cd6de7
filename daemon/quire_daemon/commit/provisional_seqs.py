"""Numbers for records that are still to be noted, in a decision that is made before it is known which ones they get.

A decision names the records that it makes: in its events, its writes and its reply. One that is thought about over
several turns counts them from a number that no record has, and gets the real ones when they are noted (`settled`),
which need not follow each other.
"""

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
"""No journal has so many records."""

_MOST: Final = 1 << 24
"""Records of one decision."""

_TOKEN: Final = re.compile(r"v\d{19}")

_TOKEN_CHARS: Final = 20


class ProvisionalSeqs(msgspec.Struct, frozen=True):
    """The numbers of one run of the daemon. `first` is drawn, so that no text happens to hold one of them."""

    first: int

    @classmethod
    def drawn(cls) -> ProvisionalSeqs:
        """Other ones each time."""
        return cls(_BEYOND + secrets.randbelow(1 << 36) * _MOST)

    def has(self, seq: int) -> bool:
        """Is this one of them?"""
        return 0 <= seq - self.first < _MOST

    def seq(self, seq: int, seqs: Sequence[int]) -> int:
        """The real number, where it is one of these."""
        return seqs[seq - self.first] if self.has(seq) else seq

    def event(self, event: Event, seqs: Sequence[int]) -> Event:
        """The event, with the real numbers of the records before it."""
        found = {
            name: self.seq(value, seqs)
            for name in event.__struct_fields__
            if isinstance(value := getattr(event, name), int) and self.has(value)
        }
        return msgspec.structs.replace(event, **found) if found else event

    def write(self, write: Write, seqs: Sequence[int]) -> Write:
        """The write, with the real number of its record."""
        return msgspec.structs.replace(write, seq=self.seq(write.seq, seqs))

    def reply(self, value: Any, seqs: Sequence[int]) -> Any:
        """A reply, or a part of one, with the real numbers, also where they stand as versions (`v12`).

        Raises `IndexError` where one of them is not known yet.
        """
        kind = type(value)  # exactly: a reply has many thousand values, nearly all of which stay as they are
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
