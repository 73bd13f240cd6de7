"""All settings as one immutable struct, read from `.quire.toml` in the workspace and the user's
`$XDG_CONFIG_HOME/quire/config.toml`.

Agents can write the workspace's file, so it can only restrict and tune. The daemon does not start with an invalid file,
because the file may name secrets. If a file becomes invalid later, the last valid settings stay in force, and `status`
reports `degraded`.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from quire_daemon.config.errors import not_fitting, not_toml, wrong_at
from quire_journal.maintenance import retention as keeping
from quire_journal.model import LONGEST_GUESS, path_map


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all sections. An unknown key is an error, so that a misspelt key is noticed."""


class Edit(Strict, frozen=True):
    """`[edit]`: settings of every tool that writes files."""

    on_stale: str = (
        "reject"  # edit made on an old version of the file; "rebase": carried over, unless others changed its lines
    )
    busy_wait_ms: int = 250  # wait for a file that another program holds open for writing


class EditDialect(Strict, frozen=True):
    """`[dialects.edit]`: settings of the `edit` tool, which names lines by their hash."""

    low_entropy: str = (
        "reject"  # anchor on a blank line or bracket; "allow_unique": accepted if the file has one such line
    )
    range_ends: str = "unique"  # each end of a range names one line by itself; "nearest": one end selects the other
    range_order: str = "swap"  # range whose end comes before its start; "strict": refused
    file_path_until: str = (
        ""  # date until which `file_path` is accepted for `path`; "": four weeks from the first event
    )


class HashlineDialect(Strict, frozen=True):
    """`[dialects.hashline_edit]`: settings of the `hashline_edit` tool."""

    allow_replace_text: bool = False  # its third variant, which names a text instead of lines


class Dialects(Strict, frozen=True):
    """`[dialects]`: settings of single edit tools."""

    edit: EditDialect = EditDialect()
    hashline_edit: HashlineDialect = HashlineDialect()


class Safety(Strict, frozen=True):
    """`[safety]`: treatment of an edit that looks wrong: "reject" it, "warn" in the reply, or "off". With "" the
    request's `safety_check` decides.
    """

    unbalanced: str = ""  # "reject", "warn", "off"
    syntax: str = ""
    duplicate_line: str = ""


class Policy(Strict, frozen=True):
    """`[policy]`: which files tools may read and write."""

    forbidden_globs: tuple[str, ...] = ()
    allow_absolute_paths: bool = True


class CaptureSettings(Strict, frozen=True):
    """`[capture]`: how much the journal keeps of changes that other programs make."""

    ignore: tuple[str, ...] = ()  # patterns in .gitignore syntax, in addition to .gitignore and .quireignore
    secret_globs: tuple[str, ...] = (".env", ".env.*", "*.pem", "*.key", "id_rsa*", "id_ed25519*", "*.p12", "*.pfx")
    scan_secrets: bool = True  # a file with a key or token of a known form is recorded by hash only
    max_bytes: int = 64 * 1024 * 1024  # larger files are recorded by hash only
    scan_minutes: float = 5.0  # minutes between full comparisons of disk and journal


class Limits(Strict, frozen=True):
    """`[limits]`: maximum sizes and times of a request."""

    edit_bytes: int = 8 * 1024 * 1024  # larger files are refused by tools that edit text
    edit_lines: int = 250_000  # as are files with more lines
    reply_bytes: int = 256 * 1024  # bytes of file text in one reply of `read_file`
    regex_ms: int = 2000  # milliseconds that one pattern of `regex_replace` or `purge` may run


class Journal(Strict, frozen=True):
    """`[journal]`: how safely records are written to disk."""

    # "strict": folders are synced, too, before an edit is answered. The workspace's file can make it stricter.
    durability: str = "normal"


class Retention(Strict, frozen=True):
    """`[retention]`: which old versions `quire gc` keeps, in the terms of restic. Only the user's own file may set it.

    Counts apply to each file: keep so many versions, or one for each of so many hours, days, and so on; -1 is
    unlimited. Newest versions, checkpoints, unfinished work, recently read versions and all records always stay. By
    default a file keeps its last hundred versions, all of the last 180 days, and one a day before that.
    """

    automatic: str = "off"  # when a gc runs by itself: "off" never; "over_quota"; "daily"
    keep_last: int = 100
    keep_within: str = "180d"
    hourly: int = 0
    daily: int = -1
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0
    thin_outside: str = "10s"  # of versions by unknown authors within this time of each other, only the last stays
    thin_after: str = "30d"  # age from which they are thinned so
    grace: str = "10s"  # wait between choosing and deleting; a version used meanwhile stays
    workspace_bytes: int = 8 << 30  # limit of this journal; replies warn from four fifths on; 0: no limit
    store_bytes: int = 32 << 30  # limit of all journals in the state folder; 0: no limit
    reserve_bytes: int = (
        16 << 20
    )  # disk space held back for all journals, released when the disk is full, so that a gc can run


