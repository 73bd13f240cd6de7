"""Opens the remote store that the setting `[ship] to` names: a folder, `s3://BUCKET/PREFIX?endpoint=URL`, or the
`nats://HOST:PORT/TEAM` of a hub.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from quire_client.ship import jetstream
from quire_client.ship.folder import FolderObjects
from quire_client.ship.nats_connection import SCHEMES, HubAddress
from quire_client.ship.objects import ObjectBlobs, Objects, ObjectSegments
from quire_client.ship.port import BlobStore, FarSideUnreachable, SegmentStore
from quire_client.ship.s3 import S3Objects


class FarSide(NamedTuple):
    """The two stores at one remote address: segments (sealed groups of records) and encrypted blobs."""

    segments: SegmentStore
    blobs: BlobStore
    close: Callable[[], None]  # gives back connections

    @classmethod
    def of(cls, objects: Objects) -> FarSide:
        return cls(ObjectSegments(objects), ObjectBlobs(objects), objects.close)


def is_address(text: str) -> bool:
    """Return True if `text` is a URL of a store that `open_far_side` knows, or the path of an existing folder."""
    return urlsplit(text).scheme in ("s3", "file", *SCHEMES) or Path(text).expanduser().is_dir()


def from_here(text: str) -> str:
    """Return the address `text`; a relative path of a folder is made absolute, from the current folder."""
    if not text or urlsplit(text).scheme:
        return text
    path = Path(text).expanduser()
    return str(path if path.is_absolute() else path.resolve())


def is_hub(address: str) -> bool:
    """Return True if `address` is a URL of NATS."""
    return urlsplit(address).scheme in SCHEMES


def without_password(address: str) -> str:
    """Return the address of the remote store without a password, for display."""
    return str(HubAddress.parse(address)) if is_hub(address) else address


def open_far_side(address: str) -> FarSide:
    """Open the remote store at `address`. Raises FarSideUnreachable for an invalid address, if boto3 or nats-py is
    missing, or if the hub does not answer.
    """
    parts = urlsplit(address)
    if parts.scheme == "s3":
        endpoint = parse_qs(parts.query).get("endpoint", [""])[0]
        return FarSide.of(S3Objects(parts.netloc, parts.path.strip("/"), endpoint))
    if is_hub(address):
        return FarSide.of(jetstream.open_objects(address))
    if parts.scheme not in ("", "file"):
        raise FarSideUnreachable(f"{address}: neither a folder nor s3://BUCKET/PREFIX nor nats://HOST/TEAM")
    folder = Path(parts.path if parts.scheme else address).expanduser()
    if not folder.is_absolute():
        raise FarSideUnreachable(f"{address}: not an absolute path")
    return FarSide.of(FolderObjects(folder))
