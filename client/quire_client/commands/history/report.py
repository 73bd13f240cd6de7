"""`quire report`: prints one writer's changes as Markdown for a pull request, with one diff for each file.

Prompts and command lines are included only with `--with-prompts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import author_of, is_turn, render, story_title
from quire_client.commands import (
    COMMIT,
    Command,
    Invocation,
    Option,
    Usage,
    commit_named,
    end_of,
    ignored,
    lacking,
    point_of,
    stretch,
    uncommitted,
)
from quire_client.commands.history.diff_text import whole

if TYPE_CHECKING:
    from quire_client.api import Client

MOST: Final = 200
MOST_LISTED: Final = 12
MOST_NAMED: Final = 50
"""Maximum number of files that a section names, those with the most changes first."""

WHOSE: Final = ("writer", "agent_session", "turn")
"""Arguments that the word on the command line of `quire report` may stand for, in the order in which they are tried."""

PRIVATE: Final = ("prompt", "calls")


def run(call: Invocation) -> int:
    call.at_most(1)
    with call.connect() as client:
        reply = _report(call, client, call.arguments[0] if call.arguments else "", call.stated(("since", "until")))
    return call.answer(reply, lambda reply: "\n".join(_markdown(reply)))


def _report(call: Invocation, client: Client, what: str, within: Mapping[str, Any]) -> Mapping[str, Any]:
    whose, found = _chosen(client, what, within)
    stories = found.get("stories") or []
    if not found.get("ok"):
        return found
    if not stories:
        message = f"Nothing is recorded of {what!r}." if what else "No agent has done anything yet."
        return {"ok": False, "error": "not_found", "message": message, "suggested_action": "log"}
    first, last = min(one["first"] for one in stories), max(one["seq"] for one in stories)
    start, end = f"seq:{first - 1}", f"seq:{last}" if "until" in whose else ""
    # Without a named end it is now: at the last record git may have had other files of this work checked out.
    asked: dict[str, Any] = {"from": start, **({"to": end} if end else {})}
    asked |= {name: whose[name] for name in WHOSE if name in whose}
    differing = whole(client, client.call("diff", asked), asked)
    if not differing.get("ok"):
        return differing
    differs = (file for file in differing.get("files") or () if file.get("status") != "same" or file.get("moved_from"))
    files = [_net(file) for file in differs]
    left_out = ignored(_paths_of(stories, files), call.place.root, call.environ)
    files = [file for file in files if file["path"] not in left_out]
    stories = [one for story in stories if (one := _without(story, left_out))["files_count"] or _tells_more(story)]
    around = _pages(client, {"since": start, **({"until": end} if end else {})})
    paths = [file["path"] for file in files]
    names = {path: path for path in paths}
    names |= {name: file["path"] for file in files for name in (file.get("moved_from"), file.get("then")) if name}
    renamed = _renamed(around.get("stories") or [])
    gone = dict.fromkeys(path for one in _written(stories) if (path := _followed(one, names, renamed)) not in names)
    shared = _shared(around.get("stories") or [], stories, names | {path: path for path in gone}, renamed)
    replaced = [one["path"] for one in shared if one["path"] in gone]
    head = commit_named("HEAD", call.place.root, call.environ)
    private = () if "with-prompts" in call.options else PRIVATE
    return {
        "ok": True,
        "message": f"{render.counted(len(stories), 'story', 'stories')}, {render.counted(len(files), 'file')}.",
        "whose": whose,
        "stories": [{name: value for name, value in story.items() if name not in private} for story in stories[::-1]],
        "files": files,
        "refused": [{**one, "seq": story["seq"]} for story in stories for one in story.get("refused", ())],
        "shared": [{**one, "replaced": True} if one["path"] in replaced else one for one in shared],
        "uncommitted": _uncommitted(call, client, whose, paths, replaced, head) if head else None,
    }


def _chosen(client: Client, what: str, within: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    start, dots, end = what.partition("..")
    if dots and within:
        raise Usage(f"{what} and --{min(within)} both say from when on; give one of them.")
    if within and not what:
        return dict(within), _pages(client, within)
    if dots:
        whose = {"since": point_of(start), **({"until": end_of(end)} if end else {})}
        return whose, _pages(client, whose)
    if not what:
        newest = (client.call("stories", {"agents": True, "limit": 1}).get("stories") or [{}])[0]
        writer = newest.get("writer") or {}
        what = writer.get("parent") or writer.get("agent_session") or writer.get("agent") or ""
        if not what:
            return {}, {"ok": True, "stories": []}
    refused: dict[str, Any] = {}
    for name in WHOSE:
        whose = {name: what, **within}
        found = _pages(client, whose)
        if found.get("stories"):
            return whose, found
        refused = refused or ({} if found.get("ok") else found)
    return {}, refused or {"ok": True, "stories": []}


def _pages(client: Client, asked: Mapping[str, Any]) -> dict[str, Any]:
    stories: list[Any] = []
    cursor: dict[str, Any] = {}
    while True:
        page = client.call("stories", {**asked, "all": True, "limit": MOST, **cursor})
        if not page.get("ok"):
            return page
        stories += page.get("stories") or ()
        if not page.get("next"):
            return {**page, "stories": stories}
        cursor = {"cursor": page["next"]}


def _paths_of(stories: Sequence[Mapping[str, Any]], files: Sequence[Mapping[str, Any]]) -> list[str]:
    listed = (story.get("files") or () for story in (*stories, {"files": files}))
    return [*dict.fromkeys(file["path"] for one in listed for file in one)]


def _written(stories: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the paths of the files in those stories that have an author."""
    return _paths_of([one for one in stories if author_of(one, render.writer(one.get("writer")))], ())