class SigningSettings(Strict, frozen=True):
    """`[signing]`: signatures over the history, which reveal later changes. Only the user's own file may set it."""

    heads: bool = True  # sign every ten minutes with new records, at checkpoints, and when the daemon ends
    ssh_key: str = ""  # fingerprint of a key in the ssh-agent that signs as well ("SHA256:…"); "" none


class ShipSettings(Strict, frozen=True):
    """`[ship]`: continuous copy of the history to a remote store (`quire ship`). Only the user's own file may set
    it.
    """

    to: str = ""  # a folder, or s3://BUCKET/PREFIX?endpoint=URL; "" nowhere
    paths: tuple[str, ...] = ()  # globs of the files that are sent; none: all files
    deny: tuple[str, ...] = ()  # globs of files that are never sent
    bytes: str = "all"  # contents of versions, too; "none": only the records


class FamilySettings(Strict, frozen=True):
    """`[family]`: which checkouts on this machine tell each other about their changes."""

    name: str = ""  # checkouts with the same name form a family; "": checkouts of the same git repository


class Mcp(Strict, frozen=True):
    """`[mcp]`: which tools agents are offered over the Model Context Protocol."""

    tools: tuple[str, ...] | Literal["default", "all"] = "default"  # a list of names is offered in its order


class Hooks(Strict, frozen=True):
    """`[hooks]`: how `quire hook` answers an agent before its own editing tool writes. The workspace's file can only
    make these settings stricter.
    """

    stale: str = (
        "conflicts"  # denied if others changed its lines since the agent read them; "deny": any line; "tell": only told
    )
    leases: str = "deny"  # write to a file on which another holds an exclusive lease; or "tell"
    git: str = "ask"  # shell command that would discard uncommitted work of others; or "deny", "off"
    unreachable: str = "allow"  # write while no daemon answers; or "deny". The hook itself reads this setting
    prompts: str = "text"  # what is kept of each prompt: its beginning; "hash": a hash for comparison; "off": nothing


class Watch(Strict, frozen=True):
    """`[watch]`: which kernel facilities the daemon uses to trace writers. Only the user's own file may set it."""

    trace: str = "auto"  # ask the kernel which process writes (fanotify), if permitted; or "off"


class Paths(Strict, frozen=True):
    """`[paths]`: translation of paths for agents that run in a container. Only the user's own file may set it."""

    map: dict[str, str] = {}  # folder as callers in a container see it → the same folder on this machine

    @property
    def folders(self) -> dict[str, str]:
        return path_map.checked(self.map.items()) if self.map else {}


class SpoolSettings(Strict, frozen=True):
    """`[spool]`: requests and replies as files, for sandboxes that block sockets. Only the user's own file may
    set it.
    """

    enabled: bool = False  # in the folder `.quire/spool` of the workspace


class Settings(Strict, frozen=True):
    """All settings, one attribute per section of the settings files."""

    edit: Edit = Edit()
    dialects: Dialects = Dialects()
    safety: Safety = Safety()
    policy: Policy = Policy()
    capture: CaptureSettings = CaptureSettings()
    limits: Limits = Limits()
    journal: Journal = Journal()
    retention: Retention = Retention()
    signing: SigningSettings = SigningSettings()
    ship: ShipSettings = ShipSettings()
    family: FamilySettings = FamilySettings()
    mcp: Mcp = Mcp()
    hooks: Hooks = Hooks()
    watch: Watch = Watch()
    paths: Paths = Paths()
    spool: SpoolSettings = SpoolSettings()


USER_FILE = "config.toml"
WORKSPACE_FILE = ".quire.toml"

