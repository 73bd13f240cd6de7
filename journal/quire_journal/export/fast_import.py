"""Git fast-import stream: each step is a commit on `refs/heads/quire`, by its writer, at its time.

    quire export git | git -C REPOSITORY fast-import

A commit's tree is the journal's tree after the step. Its message names files that git cannot hold (missing bytes, an
empty folder). Contents are `inline`, to save memory. The stream ends with `done`, so that git refuses a truncated
stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from quire_journal.export import wording
from quire_journal.export.git_patch import quoted
from quire_journal.export.source import Source
from quire_journal.export.steps import PathChange, Step, git_mode, steps
from quire_journal.model import OUTSIDE, above

BRANCH = "refs/heads/quire"
_SECOND_NS = 10**9


def export(source: Source, by: str) -> Iterator[bytes]:
    yield f"feature done\nreset {BRANCH}\n\n".encode()
    tree, mark = _Tree(), 0
    for step in steps(source, by):
        if step is None:
            yield b""
            continue
        missing = wording.left_out(step, source)
        kept = {path for path, _ in missing}
        changed = [change for change in step.changes if _shows(change) or not tree.has(change.path)]
        if not missing and not any(_shows(change) for change in changed):
            continue
        yield _head(step, source, mark, missing)
        mark += 1
        gone = [change.path for change in step.changes if not git_mode(change.after) or change.path in kept]
        for path in tree.without(gone):
            yield b"D " + quoted(path) + b"\n"
        for change in changed:
            if change.after is None or not git_mode(change.after) or change.path in kept:
                continue
            for path in tree.displaced_by(change.path):
                yield b"D " + quoted(path) + b"\n"
            tree.add(change.path)
            data = source.bytes_of(change.after.blob)
            mode = git_mode(change.after).encode()
            yield b"M %s inline %s\ndata %d\n" % (mode, quoted(change.path), len(data)) + data + b"\n"
        yield b"\n"
    yield b"done\n"


def _shows(change: PathChange) -> bool:
    before, after = git_mode(change.before), git_mode(change.after)
    if before != after or change.before is None or change.after is None:
        return before != after
    return change.before.blob != change.after.blob


def _head(step: Step, source: Source, mark: int, missing: list[tuple[str, str]]) -> bytes:
    when = f"{step.at_ns // _SECOND_NS} +0000"
    author = wording.identity(source, step.writers[0] if step.writers else OUTSIDE)
    said = [wording.subject(step), "", *wording.body(step, source, missing), ""]
    message = "\n".join(said).encode("utf-8", "replace")
    lines = [f"commit {BRANCH}", f"mark :{mark + 1}", f"author {author} {when}"]
    lines += [f"committer Quire <quire@quire.invalid> {when}", f"data {len(message)}"]
    head = "\n".join(lines).encode("utf-8", "replace") + b"\n" + message
    return head + (b"from :%d\n" % mark if mark else b"")


class _Tree:
    """Paths in git's tree. Where a journal has a file and files below it, as a change was not seen, the later path
    displaces the earlier.
    """

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._below: Counter[str] = Counter()  # folder → number of files in it, at any depth

    def has(self, path: str) -> bool:
        return path in self._files

    def add(self, path: str) -> None:
        if path not in self._files:
            self._files.add(path)
            self._below.update(above(path))

    def without(self, paths: list[str]) -> Iterator[str]:
        for path in paths:
            if path in self._files:
                self._files.discard(path)
                self._below.subtract(above(path))
                yield path

    def displaced_by(self, path: str) -> Iterator[str]:
        yield from self.without([folder for folder in above(path) if folder in self._files])
        if self._below[path]:
            yield from self.without([file for file in self._files if file.startswith(f"{path}/")])
