"""Line hashes: short anchors made of the content of a line.

A hash covers the bytes of a line without break and number. A caller names a shown line by its hash; the caller's base
decides which line that is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from heapq import merge
from typing import Final

import xxhash

try:  # CPython's own takes half the time of OpenSSL's for short texts
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:
    from hashlib import md5

from quire_journal.model import cached_property
from quire_journal.text.splice import Splice, spliced
from quire_journal.text.text import Text, shown

SHOWN_DIGITS: Final = 6

FULL_DIGITS: Final = 8
"""Digits of the longest hash, for lines whose shown digits are equal."""

MANY_LINES: Final = 5_000
"""Number of lines from which a read of a few lines hashes only the lines read."""

MOST_CHANGES: Final = 500
"""Maximum number of changed counts in `Occurrences` before they are merged into the base counts; in a short text a
quarter of its lines, at least `FEW_CHANGES`.
"""

FEW_CHANGES: Final = 16

COMMON_ABOVE: Final = 3
"""Number of occurrences above which the quality of a line as an anchor is `med`."""

_POOR: Final = b" \t\v\f{}()[]<>,;'\"`"
_SLOT: Final = "line_hashes"
_PACKED: Final = FULL_DIGITS // 2
"""Length of a hash in `LineHashes.packed`."""


def hash8(line: bytes) -> str:
    digits: str = md5(line, usedforsecurity=False).hexdigest()
    return digits[:FULL_DIGITS]


def context8(before: bytes, line: bytes, after: bytes) -> str:
    """Return 8 hex digits of the hash of `line` between `before` and `after`, its nearest non-blank neighbours (b"":
    none).
    """
    return hash8(b"\n".join((before, line, after)))


def line_id(line: bytes) -> str:
    """Return the ID in a hashline reference `LINE#ID`: 4 hex digits of the line's exact text."""
    return f"{xxhash.xxh32_intdigest(line) & 0xFFFF:04x}"


def is_poor(line: bytes) -> bool:
    """True if the line is blank or only brackets, quotes, commas and semicolons, and so a poor anchor."""
    return not line.strip(_POOR)


def quality(line: bytes, occurrences: int) -> str:
    """Return the quality of `line` as an anchor: `low` for a poor line (`is_poor`), `med` for a line that the file has
    more than `COMMON_ABOVE` times, else `high`.
    """
    if not line.strip(_POOR):  # as `is_poor`
        return "low"
    return "med" if occurrences > COMMON_ABOVE else "high"


