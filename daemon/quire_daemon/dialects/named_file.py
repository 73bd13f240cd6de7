"""The arguments that the tools of seed 001 share: they call the file `file`."""

from __future__ import annotations

from msgspec.structs import force_setattr

from quire_daemon.core import WriteArguments


class NamedFile(WriteArguments, frozen=True, kw_only=True):
    """Base of their arguments: `file` means what `path` means, and becomes it, so that both are one call."""

    file: str = ""

    def __post_init__(self) -> None:
        if self.file and self.path and self.file != self.path:
            raise ValueError("`file` and `path` name different files; give one of them")
        force_setattr(self, "path", self.path or self.file)
        force_setattr(self, "file", "")
        super().__post_init__()
