"""How the two sides of a merge say what they changed: one pair of texts can be lined up in many ways.

`git merge-file`, the judge, has its own. An agent that lines up repeated lines in another way asks for the same result
with other edits; so each side's edits come from another aligner, drawn for each case.
"""

from __future__ import annotations

import difflib
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CONTEXT: Final = 3
"""Unchanged lines around a hunk of a patch."""

GIT_ENV: Final = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0"}


@dataclass(frozen=True)
class Hunk:
    """Lines start..stop (0-based, half open) of the base give way to these."""

    start: int
    stop: int
    lines: tuple[str, ...]


def git(*args: str, cwd: Path, status: int = 0) -> bytes:
    """What git prints. A status over `status` is an error."""
    out, code = git_status(*args, cwd=cwd)
    if code > status:
        raise RuntimeError(f"git {' '.join(args)}: status {code}")
    return out


def git_status(*args: str, cwd: Path) -> tuple[bytes, int]:
    """What git prints, and its status."""
    done = subprocess.run(["git", *args], cwd=cwd, env=GIT_ENV, capture_output=True, check=False)
    return done.stdout, done.returncode


Aligner = Callable[[Sequence[str], Sequence[str], Path], list[Hunk]]


def by_difflib(before: Sequence[str], after: Sequence[str], folder: Path) -> list[Hunk]:
    """As Python's `difflib` lines both up."""
    matcher = difflib.SequenceMatcher(None, before, after)
    return [Hunk(i, j, tuple(after[k:m])) for what, i, j, k, m in matcher.get_opcodes() if what != "equal"]


def as_far_up(before: Sequence[str], after: Sequence[str], folder: Path) -> list[Hunk]:
    """As `difflib` does it; then what is only added or only removed moves up over equal lines. Git moves it down."""
    found: list[Hunk] = []
    for hunk in by_difflib(before, after, folder):
        start, stop, lines = hunk.start, hunk.stop, hunk.lines
        least = found[-1].stop + 1 if found else 0
        while start > least and before[start - 1] == (lines[-1] if start == stop else before[stop - 1]):
            if start < stop and lines:
                break
            start, stop, lines = start - 1, stop - 1, (*lines[-1:], *lines[:-1])
        found.append(Hunk(start, stop, lines))
    return found


def by_git(*options: str) -> Aligner:
    """As `git diff` does it with these options."""

    def lined_up(before: Sequence[str], after: Sequence[str], folder: Path) -> list[Hunk]:
        for name, lines in (("before", before), ("after", after)):
            (folder / name).write_text("".join(line + "\n" for line in lines), newline="")
        told = git(
            "diff",
            "--no-index",
            "--no-color",
            "--no-ext-diff",
            *options,
            "-U0",
            "before",
            "after",
            cwd=folder,
            status=1,
        )
        found = []
        for line in told.split(b"\n"):
            if line.startswith(b"@@ "):
                (at, count), (to, many) = (_numbers(part) for part in line.decode(errors="replace").split(" ")[1:3])
                start, begin = at - (count > 0), to - (many > 0)
                found.append(Hunk(start, start + count, tuple(after[begin : begin + many])))
        return found

    return lined_up


def _numbers(part: str) -> tuple[int, int]:
    """`-12,3` as (12, 3); `+12` as (12, 1)."""
    at, _, count = part[1:].partition(",")
    return int(at), int(count or 1)


ALIGNERS: Final[Mapping[str, Aligner]] = {
    "difflib": by_difflib,
    "difflib, moved up": as_far_up,
    "patience": by_git("--patience"),
    "histogram": by_git("--histogram"),
    "minimal": by_git("--minimal"),
}
"""None of them is that of `git merge-file`."""


def patch_of(path: str, lines: Sequence[str], final_break: bool, hunks: Sequence[Hunk]) -> str:
    """The hunks as a unified diff of these lines, with context."""
    groups: list[list[Hunk]] = []
    for hunk in hunks:
        if groups and hunk.start - groups[-1][-1].stop <= 2 * CONTEXT:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    out, shift = [f"--- a/{path}", f"+++ b/{path}"], 0
    for group in groups:
        start, stop = max(group[0].start - CONTEXT, 0), min(group[-1].stop + CONTEXT, len(lines))
        added = sum(len(hunk.lines) - (hunk.stop - hunk.start) for hunk in group)
        old, new = stop - start, stop - start + added
        out.append(f"@@ -{start + (old > 0)},{old} +{start + shift + (new > 0)},{new} @@")
        out += _body(lines, final_break, group, start, stop)
        shift += added
    return "".join(line + "\n" for line in out)


def _body(lines: Sequence[str], final_break: bool, group: Sequence[Hunk], start: int, stop: int) -> list[str]:
    """The lines of one hunk of a patch, start..stop of the base."""
    at, body = start, []
    for hunk in group:
        body += [" " + line for line in lines[at : hunk.start]]
        body += ["-" + line for line in lines[hunk.start : hunk.stop]]
        body += ["+" + line for line in hunk.lines]
        at = hunk.stop
    body += [" " + line for line in lines[at:stop]]
    return body if stop < len(lines) or final_break else _unended(body)


def _unended(body: Sequence[str]) -> list[str]:
    """The body with the mark behind the last line of each side: neither has a break there."""
    last = {max((n for n, line in enumerate(body) if line[0] in signs), default=-1) for signs in (" -", " +")}
    return [line + "\n\\ No newline at end of file" * (number in last) for number, line in enumerate(body)]