class Occurrences:
    """Number of lines with each hash: immutable base counts and later changes, so that an edit costs as much as its
    change.
    """

    __slots__ = ("_changes", "_counted")

    def __init__(self, counted: dict[str, int], changes: dict[str, int] | None = None) -> None:
        self._counted = counted
        self._changes = {} if changes is None else changes

    def __getitem__(self, digits: str) -> int:
        count = self._counted.get(digits, 0)
        return count + self._changes[digits] if digits in self._changes else count

    def after(self, gone: Iterable[str], come: Iterable[str]) -> Occurrences:
        changes = self._changes.copy()
        for digits in gone:
            changes[digits] = changes.get(digits, 0) - 1
        for digits in come:
            changes[digits] = changes.get(digits, 0) + 1
        if len(changes) <= min(MOST_CHANGES, max(FEW_CHANGES, len(self._counted) // 4)):
            return Occurrences(self._counted, changes)
        counted = Counter(self._counted)
        counted.update(changes)
        return Occurrences(+counted)


class LineHashes:
    """Hashes of the lines of one text, made by `LineHashes.of`. Does not refer to the text, which refers to this
    object, as the daemon hardly ever collects reference cycles.
    """

    __slots__ = ("__dict__", "lines")

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines

    @classmethod
    def of(cls, text: Text) -> LineHashes:
        """Return the hashes of `text`, cached on it."""
        kept = text.__dict__.get(_SLOT)
        if kept is None:
            kept = text.__dict__[_SLOT] = cls(text.lines)
        assert isinstance(kept, LineHashes)
        return kept

    @cached_property
    def full(self) -> Sequence[str]:
        if not len(self.lines) or "packed" not in self.__dict__:
            return hash8_each(self.lines)
        return self.packed.hex("\n", _PACKED).split("\n")

    @property
    def _made(self) -> bool:
        return "full" in self.__dict__ or "packed" in self.__dict__

    def digits(self, line: int) -> str:
        if "full" in self.__dict__ or "packed" not in self.__dict__:
            return self.full[line]
        return self.packed[line * _PACKED : (line + 1) * _PACKED].hex()

    def carry(self, splices: Sequence[Splice], result: Text) -> LineHashes:
        """Return the hashes of `result`, which is this text after `splices`. Only new lines are hashed."""
        if not self._made:
            return LineHashes.of(result)
        new = [hash8_each(s.lines) for s in splices]
        if len(self.lines) + sum(s.shift for s in splices) != len(result):  # a CR and an LF became one break
            return LineHashes.of(result)
        made = result.__dict__[_SLOT] = LineHashes(result.lines)
        if "packed" in self.__dict__:
            made.__dict__["packed"] = self._packed_after(splices, new)
        else:
            made.__dict__["full"] = spliced(self.full, splices, new)
        if "counts" in self.__dict__:
            gone = [self.digits(line) for s in splices for line in range(s.start, s.stop)]
            come = [digits for each in new for digits in each]
            made.__dict__["counts"] = self.counts.after(gone, come)
        return made

    def _packed_after(self, splices: Sequence[Splice], new: Sequence[Sequence[str]]) -> bytes:
        parts: list[bytes] = []
        at = 0
        for s, come in zip(splices, new, strict=True):
            parts += self.packed[at * _PACKED : s.start * _PACKED], pack(come)
            at = s.stop
        parts.append(self.packed[at * _PACKED :])
        return b"".join(parts)

    @cached_property
    def counts(self) -> Occurrences:
        return Occurrences(Counter(self.full))

    @cached_property
    def packed(self) -> bytes:
        """Hashes as bytes, the form that is searched and updated by edits."""
        return pack(self.full)

    def matching(self, prefix: str) -> list[int]:
        """Return the numbers of the lines whose hash begins with `prefix` (lower-case hex, at least 4 digits), in
        order.
        """
        if "_beginning" in self.__dict__:
            alike = self._having(prefix[:4])
            return list(merge(*(lines for digits, lines in alike.items() if digits.startswith(prefix))))
        found: list[int] = []
        packed, whole = self.packed, bytes.fromhex(prefix[: len(prefix) // 2 * 2])
        at = packed.find(whole)
        while at >= 0:
            line, within = divmod(at, _PACKED)
            if not within and self.digits(line).startswith(prefix):
                found.append(line)
            at = packed.find(whole, at + 1)
        return found

    def expect_many(self) -> None:
        """Build an index for many calls of `matching`."""
        assert self._beginning is not None

    @cached_property
    def _beginning(self) -> dict[str, list[int] | dict[str, list[int]]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for line, digits in enumerate(self.full):
            found[digits[:4]].append(line)
        return {**found}

    def _having(self, start: str) -> dict[str, list[int]]:
        found = self._beginning.get(start, {})
        if isinstance(found, list):
            alike: defaultdict[str, list[int]] = defaultdict(list)
            for line in found:
                alike[self.full[line]].append(line)
            found = self._beginning[start] = alike
        return found

    def matching_context(self, context: str) -> list[int]:
        return list(self._by_context.get(context, ()))

    @cached_property
    def _by_context(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for line, context in enumerate(self.contexts):
            found[context].append(line)
        return found

    @cached_property
    def contexts(self) -> list[str]:
        lines = self.lines
        before, after = _last_non_blank(lines), reversed(_last_non_blank(lines[::-1]))
        return hash8_each([b"\n".join(three) for three in zip(before, lines, after, strict=True)])

    def context(self, line: int) -> str:
        return self.contexts_of((line,))[0]

    def contexts_of(self, lines: Sequence[int]) -> list[str]:
        if "contexts" in self.__dict__:
            return [self.contexts[line] for line in lines]
        text, last = self.lines, len(self.lines) - 1
        before = _non_blank_before(text, lines)
        after = _non_blank_before(text[::-1], [last - line for line in reversed(lines)])[::-1]
        return [context8(a, text[line], b) for a, line, b in zip(before, lines, after, strict=True)]

    def quality(self, line: int) -> str:
        return quality(self.lines[line], self.counts[self.digits(line)])

    def anchor(self, line: int) -> str:
        """Return `119#c812f1`, the anchor that callers send back."""
        return f"{line + 1}#{self.digits(line)[:SHOWN_DIGITS]}"

    def row(self, line: int) -> str:
        """Return `119#c812f1 [high]|text`, as shown by reads with hashes."""
        return self.rows_of((line,))[0]

    def reference(self, line: int) -> str:
        """Return `119#3f1c|text`, as shown by hashline reads."""
        text = self.lines[line]
        return f"{line + 1}#{line_id(text)}|{shown(text)}"

    def rows(self, start: int, stop: int) -> list[str]:
        return self.rows_of(range(start, stop))

    def rows_of(self, lines: Sequence[int], most: int | None = None) -> list[str]:
        """Return `row` of these lines, each text cut to `most` characters."""
        text = self.lines
        if self._made or len(text) < MANY_LINES or len(lines) > len(text) // 8:
            counts = self.counts
            full, packed = self.__dict__.get("full"), self.__dict__.get("packed", b"")
            if full is None and packed and len(lines) <= len(text) // 8:
                known = [packed[i * _PACKED : (i + 1) * _PACKED].hex() for i in lines]
            else:
                known = [self.full[i] for i in lines]
            occurrences = [counts[digits] for digits in known]
        else:
            alike = Counter(filter({text[i] for i in lines}.__contains__, text))
            known, occurrences = hash8_each([text[i] for i in lines]), [alike[text[i]] for i in lines]
        rows: list[str] = []
        for i, digits, count in zip(lines, known, occurrences, strict=True):
            told = shown(text[i])
            if most is not None and len(told) > most:
                told = f"{told[:most]}… ({len(told) - most} more characters)"
            rows.append(f"{i + 1}#{digits[:SHOWN_DIGITS]} [{quality(text[i], count)}]|{told}")
        return rows

    def references(self, start: int, stop: int) -> list[str]:
        return [self.reference(line) for line in range(start, stop)]


def _non_blank_before(text: Sequence[bytes], lines: Sequence[int]) -> list[bytes]:
    out: list[bytes] = []
    at, near = 0, b""
    for line in lines:
        near = next((text[i] for i in range(line - 1, at - 1, -1) if text[i].strip()), near)
        out.append(near)
        at = line
    return out


def _last_non_blank(lines: Sequence[bytes]) -> list[bytes]:
    out: list[bytes] = []
    last = b""
    for line in lines:
        out.append(last)
        last = line if line.strip() else last
    return out


def pack(hashes: Iterable[str]) -> bytes:
    return bytes.fromhex("".join(hashes))


def hash8_each(lines: Sequence[bytes]) -> list[str]:
    """Return `hash8` of each line, faster than by a call for each."""
    distinct = set(lines)
    if 2 * len(distinct) > len(lines):
        return [md5(line, usedforsecurity=False).hexdigest()[:FULL_DIGITS] for line in lines]
    known = {line: md5(line, usedforsecurity=False).hexdigest()[:FULL_DIGITS] for line in distinct}
    return [known[line] for line in lines]