def _without(story: dict[str, Any], paths: set[str]) -> dict[str, Any]:
    kept = [file for file in story["files"] if file["path"] not in paths]
    gone = len(story["files"]) - len(kept)
    return {**story, "files": kept, "files_count": story["files_count"] - gone} if gone else story


def _tells_more(story: Mapping[str, Any]) -> bool:
    """Return True for a story that is more than saves of files, such as a turn; it is reported even if none of its
    files is left.
    """
    return story["form"] not in ("saves", "crowd", "person")


def _net(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file's net change: its present name, status and line counts; `then` is its name at the end of the
    reported time, if it was renamed later.
    """
    rows = [row for hunk in file.get("hunks") or () for row in hunk["lines"]]
    status = "renamed" if file.get("status") == "same" else file.get("status", "changed")
    told = {"path": file.get("moved_to") or file["path"], "status": status}
    told |= {"then": file["path"]} if file.get("moved_to") else {}
    told |= {name: file[name] for name in ("moved_from", "probable") if file.get(name)}
    counted = {"added": sum(row[:1] == "+" for row in rows), "removed": sum(row[:1] == "-" for row in rows)}
    return told | counted if rows else told


def _uncommitted(
    call: Invocation,
    client: Client,
    whose: Mapping[str, Any],
    paths: Sequence[str],
    replaced: Sequence[str],
    head: str,
) -> list[str]:
    """Return the files with changes that the commit `head` lacks: those of `paths`, by the writer in `whose` (empty: by
    anybody), and those of `replaced`, in which nothing of the writer is left, by anybody.
    """
    left = uncommitted([*paths, *replaced], call.place.root, call.environ)
    named = {name: whose[name] for name in WHOSE if name in whose}
    if not (named and {*left} - {*replaced}):
        return left
    asked = {"from": COMMIT + head, "alone": "apart", "probable": True, **named}
    own = whole(client, client.call("diff", asked), asked)
    if not own.get("ok"):
        return left
    differing = {file["path"] for file in own.get("files") or ()}
    differing |= {*lacking(left, call.place.root, call.environ)}
    return [path for path in left if path in differing or path in replaced]


def _renamed(stories: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return old name → new name of the files that the stories renamed."""
    moves = (file for story in stories for file in story["files"] if file.get("moved_from"))
    return {file["moved_from"]: file["path"] for file in moves}


def _shared(
    around: Sequence[Mapping[str, Any]],
    own: Sequence[Mapping[str, Any]],
    names: Mapping[str, str],
    renamed: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return the reported files that others changed, too, each as `{path, writers}`. `around`: all stories of the time;
    `own`: the reported ones; `names`: reported name → present name; `renamed`: old name → new name.
    """
    whose: dict[str, dict[str, None]] = {}
    numbers = {one["seq"] for one in own}
    authors = {author_of(one, render.writer(one.get("writer"))) for one in own}
    for story in around:
        name = render.writer(story.get("writer"))
        author = author_of(story, name)
        if author and story["seq"] not in numbers and author not in authors:
            for file in story["files"]:
                if path := names.get(_followed(file["path"], names, renamed)):
                    whose.setdefault(path, {})[name] = None
    return [{"path": path, "writers": [*writers]} for path, writers in whose.items()]


def _followed(path: str, names: Mapping[str, str], renamed: Mapping[str, str]) -> str:
    """Return the first of `names` to which renames (old → new) lead from `path`; else the last name reached."""
    seen: set[str] = set()
    while path not in names and path in renamed and path not in seen:
        seen.add(path)
        path = renamed[path]
    return path


# ── Markdown ─────────────────────────────────────────────────────────────────


def _markdown(reply: Mapping[str, Any]) -> Iterator[str]:
    whose, stories, files = reply["whose"], reply["stories"], reply["files"]
    agents = dict.fromkeys(render.writer(story.get("writer")) for story in stories if story["form"] == "turn")
    of_all = agents and not any(name in whose for name in WHOSE)
    others = ("others",) if of_all and any(one["form"] != "turn" for one in stories) else ()
    stretch = f"{whose['since']} to {whose.get('until', 'now')}" if "since" in whose else ""
    title = ", ".join(filter(None, (stretch, *agents, *others))) or next(iter(whose.values()), "")
    added, removed = (sum(file.get(name, 0) for file in files) for name in ("added", "removed"))
    turns = sum(map(is_turn, stories))
    counted = f"{render.counted(turns, 'turn')}, " if turns else ""
    yield f"## {_word(title)}"
    yield ""
    yield f"{counted}{render.counted(len(files), 'file')}, +{added} -{removed}"
    yield from _section(
        "What was done", [line for story in stories for line in _done(story, whose.get("writer") == "me")]
    )
    most = sorted(files, key=lambda file: -file.get("added", 0) - file.get("removed", 0))
    yield from _section("Files", _some([_file(file) for file in most]))
    troubles = [f"- {_code(one['path'])}: refused, {_word(one['code'].replace('_', ' '))}" for one in reply["refused"]]
    troubles += map(_changed, reply["shared"])
    yield from _section("Refused, or changed by others too", _some(troubles))
    if reply["uncommitted"] is not None:
        left = _some([f"- {_code(path)}" for path in reply["uncommitted"]])
        if len(reply["uncommitted"]) == len(files) > MOST_LISTED:
            left = [f"None of the {len(files)} files is committed."]
        yield from _section("Not committed", left or ["Everything is committed."])


def _some(rows: Sequence[str]) -> list[str]:
    more = len(rows) - MOST_NAMED
    return [*rows[:MOST_NAMED], f"- and {more} more"] if more > 1 else [*rows]


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"### {title}", "", *lines)


def _done(story: Mapping[str, Any], mine: bool) -> Iterator[str]:
    prompt = next((line for line in (story.get("prompt") or "").splitlines() if line.strip()), "")
    undone = ", ".join(map(str, story.get("undone", ())))
    said = {
        "turn": _word(prompt) or ("a turn" if is_turn(story) else "work outside of turns"),
        "git": f"{_code(story_title(story))}{', failed' if story.get('failed') else ''}",
        "run": f"{_code(story_title(story))}{_outcome(story)}",
        "undo": _word(story.get("how", "undo")) + (f" of {undone}" if undone else ""),
        "checkpoint": f"checkpoint {_word(story.get('name', ''))}",
        "capture": _word(story_title(story)),
        "person": _word(story_title(story)),
        "crowd": _program(story),
    }.get(story["form"], "saved")
    if story["form"] == "turn" and not (prompt or story["files"] or story.get("refused")):
        return
    yield f"- {said}, only probably (~)" if story.get("probable") or (mine and story.get("unclaimed")) else f"- {said}"
    listed = story["files"][:MOST_LISTED] if story["form"] != "git" else ()
    for file in listed:
        symbols = f": {', '.join(map(_code, file['symbols']))}" if file.get("symbols") else ""
        yield f"  - {_code(file['path'])}{_lines(file)}{symbols}"
    if listed and (more := story["files_count"] - len(listed)) > 0:
        yield f"  - and {render.counted(more, 'more file', 'more files')}"


def _outcome(story: Mapping[str, Any]) -> str:
    return f", exit {story['status']}" if "status" in story else ", did not end by itself"


def _program(story: Mapping[str, Any]) -> str:
    program = story.get("program") or {}
    return f"{program['kind']} {_code(program['called'])}" if program else "many files by other programs"


def _file(file: Mapping[str, Any]) -> str:
    moved = f", moved from {_code(file['moved_from'])}" if file.get("moved_from") else ""
    then = f", {_code(file['then'])} then" if file.get("then") else ""
    probable = ", a part only probably (~)" if file.get("probable") else ""
    return f"- {_code(file['path'])} {_word(file['status'])}{moved}{then}{_lines(file)}{probable}"


def _changed(shared: Mapping[str, Any]) -> str:
    said = "nothing of what is reported is left in it, changed by" if shared.get("replaced") else "also changed by"
    return f"- {_code(shared['path'])}: {said} {_word(', '.join(shared['writers']))}"


def _lines(file: Mapping[str, Any]) -> str:
    return f" +{file['added']} -{file['removed']}" if "added" in file else ""


def _word(text: object) -> str:
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|!" else sign for sign in render.one_line(text))


def _code(text: object) -> str:
    return f"`{render.one_line(text).replace('`', chr(39))}`"


COMMAND = Command(
    arguments="[WRITER | SESSION | TURN | A..B]",
    about="Prints what somebody did as Markdown, for a pull request: what was done, the net difference of each file\n"
    "from the beginning to now, or up to --until, with what others did to it in between, what was refused, and what\n"
    "git has not committed. What git ignores is left out. Without an argument it is about the newest agent session,\n"
    "with --since or --until alone about everybody. A..B is a stretch of the log.",
    example="quire report ada",
    run=run,
    options=(
        *stretch("what was done after it", "what was done up to it"),
        Option("with-prompts", "", "with what people asked agents for, and agents' commands; git's are told anyway"),
    ),
)
