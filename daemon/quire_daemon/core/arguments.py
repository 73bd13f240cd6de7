"""The arguments that every writing tool has, and how a caller's base and path are found among them."""

from __future__ import annotations

from typing import Literal, Self

import msgspec
from msgspec.structs import replace

from quire_journal.model import Refusal


class WriteArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the arguments of every tool that writes. A dialect adds its own."""

    path: str = ""
    base: str | None = None  # a version token: what the caller's view of the file is
    on_stale: Literal["reject", "rebase"] | None = None  # None: as the settings say
    dry_run: bool = False
    safety_check: Literal["strict", "warn", "off"] | None = None  # None: the tool's default
    idempotency_key: str | None = None
    allow_uncaptured: bool = False

    def __post_init__(self) -> None:
        if not self.path:
            raise ValueError("Object missing required field `path`")

    def plainly(self) -> Self:
        """The same call with each thing said in one way: what an idempotency key stands for."""
        return self

    @property
    def stated_base(self) -> str:
        """The version that the caller names as its base; "" when it names none.

        Raises `Refusal` when it names two.
        """
        return self.base or ""

    @property
    def stated_sha256(self) -> str:
        """The sha256 that the caller names as its base; "" when it names none."""
        return ""


class OfVersion(WriteArguments, frozen=True, kw_only=True):
    """Of the tools that call `base` also `expected_file_version`, as the seeds do."""

    expected_file_version: str | None = None

    def plainly(self) -> Self:
        """With `base`, whichever name it used."""
        return self if self.base else replace(self, base=self.expected_file_version, expected_file_version=None)

    @property
    def stated_base(self) -> str:
        """`base` or `expected_file_version`. Raises `Refusal` when they differ."""
        base, alias = self.base, self.expected_file_version
        if base and alias and base != alias:
            message = (
                f"`base` ({base}) and `expected_file_version` ({alias}) name different versions; give one of them."
            )
            raise Refusal("schema_invalid", message, "fix_arguments", argument="expected_file_version")
        return base or alias or ""


def checked_sha256(digits: str | None, name: str) -> str:
    """`digits`, which must be a sha256 in lower-case hex when given. Raises `ValueError` that names the argument."""
    if digits and (len(digits) != 64 or not set(digits) <= set("0123456789abcdef")):
        raise ValueError(f"`{name}` is not a sha256: 64 lower-case hex digits")
    return digits or ""


def require_in_bounds(name: str, number: int, most: int) -> None:
    """Refuse a number of things that is asked for, if it is none, or more than `most`."""
    if not 1 <= number <= most:
        raise Refusal("schema_invalid", f"{name}: must be from 1 to {most}, not {number}.", argument=name)
