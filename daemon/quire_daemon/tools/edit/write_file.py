"""`write_file`: replace a whole file. The caller must name the version that it replaces, or state that the file is
new.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from quire_daemon.core import Decision, FileNow, OfVersion, Tool, World, checked_sha256
from quire_daemon.core.replies import WriteReply
from quire_daemon.tools import (
    CallerLines,
    lines_of,
    require_captured,
    require_file,
    require_fits,
    require_name,
    require_text,
)
from quire_daemon.tools.edit.basis import (
    Basis,
    basis_at,
    both_hashes,
    current_version,
    find_basis,
    knowing_nothing,
    on_stale,
    version_with,
)
from quire_daemon.tools.edit.engine import answering
from quire_daemon.tools.edit.result import Result, conclude
from quire_daemon.tools.edit.stale_replies import Stale, refuse_stale
from quire_journal.model import Refusal
from quire_journal.text import BOM, Splice, Text, diff, merge

WRITER_TYPE: Final = "write_file"
CONFLICT: Final = "write_conflict"

_EMPTY: Final = b""


class WriteParams(OfVersion, frozen=True, kw_only=True):
    content: str
    expectedSha256: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_sha256(self.expectedSha256, "expectedSha256")


def decide(params: WriteParams, world: World) -> Decision:
    """Write the file. Raises `Refusal` unless the caller names the version, or the sha256, that it replaces."""
    return answering(params, world, lambda now: _decide(params, now, world))


def _decide(params: WriteParams, now: FileNow, world: World) -> Decision:
    if now.kind == "missing":
        return _create(params, now, world)
    before = require_text(now, world)
    lost = tuple(require_captured(now, params.allow_uncaptured))
    code, basis = _through_the_gate(params, now, before, world)
    mine = in_the_style_of(basis.text, params.content.encode())
    changes = diff(basis.text, mine)
    lines = CallerLines(lines_of(changes), basis.version or now.version)
    if not code:  # and so the base is the current text
        return _conclude(params, now, world, before, mine, changes, basis, lines, lost, {})
    hashes = both_hashes(params.expectedSha256, before.blob.hex()) if params.expectedSha256 else {}
    stale = Stale("write_file", code, basis, now, lines.ranges, more=hashes)
    if on_stale(params, world) != "rebase":
        return refuse_stale(stale, world, params.dry_run)
    merged = merge(basis.text, mine, before)
    if merged.conflicts:
        more = {**(stale.more or {}), "conflict": merged.conflicts[0].as_shown()}
        return refuse_stale(replace(stale, more=more), world, params.dry_run)
    across = {"cross_version": True, "rebased_over": [v.seq for v in basis.others]}
    changes = diff(before, merged.text)
    return _conclude(params, now, world, before, merged.text, changes, basis, lines, lost, across)


def _create(params: WriteParams, now: FileNow, world: World) -> Decision:
    if params.expectedSha256:
        require_file(now, world)
    require_name(now)
    if params.stated_base:
        message = f"{now.path} does not exist; {params.stated_base[:80]!r} is to be replaced."
        raise Refusal(CONFLICT, message, "re-read_file", path=now.path, reason="missing", **current_version(now))
    nothing = Text.of(_EMPTY)
    basis = Basis(None, nothing, (), (), nothing, now.path, world.history)
    after = Text.of(params.content.encode())
    return _conclude(params, now, world, nothing, after, diff(nothing, after), basis, None, (), {"created": True})


def _through_the_gate(params: WriteParams, now: FileNow, before: Text, world: World) -> tuple[str, Basis]:
    """Return ("", base) if the file is unchanged since the caller's base, else (refusal code, base). Raises `Refusal`
    if the caller names no base, or an unknown one.
    """
    if params.expectedSha256 and params.expectedSha256 != before.blob.hex():
        version = version_with(world.history, now.path, params.expectedSha256)
        if version is not None:
            return "stale_file", _with_own(basis_at(version, now, before, world, "stale_file"))
        message = f"{now.path} does not hold the bytes that are to be replaced."
        hashes = both_hashes(params.expectedSha256, before.blob.hex())
        raise Refusal("stale_file", message, "re-read_file", path=now.path, **hashes, **current_version(now))
    if params.stated_base:
        basis = find_basis(params, now, before, world, CONFLICT)
        return (CONFLICT, _with_own(basis)) if basis.behind else ("", basis)
    if params.expectedSha256 and now.version is not None:
        return "", basis_at(now.version, now, before, world, CONFLICT)
    if params.expectedSha256:
        return "", knowing_nothing(now, before, world.history)
    # Only `base` is an argument of every tool that can be refused here.
    message = f"{now.path} exists; read it, and say as `base` which version is to be replaced."
    raise Refusal(CONFLICT, message, "re-read_file", path=now.path, reason="no_gate", **current_version(now))


def _with_own(basis: Basis) -> Basis:
    """Return the base with all later versions, also the caller's, as `others`: writing a whole file would also
    overwrite the caller's own concurrent edits.
    """
    if basis.version is None:
        return basis
    return replace(basis, others=tuple(basis.history.changed_since(basis.path, basis.version.seq, b"")))


def in_the_style_of(before: Text, content: bytes) -> Text:
    """Return `content` with the CRLF or CR line ends and the BOM of the old file. Content that contains CR, or replaces
    a file of mixed line ends, only gets the BOM.
    """
    ends = {"crlf": b"\r\n", "cr": b"\r"}.get(before.newline_style)
    if ends and b"\r" not in content:
        content = content.replace(b"\n", ends)
    if before.bom and not content.startswith(BOM):
        content = BOM + content
    return Text.of(content)


def _conclude(
    params: WriteParams,
    now: FileNow,
    world: World,
    before: Text,
    after: Text,
    splices: tuple[Splice, ...],
    basis: Basis,
    lines: CallerLines | None,
    warnings: tuple[dict[str, Any], ...],
    fields: dict[str, Any],
) -> Decision:
    require_fits(now.path, after, world)
    result = Result(
        tool="write_file",
        type=WRITER_TYPE,
        now=now,
        before=before,
        after=after,
        splices=splices,
        base=basis.text,
        shown=basis.still_shown,
        moved=basis.still_moved,
        operations=1,
        dry_run=params.dry_run,
        safety=params.safety_check or "warn",
        warnings=warnings,
        fields=fields,
        lines=lines,
    )
    return conclude(result, world)


WRITE_TOOL: Final[Tool[WriteParams]] = Tool(
    name="write_file",
    params=WriteParams,
    paths=lambda params: (params.path,),
    decide=decide,
    writes=True,
    reply=WriteReply,
)
