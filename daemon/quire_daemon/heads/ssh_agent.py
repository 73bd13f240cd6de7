"""Signatures by a key in the user's ssh-agent (draft-miller-ssh-agent). Unlike the journal's own key, a security key
that must be touched, or one on another machine, cannot be used by whoever reads the state folder.
"""

from __future__ import annotations

import hashlib
import socket
import struct
from base64 import b64encode
from collections.abc import Iterator
from typing import Final, NamedTuple

from quire_journal.transparency import ED25519, SECURITY_KEY, NoteSignature, VerifierKey

KEY_DOMAIN: Final = "ssh.quire.invalid"

TOUCH_S: Final = 30.0
"""Seconds that the user has to touch a security key."""
_REQUEST_IDENTITIES: Final = 11
_IDENTITIES: Final = 12
_SIGN_REQUEST: Final = 13
_SIGN_RESPONSE: Final = 14

_PLAIN: Final = b"ssh-ed25519"
_SK: Final = b"sk-ssh-ed25519@openssh.com"

_MOST_BYTES: Final = 256 * 1024
_KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64


class AgentFailure(Exception):
    """Raised if the ssh-agent does not sign; the message is the reason."""


class AgentKey(NamedTuple):
    blob: bytes  # in OpenSSH's format

    @property
    def fingerprint(self) -> str:
        return "SHA256:" + b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    @property
    def verifier(self) -> VerifierKey | None:
        """The key in the form of signed notes; None if its type is unsupported."""
        kind, *parts = _strings(self.blob)
        name = f"{KEY_DOMAIN}/{hashlib.sha256(self.blob).hexdigest()[:32]}"
        if kind == _PLAIN and [len(part) for part in parts] == [_KEY_BYTES]:
            return VerifierKey(name, ED25519, parts[0])
        if kind == _SK and len(parts) == 2 and len(parts[0]) == _KEY_BYTES:
            return VerifierKey(name, SECURITY_KEY, parts[0] + parts[1])
        return None


def cosign(agent: str, fingerprint: str, text: str, timeout_s: float = TOUCH_S) -> tuple[VerifierKey, NoteSignature]:
    """Return the ssh-agent's key of this fingerprint, and its signature of `text`. `agent`: path of the agent's socket.
    Raises `AgentFailure`.
    """
    if not agent:
        raise AgentFailure("the daemon knows no ssh-agent (SSH_AUTH_SOCK was not set when it started)")
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(timeout_s)
            line.connect(agent)
            keys = [AgentKey(blob) for blob in identities(_asked(line, bytes([_REQUEST_IDENTITIES])))]
            key = next((key for key in keys if key.fingerprint == fingerprint), None)
            if key is None:
                raise AgentFailure(f"the ssh-agent has no key {fingerprint} (`ssh-add -l` lists its keys)")
            verifier = key.verifier
            if verifier is None:
                raise AgentFailure(f"the key {fingerprint} is not of type ed25519 or ed25519-sk")
            signed = signature_in(_asked(line, sign_request(key.blob, text.encode())), verifier.kind)
    except (OSError, struct.error, ValueError) as error:
        raise AgentFailure(f"the ssh-agent did not answer ({error})") from error
    signature = NoteSignature(verifier.name, verifier.id, signed)
    if verifier.time_of(signature.signature, text) is None:
        raise AgentFailure(f"the signature of the key {fingerprint} is wrong")
    return verifier, signature


def identities(reply: bytes) -> list[bytes]:
    """Return the public keys in the ssh-agent's reply. Raises `AgentFailure`."""
    if not reply or reply[0] != _IDENTITIES:
        raise AgentFailure("the ssh-agent lists no keys")
    return list(_strings(reply[5:]))[::2]  # each with a comment


def sign_request(blob: bytes, data: bytes) -> bytes:
    return bytes([_SIGN_REQUEST]) + _string(blob) + _string(data) + bytes(4)


def signature_in(reply: bytes, kind: bytes) -> bytes:
    """Return the signature in the ssh-agent's reply, in the form of signed notes. Raises `AgentFailure` if it did not
    sign as asked.
    """
    if not reply or reply[0] != _SIGN_RESPONSE:
        raise AgentFailure("the ssh-agent refused to sign, or the key was not touched")
    whole = next(_strings(reply[1:]))
    format_, signature = _taken(whole, 2)
    rest = whole[len(_string(format_)) + len(_string(signature)) :]
    if len(signature) != _SIGNATURE_BYTES or len(rest) != (5 if kind == SECURITY_KEY else 0):
        raise AgentFailure("the ssh-agent signed in another format")
    return rest + signature  # flags and count first


def _asked(line: socket.socket, message: bytes) -> bytes:
    line.sendall(_string(message))
    (size,) = struct.unpack(">I", _received(line, 4))
    if size > _MOST_BYTES:
        raise ValueError(f"a reply of {size} bytes")
    return _received(line, size)


def _received(line: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = line.recv(size - len(found))
        if not piece:
            raise ValueError("the connection ended")
        found += piece
    return found


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _strings(data: bytes) -> Iterator[bytes]:
    while data:
        (size,) = struct.unpack(">I", data[:4])
        if len(data) < 4 + size:
            raise ValueError("a reply that is cut off")
        yield data[4 : 4 + size]
        data = data[4 + size :]


def _taken(data: bytes, count: int) -> list[bytes]:
    found = []
    for _ in range(count):
        (size,) = struct.unpack(">I", data[:4])
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found
