"""`quire patch`: prints one writer's changes alone, as a patch on a commit."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quire_client.cli import render
from quire_client.commands import (
    COMMIT,
    Command,
    Invocation,
    Option,
    Usage,
    commit_named,
    folder_in_repository,
    not_checked_out,
    point_of,
    staged,
)
from quire_client.commands.commit.check_staged import parsed
from quire_client.commands.history import patches, whole
from quire_journal.model import is_escaped, journal_path, percent_escaped, shown_path

REFUSED = 1


def run(call: Invocation) -> int:
    arguments: dict[str, Any] = {
        "alone": "apart",
        **call.stated(("writer", "agent-session", "turn"), ("burst",), ("probable",)),
        **call.session_meant(),
    }
    if not {"writer", "agent_session", "turn", "burst"} & arguments.keys():
        raise Usage("Say whose changes: `quire patch --writer me`, --agent-session, --turn or --burst.")
    arguments |= {"alone": "needed"} if "with-needed" in call.options else {}
    arguments |= call.stated((), {"unified": "context"})
    if call.arguments:
        arguments["paths"] = [call.in_workspace(path) for path in call.arguments]
    arguments["from"] = _base(call)
    if below := folder_in_repository(call.place.root, call.environ):
        arguments["below"] = below
    with call.connect() as client:
        reply = client.call("diff", arguments)
        if reply.get("ok"):
            reply = whole(client, reply, arguments)
    files = [file for file in reply.get("files") or () if file.get("entry") != "folder"]
    sparse = set[str]()
    if removed := [shown_path(file) for file in files if file.get("status") == "removed"]:
        sparse = {journal_path(path) for path in not_checked_out(call.place.root, call.environ)} & {*removed}
        files = [file for file in files if shown_path(file) not in sparse]
    doubtful = [file for file in reply.get("left_out") or () if shown_path(file) not in sparse]
    found = len(files)
    if files and "against" not in call.options:
        files, doubtful = ([*_at_staged_names(listed, call, below)] for listed in (files, doubtful))
    if reply.get("ok"):
        reply = {**reply, "files": files}
    applying = {**reply, "files": [{**file, "others": None, "probable": None} for file in files if _applies(file)]}
    shown = reply if call.json else applying
    status = call.answer(shown, lambda told: "".join(f"{line}\n" for line in patches(told, call.colours)), patch=True)
    if not reply.get("ok") or call.json:
        return status
    needed = "with-needed" in call.options
    left = [*_left_out(files, needed), *map(_doubtful, doubtful)]
    for line in (*left, *_lines_of_others(files)):
        call.say(line)
    if not applying["files"] and not left:
        call.say("Git's index has these changes." if found else "Of these changes nothing differs from the commit.")
    for file in files:
        if file.get("probable"):
            call.say(f"{render.one_line(shown_path(file))}: a part is only probable (~).")
    return REFUSED if doubtful or (left and not needed) else status


def _at_staged_names(files: Sequence[Mapping[str, Any]], call: Invocation, below: str) -> Iterator[Mapping[str, Any]]:
    """Yield the files; a file that git's index has renamed gets its new name, as the patch is applied to the index."""
    index = parsed(staged(call.place.root, call.environ))
    names = {file.moved_from: file.path for file in index if file.moved_from}
    for file in files:
        name, old = shown_path(file), str(file.get("moved_from") or "")
        in_index = names.get(old or name, "")
        if not in_index or (old and in_index != name):
            yield file
        elif not old or _changes_more(file):
            yield {**file, **_at_name(file, in_index, below), "moved_from": None}


def _changes_more(file: Mapping[str, Any]) -> bool:
    """True if a renamed file changes in more than its name, which git's index has."""
    return bool(file.get("hunks") or file.get("mode") or file.get("binary"))


def _at_name(file: Mapping[str, Any], name: str, below: str) -> dict[str, Any]:
    from quire_journal.export import PatchStyle, at_name

    style = PatchStyle(below=below)
    told: dict[str, Any] = {"path": percent_escaped(name), "path_encoding": "percent"} if is_escaped(name) else {}
    told = told or {"path": name, "path_encoding": None}
    if "patch_base64" in file:
        moved = at_name(base64.b64decode(file["patch_base64"]), name, style)
        return {**told, "patch_base64": base64.b64encode(moved).decode()}
    if file.get("patch"):
        told["patch"] = at_name(file["patch"].encode("utf-8", "surrogateescape"), name, style).decode(
            "utf-8", "surrogateescape"
        )
    return told


