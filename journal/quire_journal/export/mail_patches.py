"""Mail patches: one mail for each step, for `git am`; `git apply` and `patch` accept the diffs.

    quire export patches --from before-lunch | git am

Without `--from` the series begins with an empty tree. Mails name the files that git cannot hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from quire_journal import VERSION
from quire_journal.export import wording
from quire_journal.export.git_patch import Content, PatchStyle, file_patch
from quire_journal.export.source import Source
from quire_journal.export.steps import Step, git_mode, steps
from quire_journal.model import OUTSIDE
from quire_journal.views import Version

MAIL: Final = PatchStyle(mail=True)


def export(source: Source, by: str) -> Iterator[bytes]:
    """Yield the mails, except for the tree before the range."""
    number = 0
    for step in steps(source, by):
        if step is None or step.last <= source.stretch.after:
            yield b""
            continue
        missing = wording.left_out(step, source)
        diffs = list(file_patches(step, source))
        if not diffs:
            yield b""
            continue
        number += 1
        yield _head(step, source, number, missing)
        yield from diffs
        yield f"-- \nquire {VERSION}\n\n".encode()


def file_patches(step: Step, source: Source) -> Iterator[bytes]:
    """Yield the diffs of a step, removals first, as a folder may replace a file."""
    moves = wording.moved(step)
    by_path = {change.path: change for change in step.changes}
    old_of = {path: content(old, by_path[old].before, source) for path, old in moves.items()}
    gone_with_a_move = {old for path, old in moves.items() if content(path, by_path[path].after, source)}
    for change in sorted(step.changes, key=lambda change: change.after is not None):
        new = content(change.path, change.after, source)
        if change.path in gone_with_a_move:
            continue
        if change.path in moves and new is not None and old_of[change.path] is not None:
            yield file_patch(change.path, old_of[change.path], new, moves[change.path], MAIL)
        else:
            patch = file_patch(change.path, content(change.path, change.before, source), new, style=MAIL)
            if patch:
                yield patch


def content(path: str, version: Version | None, source: Source) -> Content | None:
    """Return a version as git would store it; None for bytes, paths or kinds that git cannot store, and for missing
    bytes.
    """
    mode = git_mode(version)
    if version is None or not mode or not wording.fits_git(path) or source.missing(version):
        return None
    return Content(mode, source.bytes_of(version.blob))


def _head(step: Step, source: Source, number: int, missing: list[tuple[str, str]]) -> bytes:
    from email.utils import format_datetime  # imported here: it would add 7 ms to each start of a daemon

    author = wording.identity(source, step.writers[0] if step.writers else OUTSIDE)
    when = format_datetime(datetime.fromtimestamp(step.at_ns // 10**9, UTC))
    lines = [
        f"From {step.last:040x} Mon Sep 17 00:00:00 2001",
        f"From: {author}",
        f"Date: {when}",
        f"Subject: [PATCH {number:04}] {wording.subject(step)}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
        "",
        *wording.body(step, source, missing),
        "---",
        "",
    ]
    return "\n".join(lines).encode("utf-8", "replace") + b"\n"
