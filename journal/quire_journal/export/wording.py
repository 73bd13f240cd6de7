"""Wording of steps: their authors and descriptions. Text from agents is made plain and short, so that it can neither
begin a line nor end a header.
"""

from __future__ import annotations

from typing import Final

from quire_journal.export.line_authors import brought_authors
from quire_journal.export.source import Source
from quire_journal.export.steps import PathChange, Step, git_mode
from quire_journal.model import FOLDER, OUTSIDE, WriterIntroduced, above, counted, disguised, plain, writer_name

MOST_SUBJECT: Final = 72
_MOST_PATH: Final = 300
_MOST_TOLD: Final = 100  # maximum number of files named as not exported; others are counted


def name_of(source: Source, writer: int) -> str:
    """Return a writer's name: the agent's, `user` for a person at a terminal, `outside`."""
    who = source.writer(writer)
    if who is None:
        return "outside" if writer == OUTSIDE else writer_name(writer)
    named = plain(who.agent, 80).translate(_NOT_IN_NAMES).strip()
    return named or ("user" if not who.agent else writer_name(writer))


_NOT_IN_NAMES: Final = {ord(sign): None for sign in "<>"}


def identity(source: Source, writer: int) -> str:
    """Return `ada <w3@quire.invalid>`: a name, and an address that nobody can have (RFC 2606)."""
    return f"{name_of(source, writer)} <{writer_name(writer)}@quire.invalid>"


def subject(step: Step) -> str:
    if step.label:
        return plain(step.label, MOST_SUBJECT)
    if len(step.changes) == 1:
        change = step.changes[0]
        return plain(f"{_verb(change)} {change.path}", MOST_SUBJECT)
    moves = moved(step)
    if len(step.changes) == 2 and len(moves) == 1:
        ((to, old),) = moves.items()
        return plain(f"Move {old} to {to}", MOST_SUBJECT)
    names = ", ".join(change.path for change in step.changes)
    return plain(f"Change {len(step.changes)} files: {names}", MOST_SUBJECT)


def body(step: Step, source: Source, left_out: list[tuple[str, str]]) -> list[str]:
    """Return the lines below the subject: records, writers, and `left_out` (path, why)."""
    lines = [f"Quire-Records: {step.first}..{step.last}"]
    lines += [f"Quire-Batch: {batch}" for batch in step.batches[:20]]
    if len(step.batches) > 20:
        lines.append(f"Quire-Batches: {len(step.batches)}")
    lines += [f"Quire-Writer: {_writer(source.writer(writer), writer)}" for writer in step.writers]
    lines += [f"Quire-Lines-By: {_writer(source.writer(writer), writer)}" for writer in brought_authors(step, source)]
    lines += [f"Quire-Evidence: {word}" for word in step.evidence]
    lines += [f"Quire-Hint: {hint}" for hint in step.hints]
    lines += [f"Not-Exported: {plain(path, _MOST_PATH)} ({why})" for path, why in left_out[:_MOST_TOLD]]
    if len(left_out) > _MOST_TOLD:
        lines.append(f"Not-Exported: {counted(len(left_out) - _MOST_TOLD, 'more file')}")
    lines += [f"Co-authored-by: {identity(source, writer)}" for writer in step.writers[1:]]
    return lines


def left_out(step: Step, source: Source) -> list[tuple[str, str]]:
    """Return (path, why) of files of a step that git cannot hold: missing bytes, folders, `.git`."""
    found = []
    not_empty = {folder for change in step.changes if change.after is not None for folder in above(change.path)}
    for change in step.changes:
        after = change.after
        if after is None:
            continue
        if after.entry == FOLDER:
            if change.path not in not_empty:
                found.append((change.path, "a folder; git keeps files only"))
        elif not fits_git(change.path):
            found.append((change.path, "git does not take such a path"))
        elif why := source.missing(after):
            found.append((change.path, f"its bytes are not in the journal: {why}"))
    return found


def fits_git(path: str) -> bool:
    """True if git accepts the path: not `.git` in any spelling; a backslash separates names, too."""
    names = path.replace("\\", "/").split("/")
    return not any(name in ("", ".", "..") or disguised(name) in (".git", "git~1") for name in names)


def moved(step: Step) -> dict[str, str]:
    """Return new path → old path of the files that a step moved."""
    after = {change.path: change.after for change in step.changes}
    before = {change.path: change.before for change in step.changes}
    found: dict[str, str] = {}
    for path, version in after.items():
        old = version.moved_from if version is not None else ""
        if old and before.get(path) is None and before.get(old) is not None and after.get(old) is None:
            found[path] = old
    return found


def _verb(change: PathChange) -> str:
    if change.after is None:
        return "Delete"
    if change.before is None:
        return "Create"
    if change.before.blob == change.after.blob and git_mode(change.before) != git_mode(change.after):
        return "Change the mode of"
    return "Edit"


def _writer(who: WriterIntroduced | None, writer: int) -> str:
    if who is None:
        return writer_name(writer)
    said = {"agent": who.agent, "session": who.agent_session, "turn": who.turn, "call": who.tool_call}
    parts = [f"{name}={plain(value, 80)}" for name, value in {**said, "model": who.model}.items() if value]
    return " ".join([writer_name(writer), *parts])
