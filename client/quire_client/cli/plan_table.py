"""Formats the plan of an undo, redo, rollback or restore as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.cli import render
from quire_client.cli.wording import sentence, step


def show_files(reply: Mapping[str, Any]) -> str:
    """Return the text of an undo's or restore's reply: each file with its action and its conflicts."""
    lines = [sentence(render.said(reply.get("message", ""))), *_of_git(reply), *_list(reply)]
    if reply.get("token") and reply.get("valid", True):
        lines.append(f"To carry it out: --token {render.one_line(reply['token'], 100_000)}")
    elif reply.get("token") and any(file.get("conflicts") for file in reply.get("files") or ()):
        lines.append(f"Next: {step('plan')}.")
    return "\n".join(lines)


def _of_git(reply: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence about the command of git whose writes are taken back."""
    if command := reply.get("git"):
        said = f"What `{render.one_line(render.git_command(command), 200)}` wrote."
        if later := reply.get("git_later"):
            said += f" `{render.one_line(render.git_command(later), 200)}` came after it, and left no file changed."
        yield said


def in_the_way(reply: Mapping[str, Any]) -> list[str]:
    """Return a line for each conflict of a refused undo; [] if the refusal's message names the only conflict."""
    rows = _list(reply) if reply.get("error") == "conflict" else []
    one_reason = len(reply.get("files") or ()) == 1 and not reply["files"][0].get("conflicts")
    return [] if one_reason else rows  # the message names it


def _list(reply: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    files = [file for file in reply.get("files") or () if isinstance(file, Mapping)]
    idle: dict[str, list[str]] = {}  # reason for doing nothing → files
    for file in files:
        if _is_idle(file):
            idle.setdefault(_why(file), []).append(render.path(file.get("path", "")))
    for file in files:
        if not _is_idle(file) or len(idle[_why(file)]) <= FEW:
            lines += _file(file)
    for why, paths in idle.items():
        if len(paths) > FEW:
            lines.append(f"  {render.counted(len(paths), 'file')} left alone: {why}")
            lines.append(f"          {', '.join(paths[:FEW])} and {len(paths) - FEW} more; --json lists them")
    for entry in reply.get("left_out") or ():
        if isinstance(entry, Mapping):
            version, path = render.one_line(entry.get("version", "")), render.path(entry.get("path", ""))
            probable = f"~{render.writer(entry.get('writer'))}; --probable takes it, too"
            why = "Quire's own, by `quire setup`" if entry.get("why") == "setup" else probable
            lines.append(f"  left    {path} {version}: {why}")
    return lines


FEW: Final = 3


def _is_idle(file: Mapping[str, Any]) -> bool:
    told = any(file.get(name) for name in ("kept", "conflicts", "first_seen", "marked"))
    return file.get("action") == "none" and not told


def _why(file: Mapping[str, Any]) -> str:
    if not file.get("skipped"):
        return "nothing has to be changed"
    return sentence(render.one_line(file.get("why") or str(file.get("skipped", "")).replace("_", " ")))


def _file(file: Mapping[str, Any]) -> Iterator[str]:
    target = f" -> {render.path(file['to'])}" if file.get("to") else ""
    counts = f"  {line_counts(file)}" if line_counts(file) else ""
    yield f"  {render.one_line(file.get('action', 'write')):8}{render.path(file.get('path', ''))}{target}{counts}"
    if file.get("was"):
        yield f"          was {render.path(file['was'])} then"
    if file.get("skipped") or _is_idle(file):
        yield f"          left alone: {_why(file)}"
    kept = [who for who in file.get("kept") or () if isinstance(who, Mapping)]
    if kept and file.get("action") != "delete":  # changes of other writers to a removed file have no effect
        moved = [one for one in kept if one.get("by_git") or (one.get("writer") or {}).get("type") == "undo"]
        names = ", ".join(sorted({render.author(one) for one in kept if one not in moved}))
        by = sorted({"git" if one.get("by_git") else "an undo" for one in moved})
        brought = f"what {' and '.join(by)} brought" if by else ""
        wrote = f"what {names} wrote" if names else ""
        yield f"          keeps {', and '.join(filter(None, (wrote, brought)))}"
    first = file.get("first_seen")
    if isinstance(first, Mapping):
        version, why = (render.one_line(first.get(key, "")) for key in ("version", "why"))
        yield f"          back to {version} only: {why}"
    runs = {conflict.get("run") for conflict in file.get("conflicts") or () if isinstance(conflict, Mapping)}
    for conflict in file.get("conflicts") or ():
        if isinstance(conflict, Mapping):
            who = "git" if conflict.get("by_git") else render.writer(conflict.get("writer"))
            spans = render.lines(conflict["lines"]) if conflict.get("lines") else ""
            where = f" ({'line' if spans.isdigit() else 'lines'} {spans})" if spans else ""
            version = render.one_line(conflict.get("version", ""))
            with_ = f" with {version}" if version else ""
            yield f"          conflict: {who} {_DID.get(str(conflict.get('why')), 'built on it')}{with_}{where}"
            if len(runs) == 1 and conflict.get("run") is not None and conflict.get("why") == "lines":
                burst = render.one_line(conflict["run"])
                yield f"          it was a command: `quire undo --burst {burst}` takes it back, and then this goes, too"
    if file.get("marked"):
        yield f"          {render.counted(file['marked'], 'place')} with both sides, between conflict markers"


_DID: Final = {
    "deleted": "deleted it",
    "moved": "moved it",
    "mode": "changed its permission bits",
    "occupied": "put something else there",
}


def whose(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each writer whose changes are undone."""
    for entry in plan.get("writers") or ():
        yield f"  of {render.writer(entry.get('writer'))}: {render.counted(entry.get('batches', 0), 'change')}"


def line_counts(file: Mapping[str, Any]) -> str:
    """Return the added and removed lines of a planned file as `+3 -10`, or "" if unknown."""
    ranges = [one for one in file.get("changed") or () if isinstance(one, Mapping)]
    came = sum(max(one.get("end", 0) - one.get("start", 1) + 1, 0) for one in ranges)
    went = sum(max(one.get("was_end", 0) - one.get("was_start", 1) + 1, 0) for one in ranges)
    return f"+{came} -{went}" if came or went else ""
