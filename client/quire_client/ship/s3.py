"""A remote store in a bucket of S3, or of a compatible service with conditional writes (`If-None-Match`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from quire_client.ship.port import FarSideUnreachable

_MISSING: Final = ("NoSuchKey", "404", "NotFound")
_TAKEN: Final = ("PreconditionFailed", "412")

_AT_ONCE: Final = 8


class S3Objects:
    def __init__(self, bucket: str, prefix: str = "", endpoint: str = "") -> None:
        """Connect with the AWS credentials and region of the environment.

        Raises FarSideUnreachable if boto3 is not installed or refuses the configuration.
        """
        try:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError as error:
            raise FarSideUnreachable("boto3 is not installed: pip install 'quire[ship]'") from error
        config = Config(
            connect_timeout=5, read_timeout=30, max_pool_connections=2 * _AT_ONCE, retries={"total_max_attempts": 2}
        )
        self._errors: tuple[type[Exception], ...] = (BotoCoreError, ClientError)
        try:
            self._s3: Any = boto3.client("s3", endpoint_url=endpoint or None, config=config)
        except self._errors as error:
            raise FarSideUnreachable(f"s3://{bucket}: {error}") from error
        self._bucket, self._prefix = bucket, f"{prefix}/" if prefix else ""

    def create(self, key: str, data: bytes) -> bool:
        try:
            self._s3.put_object(Bucket=self._bucket, Key=self._prefix + key, Body=data, IfNoneMatch="*")
        except self._errors as error:
            if _code(error) in _TAKEN:
                return False
            raise self._unreachable(error) from error
        return True

    def create_all(self, objects: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(self.create, objects, objects.values()))
            return dict(zip(objects, threads.map(self.get, objects), strict=True))

    def get(self, key: str) -> bytes | None:
        try:
            found: bytes = self._s3.get_object(Bucket=self._bucket, Key=self._prefix + key)["Body"].read()
        except self._errors as error:
            if _code(error) in _MISSING:
                return None
            raise self._unreachable(error) from error
        return found

    def keys(self, prefix: str, after: str = "") -> Iterator[str]:
        start = self._prefix + (after or prefix)
        while True:
            try:
                page = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix + prefix, StartAfter=start)
            except self._errors as error:
                raise self._unreachable(error) from error
            for entry in page.get("Contents") or ():
                start = str(entry["Key"])
                yield start[len(self._prefix) :]
            if not page.get("IsTruncated"):
                return

    def folders(self, prefix: str) -> set[str]:
        found: set[str] = set()
        whole = self._prefix + prefix
        more: dict[str, str] = {}
        while True:
            try:
                page = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=whole, Delimiter="/", **more)
            except self._errors as error:
                raise self._unreachable(error) from error
            found |= {str(one["Prefix"])[len(whole) : -1] for one in page.get("CommonPrefixes") or ()}
            if not page.get("IsTruncated"):
                return found
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def close(self) -> None:
        self._s3.close()

    def _unreachable(self, error: Exception) -> FarSideUnreachable:
        return FarSideUnreachable(f"s3://{self._bucket}: {error}")


def _code(error: Exception) -> str:
    response: Any = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))