_USERS_OWN = (
    "signing",  # an agent must not switch the signing off
    "ship",  # nor send the history elsewhere, nor hide from whoever audits
    "retention",  # agents can write the workspace's file, and dropped bytes are lost
    "paths",
    "spool",  # a way in
    "watch",  # an agent must not hide who writes
)
_NARROWING_ONLY: tuple[tuple[str, str], ...] = (
    ("policy", "forbidden_globs"),  # may add, never remove
    ("capture", "secret_globs"),
)
_LIMITS: tuple[tuple[str, str], ...] = (
    ("capture", "max_bytes"),
    ("limits", "edit_bytes"),
    ("limits", "edit_lines"),
    ("limits", "reply_bytes"),
    ("limits", "regex_ms"),
)
_FROM_LENIENT_TO_STRICT: dict[tuple[str, str], tuple[str, ...]] = {
    ("hooks", "stale"): ("tell", "conflicts", "deny"),
    ("hooks", "prompts"): ("text", "hash", "off"),
    ("hooks", "leases"): ("tell", "deny"),
    ("hooks", "git"): ("off", "ask", "deny"),
    ("hooks", "unreachable"): ("allow", "deny"),
    ("journal", "durability"): ("normal", "strict"),  # an agent must not weaken the promise to others
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "edit.on_stale": ("reject", "rebase"),
    "dialects.edit.low_entropy": ("reject", "allow_unique"),
    "dialects.edit.range_ends": ("unique", "nearest"),
    "dialects.edit.range_order": ("swap", "strict"),
    "safety.unbalanced": ("", "reject", "warn", "off"),
    "safety.syntax": ("", "reject", "warn", "off"),
    "safety.duplicate_line": ("", "reject", "warn", "off"),
    "watch.trace": ("auto", "off"),
    "ship.bytes": ("all", "none"),
    "retention.automatic": ("off", "over_quota", "daily"),
    **{".".join(key): choices for key, choices in _FROM_LENIENT_TO_STRICT.items()},
}
_RANGES: dict[str, tuple[float, float]] = {
    "capture.max_bytes": (0, math.inf),
    "capture.scan_minutes": (0.1, math.inf),  # a comparison reads the whole tree
    "limits.edit_bytes": (1, math.inf),
    "limits.edit_lines": (1, math.inf),
    "limits.reply_bytes": (1, math.inf),
    "limits.regex_ms": (1, 3_600_000),  # limit of kernel timers
    "retention.workspace_bytes": (0, math.inf),
    "retention.store_bytes": (0, math.inf),
    "retention.reserve_bytes": (0, math.inf),
}


_FROM_THE_START: tuple[tuple[str, str], ...] = (
    ("family", "name"),
    ("retention", "reserve_bytes"),
    ("watch", "trace"),
)


