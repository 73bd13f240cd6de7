"""Objects as messages of a JetStream stream, one subject each, whose first message the server keeps.

The stream `QUIRE-TEAM` holds the subjects `quire.TEAM.segments.JOURNAL.NUMBER`, `quire.TEAM.blobs.AB.NAME` and
`quire.TEAM.parts.SHA256.N`. A publish that expects 0 as its subject's last sequence fails if the subject has a message,
so it can be repeated after a lost reply. An object larger than a message is stored in parts under its sha256; its own
message, which names them, comes last. A message never changes, so any replica can return it; only the leader can say
that it is missing.
"""

from __future__ import annotations

import hashlib
import json
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from quire_client.ship.nats_connection import HubAddress, NatsConnection
from quire_client.ship.port import FarSideUnreachable

PART_BYTES: Final = 512 * 1024

_ROOM: Final = 4096
"""Bytes of a message reserved for headers and subject."""

_PARTS, _SHA256 = "Quire-Parts", "Quire-Sha256"
_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"

_WRONG_LAST_SEQUENCE: Final = (10071, 10164)
"""Error codes of the server; the second: of three nodes, while they store the other message."""

_NO_MESSAGE: Final = 10037
_NO_STREAM: Final = 10059

PATIENCE_S: Final = 60.0
_LANDS_S: Final = 3.0
"""Seconds within which a message that made a second publish fail can be read."""


def stream_of(team: str) -> str:
    return f"QUIRE-{team}"


def subjects_of(team: str) -> tuple[str, ...]:
    """Return the subjects of the team's stream."""
    return tuple(f"quire.{team}.{kind}.>" for kind in ("segments", "blobs", "parts"))


class StoredMessage(NamedTuple):
    """The last message of a subject."""

    seq: int  # in its stream
    data: bytes
    headers: Mapping[str, str]


