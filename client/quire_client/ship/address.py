"""The address of a far side, as `[ship] to` has it: a folder, or `s3://BUCKET/PREFIX?endpoint=URL`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from quire_client.ship.folder import FolderObjects
from quire_client.ship.objects import ObjectBlobs, Objects, ObjectSegments
from quire_client.ship.port import BlobStore, FarSideUnreachable, SegmentStore
from quire_client.ship.s3 import S3Objects


class FarSide(NamedTuple):
    """The stores at an address."""

    segments: SegmentStore
    blobs: BlobStore

    @classmethod
    def of(cls, objects: Objects) -> FarSide:
        return cls(ObjectSegments(objects), ObjectBlobs(objects))


def is_address(text: str) -> bool:
    """True for a store, or a folder that is there."""
    return urlsplit(text).scheme in ("s3", "file") or Path(text).expanduser().is_dir()


def open_far_side(address: str) -> FarSide:
    """Raises `FarSideUnreachable`."""
    parts = urlsplit(address)
    if parts.scheme == "s3":
        endpoint = parse_qs(parts.query).get("endpoint", [""])[0]
        return FarSide.of(S3Objects(parts.netloc, parts.path.strip("/"), endpoint))
    if parts.scheme not in ("", "file"):
        raise FarSideUnreachable(f"{address}: neither a folder nor s3://BUCKET/PREFIX")
    folder = Path(parts.path if parts.scheme else address).expanduser()
    if not folder.is_absolute():
        raise FarSideUnreachable(f"{address}: not an absolute path")
    return FarSide.of(FolderObjects(folder))
