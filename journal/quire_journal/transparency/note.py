"""Signed notes (c2sp.org/signed-note): a text with signature lines, and the keys that verify them. Signatures are
Ed25519 over the text; Ed25519 over the text and a time (c2sp.org/tlog-cosignature); and those of a security key in
OpenSSH's format, for which the specification reserves the type 0xff with a longer name.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from quire_journal.transparency import ed25519

ED25519: Final = b"\x01"
TIMED: Final = b"\x04"
SECURITY_KEY: Final = b"\xffsk-ssh-ed25519@openssh.com"

MOST_NOTE_BYTES: Final = 1 << 20

_KEY_BYTES: Final = 32
_TIMED_BYTES: Final = 8 + 64
"""Bytes of a signature with a time."""
_ID_BYTES: Final = 4
_MARK: Final = "— "


class BadNote(ValueError):
    """The text is no signed note, or the key is malformed. The message says why."""


class VerifierKey(NamedTuple):
    """Named public key. `kind` is the type of its signatures."""

    name: str
    kind: bytes
    key: bytes  # 32 bytes; of a security key, followed by its application string

    @property
    def id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + self.kind + self.key).digest()[:_ID_BYTES]

    @property
    def vkey(self) -> str:
        """Text form of the key."""
        return f"{self.name}+{self.id.hex()}+{b64encode(self.kind + self.key).decode()}"

    def time_of(self, signature: bytes, text: str) -> int | None:
        """Return the signed time in seconds since 1970, 0 if it has none; None if the signature is wrong."""
        public, message = self.key[:_KEY_BYTES], text.encode()
        if self.kind == ED25519:
            return 0 if ed25519.is_signed(public, signature, message) else None
        if self.kind == TIMED:
            at_s = int.from_bytes(signature[:8], "big")
            return at_s if ed25519.is_signed(public, signature[8:], timed(at_s, text)) else None
        flags_and_count, signature = signature[:5], signature[5:]
        application = hashlib.sha256(self.key[_KEY_BYTES:]).digest()
        signed = application + flags_and_count + hashlib.sha256(message).digest()
        return 0 if ed25519.is_signed(public, signature, signed) else None


def timed(at_s: int, text: str) -> bytes:
    """Return the message that a signature with a time covers."""
    return f"cosignature/v1\ntime {at_s}\n{text}".encode()


def read_vkey(text: str) -> VerifierKey:
    """Parse the text form of a key. Raises `BadNote`."""
    name, _, rest = text.strip().partition("+")
    id, _, encoded = rest.partition("+")
    data = _decoded(encoded)
    kind = next((kind for kind in (ED25519, TIMED, SECURITY_KEY) if data.startswith(kind)), b"")
    key = VerifierKey(name, kind, data[len(kind) :])
    if not name or not kind or len(key.key) < _KEY_BYTES or key.id.hex() != id:
        raise BadNote(f"{text.strip()[:80]!r} is not a verifier key (name+id+base64)")
    return key


class NoteSignature(NamedTuple):
    name: str
    id: bytes
    signature: bytes

    @property
    def at_s(self) -> int:
        """Time that the signature states, unchecked, in seconds since 1970; 0 if it has none."""
        return int.from_bytes(self.signature[:8], "big") if len(self.signature) == _TIMED_BYTES else 0

    @property
    def line(self) -> str:
        return f"{_MARK}{self.name} {b64encode(self.id + self.signature).decode()}\n"


class Note(NamedTuple):
    """Text ending in a newline, with signatures."""

    text: str
    signatures: Sequence[NoteSignature]

    def encoded(self) -> str:
        return self.text + "\n" + "".join(signature.line for signature in self.signatures)

    def signed_by(self, keys: Iterable[VerifierKey]) -> dict[VerifierKey, int]:
        """Return the keys that signed, each with its time (`VerifierKey.time_of`), ignoring other signatures. Raises
        `BadNote` if the signature of one of the keys is wrong.
        """
        known = {(key.name, key.id): key for key in keys}
        found: dict[VerifierKey, int] = {}
        for one in self.signatures:
            key = known.get((one.name, one.id))
            if key is None:
                continue
            at_s = key.time_of(one.signature, self.text)
            if at_s is None:
                raise BadNote(f"the signature of {one.name} does not fit the text")
            found[key] = at_s
        return found


def read_note(text: str) -> Note:
    """Return the only note in `text`. Raises `BadNote`."""
    found = list(read_notes(text))
    if len(found) != 1:
        raise BadNote(f"there are {len(found)} notes where one is expected")
    return found[0]


def read_notes(text: str) -> Iterator[Note]:
    """Yield the notes in `text`. Raises `BadNote`."""
    if len(text) > MOST_NOTE_BYTES or any(c < " " and c != "\n" for c in text):
        raise BadNote("it has control characters, or is too large")
    body: list[str] = []
    signatures: list[NoteSignature] = []
    *lines, last = text.split("\n")
    for line in [*(f"{line}\n" for line in lines), last, ""]:
        if line.startswith(_MARK) and body and body[-1] == "\n":
            signatures.append(_signature(line))
            continue
        if signatures:
            yield Note("".join(body[:-1]), tuple(signatures))
            body, signatures = [], []
        if line.strip() or body:
            body.append(line)
    if body and "".join(body).strip():
        raise BadNote("a text is not signed")


def _signature(line: str) -> NoteSignature:
    if not line.endswith("\n"):
        raise BadNote("the last line is cut off")
    name, _, encoded = line[len(_MARK) : -1].partition(" ")
    data = _decoded(encoded)
    if not name or "+" in name or len(data) <= _ID_BYTES:
        raise BadNote(f"{line.strip()[:80]!r} is not a signature line")
    return NoteSignature(name, data[:_ID_BYTES], data[_ID_BYTES:])


def _decoded(encoded: str) -> bytes:
    try:
        return b64decode(encoded, validate=True)
    except (NotBase64, ValueError):
        raise BadNote(f"{encoded[:40]!r} is not base64") from None