def _base(call: Invocation) -> str:
    named = call.options.get("against", "HEAD")
    commit = commit_named(named, call.place.root, call.environ)
    if commit:
        return COMMIT + commit
    if "against" not in call.options:
        raise Usage("There is no commit yet; name a point: `quire patch --writer me --against POINT`.")
    return point_of(named)


def _doubtful(file: Mapping[str, Any]) -> str:
    name = render.one_line(shown_path(file))
    return f"{name}: changes that are only probable (~) are left out, --probable takes them, too."


def _applies(file: Mapping[str, Any]) -> bool:
    return bool(file.get("patch") or file.get("patch_base64"))


def _left_out(files: Sequence[Mapping[str, Any]], needed: bool) -> Iterator[str]:
    for file in files:
        name, others = render.one_line(shown_path(file)), render.one_line(", ".join(file.get("others") or ("others",)))
        if file.get("inseparable"):
            yield f"{name}: {others} changed it, too, and it cannot be divided into lines; left out."
        elif not _applies(file) and not any(file.get(why) for why in ("resting", "left_out", "replaced")):
            yield f"{name}: the patch is too long, or bytes of it are not in the journal; left out."
        for lines in file.get("resting") or ():
            rests = f"{name}:{_lines(lines)} on lines that are not in the commit ({others})"
            yield f"{rests}; these come with it." if needed else f"{rests}; left out, --with-needed takes both."


def _lines_of_others(files: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for file in files:
        name = render.one_line(shown_path(file))
        if found := file.get("left_out"):
            yield f"{name}:{_whose(found)} between lines of this patch; left out."
        if found := file.get("replaced"):
            yield f"{name}:{_whose(found)} where lines of this writer stood, and replaced these; left out."


def _whose(found: Sequence[Mapping[str, Any]]) -> str:
    whose = dict.fromkeys(render.writer(one["writer"]) for one in found if one.get("writer"))
    places = ",".join(f"{one['start']}-{one['end']}".removesuffix(f"-{one['start']}") for one in found)
    many = sum(one["end"] - one["start"] + 1 for one in found)
    stand = "stands" if many == 1 else "stand"
    return f"{places}: {render.counted(many, 'line')} of {', '.join(whose) or 'others'} {stand}"


def _lines(lines: Mapping[str, int]) -> str:
    start, end = lines["start"], lines["end"]
    if end < start:
        return f"{start} a removal rests"
    return f"{start} rests" if start == end else f"{start}-{end} rest"


COMMAND = Command(
    arguments="[PATH ...]",
    about="Prints a patch from the commit HEAD to the same with the changes of one writer alone, and without those of\n"
    "others that are not committed. `quire patch --writer me | git apply --cached` stages exactly that; git's index\n"
    "should be as HEAD is, but for renames. Lines that replace lines of others, were added between them, or where\n"
    "others had removed some, rest on that, and so do lines that git brought in one piece with lines that nobody was\n"
    "seen to write: they are named on stderr and left out, and the exit status is 1; --with-needed takes them with\n"
    "that. So are changes that are only probable (~); --probable takes them. Lines that others put between lines of\n"
    "the patch, or in the place of the writer's, are named, too; the status stays 0, as nothing that is the writer's\n"
    "now is left out with them.",
    example="quire patch --writer claude-code",
    run=run,
    options=(
        Option("writer", "WHO", "whose changes: an agent's name, user, me, w3 or outside"),
        Option("agent-session", "ID", "those of this agent session; so does --session without --agent"),
        Option("turn", "T", "those of this turn"),
        Option("burst", "N", "those of this burst: a call, a run, a formatter"),
        Option("against", "COMMIT", "upon this commit, branch or point; HEAD if not said"),
        Option("with-needed", "", "lines of others come along where the changes rest on them"),
        Option("probable", "", "also changes that are only probably (~) of whom the choice names"),
        Option("unified", "N", "so many unchanged lines around each change; 3 if not said", "U"),
    ),
)
