"""Settings: one frozen struct, read from `.quire.toml` in the workspace and from the user's own folder.

The workspace's file can narrow rights and tune, never widen them (agents can write it); what widens stands in
`$XDG_CONFIG_HOME/quire/config.toml`. A bad file at start is an error with line and key; at reload the last good
settings stay and `status` says `degraded`.
"""

from __future__ import annotations

import msgspec


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base: an unknown key is an error, not a typo that does nothing."""


class Edit(Strict, frozen=True):
    """`[edit]`: every writing tool."""

    on_stale: str = "reject"  # or "rebase"
    busy_wait_ms: int = 250  # how long a call waits for a file that another program holds open for writing


class EditDialect(Strict, frozen=True):
    """`[dialects.edit]`."""

    low_entropy: str = "reject"  # or "allow_unique"
    range_ends: str = "unique"  # or "nearest"
    range_order: str = "swap"  # or "strict"
    file_path_until: str = ""  # date; "" = four weeks from the journal's first event


class HashlineDialect(Strict, frozen=True):
    """`[dialects.hashline_edit]`."""

    allow_replace_text: bool = False


class Dialects(Strict, frozen=True):
    """`[dialects]`."""

    edit: EditDialect = EditDialect()
    hashline_edit: HashlineDialect = HashlineDialect()


class Safety(Strict, frozen=True):
    """`[safety]`: what each kind of suspicion does. "" = what the call's `safety_check` says."""

    unbalanced: str = ""  # "reject", "warn", "off"
    syntax: str = ""
    duplicate_line: str = ""


class Policy(Strict, frozen=True):
    """`[policy]`: what tools may touch."""

    forbidden_globs: tuple[str, ...] = ()
    allow_absolute_paths: bool = True


class Capture(Strict, frozen=True):
    """`[capture]`: what the journal keeps of outside writes."""

    ignore: tuple[str, ...] = ()  # gitignore patterns, beside .gitignore and .quireignore
    secret_globs: tuple[str, ...] = (".env", ".env.*", "*.pem", "*.key", "id_rsa*", "id_ed25519*", "*.p12", "*.pfx")
    max_bytes: int = 64 * 1024 * 1024  # larger files are recorded by hash only
    scan_minutes: float = 5.0  # a full comparison of disk and journal, whatever the watcher said


class Limits(Strict, frozen=True):
    """`[limits]`."""

    edit_bytes: int = 8 * 1024 * 1024  # text tools refuse larger files
    reply_bytes: int = 256 * 1024  # of lines in one `read_file`


class Journal(Strict, frozen=True):
    """`[journal]`."""

    durability: str = "normal"  # "strict": folder fsync too; "fast": the journal is synced on a timer


class Settings(Strict, frozen=True):
    """Everything that can be set."""

    edit: Edit = Edit()
    dialects: Dialects = Dialects()
    safety: Safety = Safety()
    policy: Policy = Policy()
    capture: Capture = Capture()
    limits: Limits = Limits()
    journal: Journal = Journal()
