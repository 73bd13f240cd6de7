"""The arguments that the tools of seed 001 share: they call the file `file`."""

from __future__ import annotations

from quire_daemon.arguments import Writing


class NamedFile(Writing, frozen=True, kw_only=True):
    """Base of their arguments: `file` means what `path` means."""

    file: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.file and self.path and self.file != self.path:
            raise ValueError("`file` and `path` name different files; give one of them")

    @property
    def target(self) -> str:
        """`path` or `file`."""
        return self.path or self.file
