"""Signatures of the user's ssh-agent: a real one for a plain key, and one in the test for a security key."""

from __future__ import annotations

import hashlib
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quire_daemon.heads.ssh_agent import AgentFailure, AgentKey, cosign, identities, sign_request, signature_in
from quire_journal.transparency.note import SECURITY_KEY

TEXT = "journal.quire.invalid/0123/1\n3\nAAAA\n"
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key().public_bytes_raw()


def string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


PLAIN = AgentKey(string(b"ssh-ed25519") + string(PUBLIC))
SK = AgentKey(string(b"sk-ssh-ed25519@openssh.com") + string(PUBLIC) + string(b"ssh:"))
RSA = AgentKey(string(b"ssh-rsa") + string(b"\x01\x00\x01") + string(bytes(256)))


def touched(text: str) -> bytes:
    """What a security key answers, in OpenSSH's format."""
    flags_and_count = b"\x01\x00\x00\x00\x09"
    message = hashlib.sha256(b"ssh:").digest() + flags_and_count + hashlib.sha256(text.encode()).digest()
    return string(b"sk-ssh-ed25519@openssh.com") + string(PRIVATE.sign(message)) + flags_and_count


class Agent(threading.Thread):
    """An agent with these keys, whose answer to a request for a signature is `answer`."""

    def __init__(self, path: Path, keys: list[AgentKey], answer: bytes) -> None:
        super().__init__(daemon=True)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._keys, self._answer = keys, answer
        self.asked: list[bytes] = []
        self.start()

    def run(self) -> None:
        line, _ = self._socket.accept()
        with line, self._socket:
            listed = b"".join(string(key.blob) + string(b"a comment") for key in self._keys)
            for answer in (b"\x0c" + struct.pack(">I", len(self._keys)) + listed, self._answer):
                (size,) = struct.unpack(">I", line.recv(4) or bytes(4))
                self.asked.append(line.recv(size) if size else b"")
                if size:
                    line.sendall(string(answer))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent"


def test_a_security_key_signs_and_is_verified(path: Path) -> None:
    agent = Agent(path, [RSA, SK], b"\x0e" + string(touched(TEXT)))
    verifier, signature = cosign(str(path), SK.fingerprint, TEXT)
    assert verifier.kind == SECURITY_KEY
    assert verifier.time_of(signature.signature, TEXT) == 0
    assert (signature.name, signature.id) == (verifier.name, verifier.id)
    assert agent.asked == [b"\x0b", sign_request(SK.blob, TEXT.encode())]


@pytest.mark.parametrize(
    ("keys", "wanted", "answer", "told"),
    [
        ([PLAIN], SK, b"", "has no key SHA256:"),
        ([], SK, b"", "has no key SHA256:"),
        ([RSA], RSA, b"", "not of type ed25519"),
        ([SK], SK, b"\x05", "refused to sign, or the key was not touched"),
        ([SK], SK, b"\x0e" + string(touched("another text")), "is wrong"),
        ([PLAIN], PLAIN, b"\x0e" + string(touched(TEXT)), "in another format"),
        ([PLAIN], PLAIN, b"\x0e" + string(string(b"ssh-ed25519") + string(bytes(64))), "is wrong"),
        ([PLAIN], PLAIN, b"\x0e" + string(b"\x00\x00"), "did not answer"),
    ],
)
def test_a_signature_that_cannot_be_had_is_told(
    path: Path, keys: list[AgentKey], wanted: AgentKey, answer: bytes, told: str
) -> None:
    Agent(path, keys, answer)
    with pytest.raises(AgentFailure, match=told):
        cosign(str(path), wanted.fingerprint, TEXT, 5.0)


def test_without_an_agent_there_is_no_signature(path: Path) -> None:
    with pytest.raises(AgentFailure, match="SSH_AUTH_SOCK"):
        cosign("", SK.fingerprint, TEXT)
    with pytest.raises(AgentFailure, match="did not answer"):
        cosign(str(path), SK.fingerprint, TEXT)


def test_an_answer_that_is_something_else_is_told() -> None:
    with pytest.raises(AgentFailure):
        identities(b"\x05")
    with pytest.raises(AgentFailure):
        signature_in(b"", SECURITY_KEY)


@pytest.fixture
def real(path: Path) -> Iterator[Path]:
    if shutil.which("ssh-agent") is None or shutil.which("ssh-add") is None:
        pytest.skip("no OpenSSH here")
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()  # it listens
        yield path
        agent.terminate()


@pytest.mark.real
def test_the_agent_of_openssh_signs_with_a_plain_key(real: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    environ = {"SSH_AUTH_SOCK": str(real), "PATH": "/usr/bin:/bin"}
    subprocess.run(["ssh-add", "-q", str(key)], env=environ, check=True)
    listed = subprocess.run(["ssh-add", "-l"], env=environ, check=True, capture_output=True, text=True).stdout
    verifier, signature = cosign(str(real), listed.split()[1], TEXT)
    assert verifier.time_of(signature.signature, TEXT) == 0
    assert verifier.time_of(signature.signature, TEXT + "more\n") is None
