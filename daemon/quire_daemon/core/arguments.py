"""Common arguments of writing tools."""

from __future__ import annotations

from typing import Literal, Self

import msgspec
from msgspec.structs import replace

from quire_journal.model import Refusal


class WriteArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the arguments of every writing tool."""

    path: str = ""
    base: str | None = None  # version token of the version that the caller has seen
    on_stale: Literal["reject", "rebase"] | None = None  # None: as the settings say
    dry_run: bool = False
    safety_check: Literal["strict", "warn", "off"] | None = None  # None: the tool's default
    idempotency_key: str | None = None
    allow_uncaptured: bool = False

    def __post_init__(self) -> None:
        if not self.path:
            raise ValueError("Object missing required field `path`")

    def plainly(self) -> Self:
        """Return the same arguments under one name each, so that equal calls with an idempotency key compare equal."""
        return self

    @property
    def stated_base(self) -> str:
        """Version that the caller names as its base; "" for none. Raises `Refusal` if it names two."""
        return self.base or ""

    @property
    def stated_sha256(self) -> str:
        """The sha256 that the caller names as its base; "" for none."""
        return ""


class OfVersion(WriteArguments, frozen=True, kw_only=True):
    """Arguments of tools that take `expected_file_version` as another name of `base`."""

    expected_file_version: str | None = None

    def plainly(self) -> Self:
        return self if self.base else replace(self, base=self.expected_file_version, expected_file_version=None)

    @property
    def stated_base(self) -> str:
        """`base` or `expected_file_version`. Raises `Refusal` if they differ."""
        base, alias = self.base, self.expected_file_version
        if base and alias and base != alias:
            message = (
                f"`base` ({base}) and `expected_file_version` ({alias}) name different versions; give one of them."
            )
            raise Refusal("schema_invalid", message, "fix_arguments", argument="expected_file_version")
        return base or alias or ""


def checked_sha256(digits: str | None, name: str) -> str:
    """Return `digits`, or "" for None. Raises `ValueError`, naming the argument, if `digits` are not a sha256 in
    lower-case hex.
    """
    if digits and (len(digits) != 64 or not set(digits) <= set("0123456789abcdef")):
        raise ValueError(f"`{name}` is not a sha256: 64 lower-case hex digits")
    return digits or ""


def require_in_bounds(name: str, number: int, most: int) -> None:
    """Raise `Refusal` if `number` is below 1 or above `most`."""
    if not 1 <= number <= most:
        raise Refusal("schema_invalid", f"{name}: must be from 1 to {most}, not {number}.", argument=name)
