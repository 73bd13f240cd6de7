"""The entropy tables that deltas begin with: made of real histories, and what they save on others.

    python tests/bench/entropy.py train REPO [REPO ...]    prints the constant for `quire_journal.storage.blobs.entropy`
    python tests/bench/entropy.py weigh REPO [REPO ...]    prints bytes of deltas with and without them

A dictionary of zstd begins with tables (RFC 8878, section 5), and every frame that is packed with it may use them
instead of telling its own. `zstd.finalize_dict` makes tables of whole samples; those of a delta have another shape
(far offsets, long matches, few literals), and they save three times as much. So frames are taken apart here: each
history gives some hundred pairs of versions that follow each other, they are packed, and the sequences and literals of
the frames are counted; once more with the tables of the first pass, for which other matches are worth it.

It runs for a minute or two. What it made stands in the format of the journal and does not change.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import struct
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from git_history import Blobs, git
from quire_journal.storage.blobs import codec

PAIRS: Final = 400
"""Of each history."""

DICTIONARY: Final = b"\x37\xa4\x30\xec"
ID: Final = b"quir"
"""As a number 1,919,514,993, of those that anybody may use. No frame tells it."""

REPEATED: Final = (1, 4, 8)
"""The offsets that a frame may repeat at its beginning: those of zstd itself. None may be beyond the content."""

LENGTHS: Final = [*range(16), 16, 18, 20, 22, 24, 28, 32, 40, 48, *(1 << n for n in range(6, 17))]
LENGTH_BITS: Final = [0] * 16 + [1, 1, 1, 1, 2, 2, 3, 3, 4, *range(6, 17)]
MATCHES: Final = [*range(3, 35), 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, *((1 << n) + 3 for n in range(7, 17))]
MATCH_BITS: Final = [0] * 32 + [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, *range(7, 17)]
STATES_LOG: Final = 7
"""2^7 states of each table. With four times as many deltas are three thousandths shorter, and every frame that is read
takes an eighth longer, for its tables are made anew."""

FURTHEST: Final = 22
"""Codes of offsets that the tables have: up to four megabytes, beyond any base that is packed with them."""

# RFC 8878, section 3.1.1.3.2.2: what stands for a table that a frame does not tell.
_LENGTHS = [4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, *[-1] * 4]
_OFFSETS = [1, 1, 1, 1, 1, 1, 2, 2, 2, *[1] * 15, *[-1] * 5]
_MATCHES = [1, 4, 3, 2, 2, 2, 2, 2, 2, *[1] * 37, *[-1] * 7]

Table = tuple[list[tuple[int, int, int]], int]
"""Of each state the symbol, how many bits the next one takes, and what they are added to; and the size, as a power."""

Tables = tuple[Table, Table, Table]
"""Of lengths of literals, offsets, lengths of matches."""


def state_table(shares: Sequence[int], log: int) -> Table:
    """The states of symbols with these shares of 2^log (section 4.1.1)."""
    size = 1 << log
    symbols, high = [0] * size, size - 1
    for symbol, share in enumerate(shares):
        if share == -1:
            symbols[high] = symbol
            high -= 1
    at = 0
    for symbol, share in enumerate(shares):
        for _ in range(max(share, 0)):
            symbols[at] = symbol
            at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1)
            while at > high:
                at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1)
    following = [abs(share) for share in shares]
    states = []
    for symbol in symbols:
        state = following[symbol]
        following[symbol] += 1
        bits = log - (state.bit_length() - 1)
        states.append((symbol, bits, (state << bits) - size))
    return states, log


class Forward:
    """Bits from the first on."""

    def __init__(self, data: bytes) -> None:
        self._bits = int.from_bytes(data, "little")
        self.at = 0

    def take(self, count: int) -> int:
        found = (self._bits >> self.at) & ((1 << count) - 1)
        self.at += count
        return found


class Backward:
    """Bits from the last on, which is marked by a one behind it."""

    def __init__(self, data: bytes) -> None:
        self._bits = int.from_bytes(data, "little")
        self._left = self._bits.bit_length() - 1

    def take(self, count: int) -> int:
        self._left -= count
        assert self._left >= 0, "the frame is not what this reader takes it for"
        return (self._bits >> self._left) & ((1 << count) - 1)


def read_shares(data: bytes) -> tuple[list[int], int, int]:
    """The shares that are told there, the power of two that they are parts of, and the bytes that they take."""
    bits, shares = Forward(data), list[int]()
    log = bits.take(4) + 5
    left = 1 << log
    while left > 0:
        width = (left + 1).bit_length()
        spare = (1 << width) - 1 - (left + 1)
        value = bits.take(width)
        low = value & ((1 << (width - 1)) - 1)
        if low < spare:
            bits.at -= 1
            value = low
        elif value >= 1 << (width - 1):
            value -= spare
        shares.append(value - 1)
        left -= abs(value - 1)
        more = value == 1
        while more:
            zeros = bits.take(2)
            shares += [0] * zeros
            more = zeros == 3
    return shares, log, (bits.at + 7) // 8


def write_shares(shares: Sequence[int], log: int) -> bytes:
    """The other way around; the last share is not 0."""
    told, at, left, place = log - 5, 4, 1 << log, 0
    while left > 0:
        share = shares[place]
        place += 1
        width = (left + 1).bit_length()
        spare = (1 << width) - 1 - (left + 1)
        value = share + 1
        if value < spare:
            width -= 1
        elif value >= 1 << (width - 1):
            value += spare
        told |= value << at
        at += width
        left -= abs(share)
        if share == 0:
            zeros = 0
            while shares[place] == 0:
                zeros, place = zeros + 1, place + 1
            while zeros >= 3:
                told |= 3 << at
                at, zeros = at + 2, zeros - 3
            told |= zeros << at
            at += 2
    return told.to_bytes((at + 7) // 8, "little")


def shares_of(counts: Sequence[float], log: int, zeros: bool = False) -> list[int]:
    """Shares of 2^log that tell so many symbols in the fewest bits; each gets one, unless `zeros` are left out."""
    size, whole = 1 << log, sum(counts)
    shares = [0 if zeros and not n else -1 if n * size < whole else int(n * size / whole) for n in counts]
    gain = [0.0] * len(shares)
    while (over := sum(map(abs, shares)) - size) != 0:
        for place, share in enumerate(shares):
            one = abs(share)
            gain[place] = counts[place] * (math.log2((one + 1) / one) if one else 0)
            if over > 0:
                gain[place] = -counts[place] * math.log2(one / (one - 1)) if one > 1 else -math.inf
        best = max(range(len(shares)), key=gain.__getitem__)
        shares[best] = abs(shares[best]) + (1 if over < 0 else -1)
    return shares


def code_lengths(counts: Sequence[float], most: int) -> list[int]:
    """Bits of the prefix code of each symbol, none longer than `most` (package-merge)."""
    single = sorted((count, (symbol,)) for symbol, count in enumerate(counts))
    row: list[tuple[float, tuple[int, ...]]] = []
    for _ in range(most):
        pairs = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(row[::2], row[1::2], strict=False)]
        row = list(heapq.merge(single, pairs, key=lambda one: one[0]))
    lengths = [0] * len(counts)
    for _, symbols in row[: 2 * len(counts) - 2]:
        for symbol in symbols:
            lengths[symbol] += 1
    return lengths


def literals_table(counts: Sequence[float]) -> bytes:
    """The table of literals: weights of their codes, told by two states in turn (section 4.2.1)."""
    lengths = code_lengths([count + 1 for count in counts], 11)
    weights = [max(lengths) + 1 - length for length in lengths][:-1]  # the last is known from the others
    log = 6
    shares = shares_of([weights.count(weight) for weight in range(max(weights) + 1)], log, zeros=True)
    states, _ = state_table(shares, log)
    before: dict[tuple[int, int], tuple[int, int, int]] = {}
    for state, (symbol, bits, base) in enumerate(states):
        for value in range(1 << bits):
            before[symbol, base + value] = (state, value, bits)
    end = len(weights) - 1
    state_of = {end % 2: next(n for n, one in enumerate(states) if one[0] == weights[end])}
    # The one before it must want more bits than there are: so the end is known.
    state_of[1 - end % 2] = next(n for n, one in enumerate(states) if one[0] == weights[end - 1] and one[1])
    told, at = 0, 0
    for place in range(end - 2, -1, -1):
        state_of[place % 2], value, bits = before[weights[place], state_of[place % 2]]
        told |= value << at
        at += bits
    for turn in (1, 0):
        told |= state_of[turn] << at
        at += log
    body = write_shares(shares, log) + (told | 1 << at).to_bytes(at // 8 + 1, "little")
    assert len(body) < 128
    return bytes([len(body)]) + body


def tables_in(header: bytes) -> Tables:
    """The three tables of sequences that stand in the header of a dictionary."""
    at, found = 9 + header[8], []
    for _ in range(3):
        shares, log, used = read_shares(header[at : at + 128])
        found.append(state_table(shares, log))
        at += used
    return found[2], found[0], found[1]


class Counts:
    """How often each symbol occurs in frames."""

    def __init__(self) -> None:
        self.literals = [0.0] * 256
        self.lengths = [0.0] * len(LENGTHS)
        self.offsets = [0.0] * FURTHEST
        self.matches = [0.0] * len(MATCHES)

    def add(self, data: bytes, frame: bytes, known: Tables | None) -> None:
        """Count what stands in the frame, which is that of `data`."""
        at = 0
        for literals, sequences in blocks(frame, known):
            end = at + literals + sum(match for _, _, match, _ in sequences)
            for length, _, match, codes in sequences:
                self._literals(data[at : at + length])
                self.lengths[codes[0]] += 1
                self.offsets[codes[1]] += 1
                self.matches[codes[2]] += 1
                at += length + match
            self._literals(data[at:end])
            at = end
        assert at == len(data), "the frame was not read as it was written"

    def _literals(self, data: bytes) -> None:
        for byte in data:
            self.literals[byte] += 1

    def header(self) -> bytes:
        """The beginning of a dictionary."""
        out = DICTIONARY + ID + literals_table(self.literals)
        for counts in (self.offsets, self.matches, self.lengths):
            out += write_shares(shares_of([count + 1e-3 for count in counts], STATES_LOG), STATES_LOG)
        return out + struct.pack("<III", *REPEATED)


Sequence3 = tuple[int, int, int, tuple[int, int, int]]
"""Literals, what is told of the offset, bytes of the match; and the codes of these three."""


def blocks(frame: bytes, known: Tables | None) -> Iterator[tuple[int, list[Sequence3]]]:
    """Of each block of a frame how many literals it has in all, and its sequences."""
    about = frame[4]
    at = 5 + (0 if about & 32 else 1) + ((1 if about & 32 else 0), 2, 4, 8)[about >> 6]
    tables = list(known or (([], 0), ([], 0), ([], 0)))
    last = False
    while not last:
        head = int.from_bytes(frame[at : at + 3], "little")
        last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
        at += 3
        if kind == 2:
            yield _block(frame[at : at + size], tables)
        else:
            yield size, []
        at += 1 if kind == 1 else size


def _block(block: bytes, tables: list[Table]) -> tuple[int, list[Sequence3]]:
    kind, shape = block[0] & 3, block[0] >> 2 & 3
    if kind < 2:
        head = (1, 2, 1, 3)[shape]
        count = int.from_bytes(block[:head], "little") >> (3, 4, 3, 4)[shape]
        at = head + (count if kind == 0 else 1)
    else:
        head, width = ((3, 10), (3, 10), (4, 14), (5, 18))[shape]
        told = int.from_bytes(block[:head], "little") >> 4
        count = told & ((1 << width) - 1)
        at = head + (told >> width & ((1 << width) - 1))
    many = block[at]
    at += 1
    if many >= 128:
        many, at = (((many - 128) << 8) + block[at], at + 1) if many < 255 else (
            int.from_bytes(block[at : at + 2], "little") + 0x7F00,
            at + 2,
        )  # fmt: skip
    if not many:
        return count, []
    modes = block[at]
    at += 1
    for place, default in enumerate(((_LENGTHS, 6), (_OFFSETS, 5), (_MATCHES, 6))):
        mode = modes >> (6 - 2 * place) & 3
        if mode == 0:
            tables[place] = state_table(*default)
        elif mode == 1:
            tables[place] = ([(block[at], 0, 0)], 0)
            at += 1
        elif mode == 2:
            shares, log, used = read_shares(block[at : at + 128])
            tables[place] = state_table(shares, log)
            at += used
    return count, list(_sequences(Backward(block[at:]), many, tables))


def _sequences(bits: Backward, many: int, tables: list[Table]) -> Iterator[Sequence3]:
    states = [bits.take(log) for _, log in tables]
    for left in range(many - 1, -1, -1):
        length, offset, match = (table[0][state][0] for table, state in zip(tables, states, strict=True))
        told = (1 << offset) + bits.take(offset)
        matched = MATCHES[match] + bits.take(MATCH_BITS[match])
        yield LENGTHS[length] + bits.take(LENGTH_BITS[length]), told, matched, (length, offset, match)
        for place in (0, 2, 1) if left else ():
            _, width, base = tables[place][0][states[place]]
            states[place] = base + bits.take(width)


def pairs(repo: Path) -> list[tuple[bytes, bytes]]:
    """Some versions of files of a history, each with the one before it, that are packed with the tables."""
    listed = git(repo, "log", "--first-parent", "--reverse", "--no-renames", "--raw", "--abbrev=40", "--format=%h")
    rows = (line.split() for line in listed.splitlines() if line.startswith(b":"))
    named = sorted({(row[3], row[2]) for row in rows if row[4] == b"M" and row[0] != b":160000"})
    random.Random(1).shuffle(named)
    blobs, found = Blobs(repo), list[tuple[bytes, bytes]]()
    for new, old in named:
        data, base = blobs.read(new), blobs.read(old)
        made = codec.delta(data, base, lambda data=data: codec.whole(data)) if data and base else None
        if made is not None and made[0] in codec.WITH_TABLES:
            found.append((data, base))
        if len(found) == PAIRS:
            break
    blobs.close()
    return found


def train(repos: Sequence[Path]) -> bytes:
    """Tables for the deltas of these histories."""
    drawn = [pair for repo in repos for pair in pairs(repo)]
    header = b""
    for _ in range(2):
        counts = Counts()
        for data, base in drawn:
            frame = codec.pack_with_tables(data, base, tables=header) if header else codec.pack_after(data, base)
            counts.add(data, frame, tables_in(header) if header else None)
        header = counts.header()
    return header


def main() -> None:
    """Train, or weigh."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "weigh"))
    parser.add_argument("repo", type=Path, nargs="+")
    options = parser.parse_args()
    if options.what == "train":
        header = train(options.repo)
        print(f"{len(header)} bytes\n{header.hex()}")
        return
    for repo in options.repo:
        drawn = pairs(repo)
        without = sum(len(codec.pack_after(data, base)) for data, base in drawn)
        tabled = sum(len(codec.pack_with_tables(data, base)) for data, base in drawn)
        print(
            f"{repo.resolve().name}: {len(drawn)} deltas, {without:,} bytes, with tables {tabled / without:.3f} of it"
        )


if __name__ == "__main__":
    main()
