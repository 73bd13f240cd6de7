"""Names of files as git writes them, where one that is not plain is quoted as in C."""

from __future__ import annotations

from quire_journal.model import disk_path


def quoted(path: str, prefix: bytes = b"") -> bytes:
    """A path of the journal behind `prefix`: plain where it can be, else quoted."""
    raw = prefix + disk_path(path).encode("utf-8", "surrogateescape")
    if all(0x20 < byte < 0x7F and byte not in b'"\\' for byte in raw):
        return raw
    escaped = b"".join(bytes([b]) if 0x20 <= b < 0x7F and b not in b'"\\' else b"\\%03o" % b for b in raw)
    return b'"' + escaped + b'"'