def in_force(read: Settings, begun: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings in force: those `read`, but with the daemon's first values (`begun`) where a change needs a
    restart. Also returns a sentence about each such change.
    """
    waiting: list[str] = []
    for section, name in _FROM_THE_START:
        old, new = getattr(getattr(begun, section), name), getattr(getattr(read, section), name)
        if old != new:
            waiting.append(
                f"{name} = {_as_toml(new)} waits for the next start of the daemon; until then it is {_as_toml(old)}"
            )
            part = msgspec.structs.replace(getattr(read, section), **{name: old})
            read = msgspec.structs.replace(read, **{section: part})
    return read, tuple(waiting)


def _as_toml(value: str | int) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def load(
    workspace_text: str | None,
    user_text: str | None,
    workspace_file: str = WORKSPACE_FILE,
    user_file: str = USER_FILE,
) -> Settings:
    """Combine the texts of both files; None: missing. Raises `BadSettings`.

    The workspace's file cannot permit more than the user's: its globs are added, its limits can only be lower, and a
    ban on absolute paths stays.
    """
    user = _parse(user_text, user_file)
    workspace = _parse(workspace_text, workspace_file)
    for section in _USERS_OWN:
        if section in workspace:
            where = f"[{section}] can only stand in the user's own {user_file}"
            raise wrong_at(workspace_file, workspace_text, section, where)
    base = _convert(user, user_file, user_text)
    _convert(workspace, workspace_file, workspace_text)
    return _convert(_narrow(user, workspace, base), workspace_file, workspace_text)


def _parse(text: str | None, name: str) -> dict[str, Any]:
    if not text:
        return {}
    import tomllib  # most workspaces have no settings of their own

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers too long and tables too deep for the parser
        raise not_toml(name, text, error) from None


def _convert(table: dict[str, Any], name: str, text: str | None) -> Settings:
    try:
        settings = msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        raise not_fitting(name, text, Settings, error) from None
    for dotted, choices in _CHOICES.items():
        value = _value(settings, dotted)
        if value not in choices:
            wanted = ", ".join(repr(c) for c in choices)
            raise wrong_at(name, text, dotted, f"{dotted} is {value!r}; it can be {wanted}")
    for dotted, (least, most) in _RANGES.items():
        value = _value(settings, dotted)
        if not (least <= value <= most and value < math.inf):  # not NaN, which TOML can express
            wanted = f"from {least} on" if most == math.inf else f"from {least} to {most}"
            raise wrong_at(name, text, dotted, f"{dotted} is {value}; it must be a number {wanted}")
    if settings.signing.ssh_key and not settings.signing.ssh_key.startswith("SHA256:"):
        where = "signing.ssh_key must be the fingerprint of a key, as `ssh-add -l` prints it (SHA256:…)"
        raise wrong_at(name, text, "signing.ssh_key", where)
    for tool in settings.mcp.tools if isinstance(settings.mcp.tools, tuple) else ():
        if not _is_offerable(tool):
            raise wrong_at(name, text, "mcp.tools", f"mcp.tools cannot hold {tool[:LONGEST_GUESS]!r}")
    for glob in settings.policy.forbidden_globs:
        _check_glob("policy.forbidden_globs", glob, name, text)
    for key, globs in (("ship.paths", settings.ship.paths), ("ship.deny", settings.ship.deny)):
        for glob in globs:
            _check_glob(key, glob, name, text)
    try:
        _ = settings.paths.folders
    except path_map.BadMap as error:
        raise wrong_at(name, text, "paths.map", f"paths.map: {error}") from None
    try:
        policy_of(settings.retention)
        keeping.duration_ns(settings.retention.grace)
    except ValueError as error:
        raise wrong_at(name, text, "retention", f"retention: {error}") from None
    return settings


def _value(settings: Settings, dotted: str) -> Any:
    value: Any = settings
    for part in dotted.split("."):
        value = getattr(value, part)
    return value


def _is_offerable(tool: str) -> bool:
    from quire_daemon.manuals import page  # hardly any settings name tools

    try:
        return page(tool).offerable
    except KeyError:
        return False


def _check_glob(key: str, glob: str, name: str, text: str | None) -> None:
    if not glob or glob.startswith("!"):
        return  # no effect, and grants nothing
    from quire_daemon.config.globs import matches  # hardly any settings forbid something

    try:
        matches(glob)
    except ValueError as error:
        raise wrong_at(name, text, key, f"{key}: {glob!r}: {error}") from None


def policy_of(retention: Retention) -> keeping.Policy:
    """Return `[retention]` as a policy for garbage collection. Raises `ValueError` for an invalid duration."""
    return keeping.Policy(
        retention.keep_last,
        keeping.duration_ns(retention.keep_within),
        retention.hourly,
        retention.daily,
        retention.weekly,
        retention.monthly,
        retention.yearly,
        keeping.duration_ns(retention.thin_outside),
        keeping.duration_ns(retention.thin_after),
    )


def _laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    both = {key: (below.get(key), value) for key, value in above.items()}
    return below | {
        key: _laid_over(was, value) if isinstance(was, dict) and isinstance(value, dict) else value
        for key, (was, value) in both.items()
    }


def _narrow(user: dict[str, Any], workspace: dict[str, Any], base: Settings) -> dict[str, Any]:
    merged = _laid_over(user, workspace)
    for section, key in _NARROWING_ONLY:
        mine = workspace.get(section, {}).get(key)
        if mine is not None:
            merged[section] = {**merged[section], key: [*getattr(getattr(base, section), key), *mine]}
    if not base.policy.allow_absolute_paths:
        merged.setdefault("policy", {})["allow_absolute_paths"] = False
    for (section, key), choices in _FROM_LENIENT_TO_STRICT.items():
        if workspace.get(section, {}).get(key) is not None:
            mine, given = workspace[section][key], getattr(getattr(base, section), key)
            merged[section] = {**merged[section], key: max(mine, given, key=choices.index)}
    if base.capture.scan_secrets:
        merged.setdefault("capture", {})["scan_secrets"] = True
    for section, key in _LIMITS:
        mine = workspace.get(section, {}).get(key)
        if mine is not None:
            merged[section] = {**merged[section], key: min(mine, getattr(getattr(base, section), key))}
    return merged
