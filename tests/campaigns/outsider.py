"""An outside program: saves one file again and again in one of the ways that programs save, and keeps account.

    python outsider.py STYLE FILE ACCOUNT SECONDS PAUSE_MS [SEED]

It ends after SECONDS, or when there is a file ACCOUNT.stop. PAUSE_MS is the time between two saves; with a "~" behind
it most saves follow the one before at once, and only one in five comes after a pause, of up to ten times that. Styles:
`inplace` (truncate and write), `slow` (the same in two halves, 2 ms apart), `rename` (temporary file, then renamed
over), `unlink` (moved away, then created), `mmap` (written through a mapping).

ACCOUNT gets one JSON line for each complete save: its number, when it was complete (monotonic), the sha256 of its
bytes, and the sha256 of what it found in its place. It looks through the very descriptor that it then writes, or by an
exchange, so that there is no gap in which another's bytes could be taken for its own: a save that no other save found
was displaced by someone else, and must be in the journal.

It knows nothing of Quire and imports nothing of it.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import json
import mmap
import os
import random
import sys
import time
from collections.abc import Callable

EXCHANGE, NO_REPLACE = 2, 1
_renameat2 = ctypes.CDLL(None, use_errno=True).renameat2


def rename(source: str, target: str, flag: int) -> None:
    """renameat2(2)."""
    if _renameat2(-100, os.fsencode(source), -100, os.fsencode(target), flag):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), source)


def content(number: int, slots: int = 4) -> bytes:
    """Save `number`: it names itself at the top and the bottom, so that half a save is known for one."""
    body = "".join(f"above {slot}\nslot {slot} is free\nbelow {slot} {'x' * 40}\n" for slot in range(slots))
    return f"save {number} begins\n{body}save {number} ends\n".encode()


def read_all(fd: int) -> bytes:
    """Everything from the beginning."""
    return os.pread(fd, 1 << 20, 0)


def read_file(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def write_file(path: str, data: bytes) -> None:
    """A new file with these bytes."""
    with open(path, "wb") as file:
        file.write(data)


def save_in_place(path: str, data: bytes, halves_apart_s: float = 0.0) -> bytes:
    """Truncate and write, in one or two writes; what was there before."""
    fd = os.open(path, os.O_RDWR)
    try:
        found = read_all(fd)
        os.ftruncate(fd, 0)
        if halves_apart_s:
            half = len(data) // 2
            os.pwrite(fd, data[:half], 0)
            time.sleep(halves_apart_s)
            os.pwrite(fd, data[half:], half)
        else:
            os.pwrite(fd, data, 0)
    finally:
        os.close(fd)
    return found


def save_slowly(path: str, data: bytes) -> bytes:
    """In two halves."""
    return save_in_place(path, data, 0.002)


def save_by_rename(path: str, data: bytes) -> bytes:
    """A temporary file in the same folder takes the name; an exchange says exactly what had it."""
    beside = f"{path}.saving~"
    write_file(beside, data)
    try:
        rename(beside, path, EXCHANGE)
    except FileNotFoundError:
        os.rename(beside, path)
        return b""
    found = read_file(beside)
    os.unlink(beside)
    return found


def save_by_unlink(path: str, data: bytes) -> bytes:
    """The old file goes away, then the new one comes: for an instant there is none."""
    beside, old = f"{path}.saving~", f"{path}.old~"
    write_file(beside, data)
    try:
        rename(path, old, NO_REPLACE)
        found = read_file(old)
        os.unlink(old)
    except FileNotFoundError:
        found = b""
    time.sleep(random.random() * 0.0005)
    rename(beside, path, NO_REPLACE)  # FileExistsError: someone made one meanwhile, and this save did not happen
    return found


def save_by_mapping(path: str, data: bytes) -> bytes:
    """Through a writable mapping that outlives its descriptor."""
    fd = os.open(path, os.O_RDWR)
    try:
        found = read_all(fd)
        os.ftruncate(fd, len(data))
        mapping = mmap.mmap(fd, len(data))
    finally:
        os.close(fd)
    half = len(data) // 2
    mapping[:half] = data[:half]
    time.sleep(0.001)
    mapping[half:] = data[half:]
    mapping.close()
    return found


STYLES: dict[str, Callable[[str, bytes], bytes]] = {
    "inplace": save_in_place,
    "slow": save_slowly,
    "rename": save_by_rename,
    "unlink": save_by_unlink,
    "mmap": save_by_mapping,
}


def main(style: str, path: str, account: str, seconds: str, pause_ms: str, seed: str = "1") -> None:
    """Save until the time is up."""
    random.seed(int(seed))
    pause_s = float(pause_ms.rstrip("~")) / 1000
    until = time.monotonic() + float(seconds)
    with open(account, "a", encoding="ascii") as book:
        for number in itertools.count(1):
            if time.monotonic() >= until or os.path.exists(f"{account}.stop"):
                break
            data = content(number)
            try:
                found = STYLES[style](path, data)
            except (FileNotFoundError, FileExistsError):
                continue
            hashes = {"sha256": hashlib.sha256(data).hexdigest(), "found": hashlib.sha256(found).hexdigest()}
            line = {"save": number, "at": time.monotonic(), **hashes}
            book.write(json.dumps(line) + "\n")
            book.flush()
            if not pause_ms.endswith("~"):
                time.sleep(pause_s)
            elif random.random() < 0.2:
                time.sleep(random.random() * 10 * pause_s)


if __name__ == "__main__":
    main(*sys.argv[1:])