class Stream:
    """A stream whose subjects hold one message each. All calls raise `FarSideUnreachable`."""

    def __init__(self, connection: NatsConnection, name: str) -> None:
        self._connection, self._name = connection, name
        self._js = connection.nats.jetstream()

    def publish(self, subject: str, data: bytes, last: int = 0, headers: Mapping[str, str] | None = None) -> int | None:
        """Publish if `last` is the sequence of the subject's last message (0: none). Return the new message's sequence,
        or None if the subject has another last message.
        """
        return self._connection.wait(self._published(subject, data, last, headers or {}))

    async def _published(self, subject: str, data: bytes, last: int, headers: Mapping[str, str]) -> int | None:
        from nats.js.errors import APIError

        told = {_EXPECTED: str(last), **headers}
        try:
            return (await self._js.publish(subject, data, stream=self._name, headers=told)).seq
        except APIError as error:
            if error.err_code in _WRONG_LAST_SEQUENCE:
                return None
            raise

    def publish_new(self, messages: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Publish on each subject that has no message; return subject → data as a replica then has it."""
        return self._connection.wait(self._published_new(messages), PATIENCE_S)

    async def _published_new(self, messages: Mapping[str, bytes]) -> Mapping[str, bytes]:
        for subject, data in messages.items():  # several at a time take longer where the server syncs each
            await self._published(subject, data, 0, {})
        return await self._read(list(messages))

    async def _read(self, subjects: Sequence[str]) -> dict[str, bytes]:
        if not subjects:
            return {}
        question = json.dumps({"multi_last": subjects}).encode()
        there = await self._connection.answers(f"$JS.API.DIRECT.GET.{self._name}", question)
        return {(message.headers or {})["Nats-Subject"]: message.data for message in there}

    def last(self, subject: str) -> StoredMessage | None:
        """Return the last message of a subject; None if it has none."""
        message = self._asked("MSG.GET", last_by_subj=subject).get("message")
        if message is None:
            return None
        lines = b64decode(message.get("hdrs") or "").decode().split("\r\n")[1:]
        headers = dict(line.split(": ", 1) for line in lines if ": " in line)
        return StoredMessage(int(message["seq"]), b64decode(message.get("data") or ""), headers)

    def first(self, subject: str) -> StoredMessage | None:
        """Return the only message of a subject, from any replica, else from the leader; None if there is none."""
        try:
            message = self._connection.request(f"$JS.API.DIRECT.GET.{self._name}.{subject}", b"")
        except FarSideUnreachable:
            return self.last(subject)
        headers = message.headers or {}
        if "Nats-Sequence" not in headers:
            return self.last(subject)
        return StoredMessage(int(headers["Nats-Sequence"]), message.data, headers)

    def subjects(self, wanted: str) -> list[str]:
        """Return the subjects that match `wanted` and have a message, unordered."""
        found: list[str] = []
        while True:
            answer = self._asked("INFO", subjects_filter=wanted, offset=len(found))
            page = (answer.get("state") or {}).get("subjects") or {}
            found.extend(page)
            if not page or len(found) >= int(answer.get("total") or 0):
                return found

    def info(self) -> dict[str, Any]:
        """Return the server's report on the stream: state, configuration and cluster."""
        return self._asked("INFO")

    def _asked(self, api: str, **question: Any) -> dict[str, Any]:
        said = self._connection.api(f"$JS.API.STREAM.{api}.{self._name}", json.dumps(question).encode())
        answer: dict[str, Any] = json.loads(said)
        if error := answer.get("error"):
            if error.get("err_code") == _NO_MESSAGE:
                return {}
            address, why = self._connection.address, error.get("description")
            if error.get("err_code") == _NO_STREAM:
                why = f"there is no team {address.team}; quire hub join makes it"
            raise FarSideUnreachable(f"{address}: {why}")
        return answer


class JetStreamObjects:
    """`Objects` of a team, in its stream."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        team = connection.address.team
        self._stream, self._prefix = Stream(connection, stream_of(team)), f"quire.{team}."
        self._part_bytes = min(PART_BYTES, connection.largest_message - _ROOM)

    def create(self, key: str, data: bytes) -> bool:
        subject = self._prefix + _subject(key)
        headers: dict[str, str] = {}
        if len(data) > self._part_bytes:
            if self._stream.last(subject) is not None:
                return False
            name = hashlib.sha256(data).hexdigest()
            parts = [data[at : at + self._part_bytes] for at in range(0, len(data), self._part_bytes)]
            for number, part in enumerate(parts):
                self._stream.publish(self._part(name, number), part)
            headers, data = {_PARTS: str(len(parts)), _SHA256: name}, b""
        if self._stream.publish(subject, data, headers=headers) is not None:
            return True
        self._await(subject)
        return False

    def create_all(self, objects: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        small = {key: data for key, data in objects.items() if len(data) <= self._part_bytes}
        for key in objects.keys() - small.keys():
            self.create(key, objects[key])
        there = self._stream.publish_new({self._prefix + _subject(key): data for key, data in small.items()})
        found = {key: there.get(self._prefix + _subject(key)) for key in small}
        return {key: found[key] if found.get(key) is not None else self.get(key) for key in objects}

    def get(self, key: str) -> bytes | None:
        found = self._stream.first(self._prefix + _subject(key))
        if found is None or _PARTS not in found.headers:
            return found.data if found is not None else None
        name = found.headers[_SHA256]
        parts = [self._stream.first(self._part(name, number)) for number in range(int(found.headers[_PARTS]))]
        whole = b"".join(part.data for part in parts if part is not None)
        if hashlib.sha256(whole).hexdigest() != name:
            raise FarSideUnreachable(f"{self._connection.address}: a part of {key} is missing or was changed")
        return whole

    def keys(self, prefix: str, after: str = "") -> Iterator[str]:
        wanted = f"{self._prefix}{prefix.rstrip('/').replace('/', '.')}.>"
        keys = (_key(subject.removeprefix(self._prefix)) for subject in self._stream.subjects(wanted))
        yield from sorted(key for key in keys if key.startswith(prefix) and key > after)

    def folders(self, prefix: str) -> set[str]:
        return {key[len(prefix) :].partition("/")[0] for key in self.keys(prefix)}

    def close(self) -> None:
        self._connection.close()

    def _await(self, subject: str) -> None:
        """Wait until a message that another caller publishes can be read. Raises `FarSideUnreachable` after `_LANDS_S`
        seconds without it.
        """
        until = time.monotonic() + _LANDS_S
        while self._stream.last(subject) is None:
            if time.monotonic() > until:
                raise FarSideUnreachable(f"{self._connection.address}: {subject} is neither free nor taken")
            time.sleep(_LANDS_S / 100)

    def _part(self, name: str, number: int) -> str:
        return f"{self._prefix}parts.{name}.{number}"


def open_objects(address: str) -> JetStreamObjects:
    """Connect to the hub at `address`, and return the team's store of objects there. Raises `FarSideUnreachable`."""
    return JetStreamObjects(NatsConnection(HubAddress.parse(address)))


def _subject(key: str) -> str:
    return key.replace("/", ".")


def _key(subject: str) -> str:
    """Return the key (`kind/journal/name`) of a NATS subject (`kind.journal.name`). A journal's name may have dots."""
    kind, _, rest = subject.partition(".")
    middle, _, last = rest.rpartition(".")
    return f"{kind}/{middle}/{last}"
