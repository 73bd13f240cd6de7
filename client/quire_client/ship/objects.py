"""The segment store and the blob store over an object store: a folder, an S3 bucket, or memory.

A segment is a signed group of records. Keys: `segments/JOURNAL/000000000007` and `blobs/ab/ab34…`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

_SEGMENTS: Final = "segments"
_DIGITS: Final = 12


class Objects(Protocol):
    """A store of byte strings by key. All methods raise FarSideUnreachable if the store fails."""

    def create(self, key: str, data: bytes) -> bool:
        """Store an object durably. Returns False, and changes nothing, if the key exists."""

    def create_all(self, objects: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        """Store each object whose key does not exist; return what `get` then returns for each key."""

    def get(self, key: str) -> bytes | None:
        """Return the object's bytes, or None if the key does not exist."""

    def keys(self, prefix: str, after: str = "") -> Iterator[str]:
        """Return the keys that begin with `prefix` and are greater than `after`, in ascending order."""

    def folders(self, prefix: str) -> set[str]:
        """Return the words between `prefix`, which ends with a slash, and the next slash, of all keys with both."""

    def close(self) -> None:
        """Close the connections; the store cannot be used afterwards."""


def create_each(store: Objects, objects: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
    """Store each object by a call of its own, for a store without a faster `Objects.create_all`."""
    there: dict[str, bytes | None] = {}
    for key, data in objects.items():
        store.create(key, data)
        there[key] = store.get(key)
    return there


class ObjectSegments:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def put(self, journal: str, number: int, data: bytes) -> bool:
        return self._objects.create(_key(journal, number), data)

    def get(self, journal: str, number: int) -> bytes | None:
        return self._objects.get(_key(journal, number))

    def numbers(self, journal: str, after: int = 0) -> Iterator[int]:
        prefix = f"{_SEGMENTS}/{journal}/"
        for key in self._objects.keys(prefix, _key(journal, after)):
            name = key[len(prefix) :]
            if len(name) == _DIGITS and name.isascii() and name.isdigit():
                yield int(name)

    def journals(self) -> list[str]:
        return sorted(self._objects.folders(f"{_SEGMENTS}/"))


class ObjectBlobs:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def put_all(self, contents: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        there = self._objects.create_all({_blob_key(name): data for name, data in contents.items()})
        return {name: there[_blob_key(name)] for name in contents}

    def get(self, name: str) -> bytes | None:
        return self._objects.get(_blob_key(name))


def _key(journal: str, number: int) -> str:
    return f"{_SEGMENTS}/{journal}/{number:0{_DIGITS}}"


def _blob_key(name: str) -> str:
    return f"blobs/{name[:2]}/{name}"
