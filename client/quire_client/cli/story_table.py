"""Formats stories as text. A story groups the records of a turn, git operation, series of saves, or burst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, NamedTuple

from quire_client.cli import render
from quire_journal.model import MARK

MOST_FILES: Final = 5
SHORT: Final = 8
LEAST: Final = 20
HOUR_S: Final = 3600

SAVED: Final = "saved"
MANY: Final = "many files by other programs"
ROOT: Final = "./"
"""Name of the workspace's top folder in a list of folders."""

NO_PROMPT: Final = "without a prompt"

_SIGNS: Final = {"added": "A", "removed": "D", "changed": "M", "moved": "R", "mode": "M"}

_PLAIN: Final = render.Palette(False, {"NO_COLOR": "1"})

Story = Mapping[str, Any]


class View(NamedTuple):
    now: datetime
    colours: render.Palette
    person: bool = False  # the output is read by a user at a terminal
    zone: tzinfo | None = None  # None: the system's
    width: int = 100  # columns
    one_line: bool = False
    everything: bool = False  # every call and file that the reply has
    named: bool = True  # with the writer's name, else only a sign of what is probable


def story_lines(stories: Sequence[Story], view: View) -> Iterator[str]:
    whose = names_of(stories, view) if view.named else [MARK if story.get("probable") else "" for story in stories]
    heads = [(_when(story["ended_at"], view), _token(story), who) for story, who in zip(stories, whose, strict=True)]
    widths = [max((len(head[column]) for head in heads), default=0) for column in range(3)]
    names = list(dict.fromkeys(who for _, _, who in heads))
    for story, (when, token, who) in zip(stories, heads, strict=True):
        paint = view.colours.paint
        painted = paint(who, view.colours.of(names.index(who))) if _is_agents(story) else who
        start = f"{paint(when.ljust(widths[0]), 'dim')}  {paint(token.ljust(widths[1]), 'yellow')}  {painted}"
        start += " " * (widths[2] - len(who) + 2) if widths[2] else ""
        below = [] if view.one_line else [*_below(story, view)]
        files = story["files"]
        if len(files) == story["files_count"] == 1 and not (_opens(story) or view.everything):
            title = story_title(story)
            yield start + (f"{title}  " if title and title not in (SAVED, NO_PROMPT) else "") + _file(files[0], view)
            continue
        room = view.width - sum(widths) - 6
        yield start + _title(story, view, max(room, 30))
        yield from (f"    {line}" for line in below)


def names_of(stories: Sequence[Story], view: View) -> list[str]:
    """Return the writer's name for each story (turn, git operation, series of saves, or burst)."""
    sessions = _sessions_of_agents(stories)
    return [_who(story, sessions, view) for story in stories]


def signs_explained(stories: Sequence[Story], person: bool) -> Iterator[str]:
    """Yield a sentence for each sign that marks these stories as only probable. `person`: a user at a terminal reads
    them.
    """
    if person and any(story.get("unclaimed") for story in stories):
        yield render.ABOUT_YOU
    if any(one.get("probable") for story in stories for one in (story, *story["files"])):
        yield f"{MARK} is probable: it was written while a command of theirs ran that accounts for it."


def _opens(story: Story) -> bool:
    odd = story["form"] == "run" and (story.get("status") != 0 or story.get("by_others"))
    return bool(story.get("prompt") or story.get("refused") or odd or not story["whole"])


def _below(story: Story, view: View) -> Iterator[str]:
    if view.everything:
        yield from (_call(call, view) for call in story.get("calls", ()))
    files = story["files"] if view.everything else story["files"][:MOST_FILES]
    widest = max((len(_path(file)) for file in files), default=0)
    yield from (_file(file, view, widest) for file in files)
    more = story["files_count"] - len(files)
    if more and files:
        where = f", {_folders(story)}" if story.get("folders") else ""
        yield view.colours.paint(f"… and {render.counted(more, 'file')} more{where}", "dim")
    for said, times in Counter(map(_refused, story.get("refused", ()))).items():
        yield view.colours.paint(f"! refused: {said}" + (f" ×{times}" if times > 1 else ""), "red")
    unsaid = story.get("refused_count", 0) - len(story.get("refused", ()))
    if unsaid > 0:
        yield view.colours.paint(f"! and {unsaid} more refused", "red")


def _refused(refused: Mapping[str, Any]) -> str:
    return f"{render.one_line(refused['path'], 80)} ({render.one_line(refused['code']).replace('_', ' ')})"


# ── the parts of a line ──────────────────────────────────────────────────────


def _title(story: Story, view: View, room: int) -> str:
    said = "" if story_title(story) == NO_PROMPT and story["files_count"] else story_title(story)
    shown = _counts(story, view)
    if shown:
        room -= len(_counts(story, view._replace(colours=_PLAIN))) + 2
    facts = "  ".join(filter(None, story_facts(story)))
    most = max(room - (min(len(said), LEAST) + 2 if said else 0), LEAST)
    facts = facts if len(facts) <= most else f"{facts[: most - 1].rstrip()}…"
    text = render.one_line(said, max(room - len(facts) - 2, LEAST))
    return "  ".join(filter(None, (text, facts, shown)))


def _turn(story: Story) -> str:
    prompt = next((line for line in (story.get("prompt") or "").splitlines() if line.strip()), "")
    return f"“{prompt.strip()}”" if prompt else NO_PROMPT


def _git(story: Story) -> str:
    commands = list(dict.fromkeys(map(render.git_command, story.get("commands", ()))))
    hint = render.hint(story.get("hint", "")).partition(" (")[0]
    if not commands:
        return hint if hint.startswith("git ") else "a git command"
    more = f" and {len(commands) - 2} more" if len(commands) > 2 else ""
    return " after ".join(commands[:2]) + more


def _run(story: Story) -> str:
    return f"$ {render.one_line(next(iter(story.get('commands', ())), ''))}"


def _plain(story: Story) -> str:
    if program := story.get("program"):
        whose = [one.get("writer") for one in story.get("candidates", ())] or [_owner(story.get("hint", ""))]
        by = " or ".join(dict.fromkeys(render.one_line(name, 40) for name in whose if name))
        said = f"{render.one_line(program['kind'])} ({render.one_line(program['called'], 60)})"
        return f"{said}, run by {by}" if by else said
    if story.get("candidates"):
        likely = (f"{_short(str(one.get('writer')))} {one.get('label')}" for one in story["candidates"])
        return f"may be {' or '.join(dict.fromkeys(render.one_line(one, 60) for one in likely))}"
    hint = render.hint(story.get("hint", ""))
    if hint:
        return hint if hint.startswith("while ") else f"while {hint} ran"
    if story.get("gone_count") and story["gone_count"] == story["files_count"]:
        return "many files removed by other programs"
    return SAVED if story["form"] == "saves" else MANY


def _short(named: str) -> str:
    agent, _, session = named.partition("/")
    return f"{agent}/{session[:SHORT]}" if session else agent


def _owner(hint: str) -> str:
    return hint.rpartition(" (")[2].removesuffix(")") if hint.endswith(")") else ""


def _undo(story: Story) -> str:
    undone = story.get("undone") or ()
    of = f" of {', '.join(map(str, undone[:3]))}{' …' if len(undone) > 3 else ''}" if undone else ""
    return f"{story.get('how', 'undo')}{of}"


def _checkpoint(story: Story) -> str:
    note = f": {story['note']}" if story.get("note") else ""
    return f"checkpoint {story.get('name', '')}{note}"


def story_title(story: Story) -> str:
    """Return the title of a story (turn, git operation, saves or burst): its prompt, command or label if it has one."""
    match story["form"]:
        case "turn":
            return _turn(story)
        case "run":
            return _run(story)
        case "git":
            return _git(story)
        case "undo":
            return _undo(story)
        case "checkpoint":
            return _checkpoint(story)
        case "capture":
            return "first capture of the checkout"
        case "person" if story.get("hint"):
            return f"“{story['hint']}”"
        case "person":
            return "set-up" if (story.get("writer") or {}).get("agent") else "with Quire's tools"
        case _:
            return _plain(story)


def story_facts(story: Story) -> Iterator[str]:
    """Yield the facts of a story (turn, git operation, saves or burst): number of files, folders, failures."""
    count = story["files_count"]
    where = f" {_folders(story)}" if story.get("folders") and story["form"] != "turn" else ""
    if count or story["form"] in ("capture", "crowd"):
        yield f"{render.counted(count, 'write' if story.get('unread') else 'file')}{where}"
    elif story["form"] in ("turn", "run", "saves", "person", "undo") and not story.get("by_git"):
        yield "nothing left changed" if story["writes"] else "changed nothing"
    if 0 < story.get("gone_count", 0) < count:
        yield f"{story['gone_count']} of them removed"
    if story.get("by_git"):
        yield f"git wrote {render.counted(story['by_git'], 'file')}"
    if story.get("head_after") and story.get("head_before"):
        yield _heads(story["head_before"], story["head_after"])
    if story["form"] == "run":
        yield f"exit {story['status']}" if "status" in story else "did not end by itself"
        if story.get("by_others"):
            yield f"others changed {render.counted(story['by_others'], 'file')} meanwhile"
    if story.get("failed"):
        yield "(failed)"
    if story.get("refused_count"):
        yield f"{story['refused_count']} refused"
    if not story["whole"]:
        yield "(began earlier)"


def _heads(before: str, after: str) -> str:
    (branch, _, commit), (to_branch, _, to_commit) = before.rpartition(" "), after.rpartition(" ")
    if branch and to_branch and branch != to_branch:
        return render.one_line(f"{branch} → {to_branch}", 80)
    if commit[:7] == to_commit[:7]:
        return ""
    return render.one_line(f"{branch} {commit[:7]} → {to_commit[:7]}", 80)


def _counts(story: Story, view: View) -> str:
    files = story["files"]
    if not files or story["files_count"] > len(files) or any("added" not in file for file in files):
        return ""
    if all(map(_is_plain_rename, files)):
        return ""
    return _signed(sum(file["added"] for file in files), sum(file["removed"] for file in files), view)


def _call(call: Mapping[str, Any], view: View) -> str:
    said = f"$ {render.one_line(call['command'], 100)}" if call.get("command") else render.one_line(call["label"], 100)
    said += f"  exit {call['status']}" if call.get("status") else ""
    said += f"  {call_end(call)}" if "end" in call else ""
    number = f"burst {call['burst']}" if "burst" in call else f"batch {call['batch']}"
    return f"{view.colours.paint(_when(call['at'], view), 'dim')}  {said}  {view.colours.paint(f'({number})', 'dim')}"


def call_end(call: Mapping[str, Any]) -> str:
    """Return how far an agent's call came whose end was not reported, in words such as "running"."""
    if call["end"] == "open":
        return "running" if call["writes"] else "asked or running"
    return "its end was not reported" if call["writes"] else "denied, or its end was not reported"


def _file(file: Mapping[str, Any], view: View, widest: int = 0) -> str:
    path = _path(file)
    said = [f"{_SIGNS.get(file['status'], 'M')} {path.ljust(widest)}"]
    if file["status"] == "mode":
        said.append("mode change")
    elif "added" in file and not _is_plain_rename(file):
        said.append(_signed(file["added"], file["removed"], view))
    elif file.get("binary"):
        said.append("binary")
    if file.get("probable"):
        said.append(MARK)
    if file.get("uncaptured"):
        said.append(f"[not captured: {render.one_line(file['uncaptured']).replace('_', ' ')}]")
    if file.get("symbols"):
        taken = len(said[0]) + len(_signed(file.get("added", 0), file.get("removed", 0), view._replace(colours=_PLAIN)))
        most = min(max(view.width - taken - 8, LEAST), 80)
        said.append(view.colours.paint(render.one_line(", ".join(file["symbols"]), most), "cyan"))
    return "  ".join(said).rstrip()


def _is_plain_rename(file: Mapping[str, Any]) -> bool:
    return file["status"] == "moved" and file.get("added") == file.get("removed") == 0


def _path(file: Mapping[str, Any]) -> str:
    path = render.one_line(file["path"], 200)
    return f"{render.one_line(file['moved_from'], 200)} → {path}" if file.get("moved_from") else path


def _signed(added: int, removed: int, view: View) -> str:
    parts = []
    if added or not removed:
        parts.append(view.colours.paint(f"+{added}", "green"))
    if removed:
        parts.append(view.colours.paint(f"-{removed}", "red"))
    return " ".join(parts)


def _folders(story: Story) -> str:
    folders = [*story.get("folders", ())]
    inside = (
        [f"in {render.one_line(', '.join(below), 60)}"] if (below := [one for one in folders if one != ROOT]) else []
    )
    return " and ".join([*inside, *(["at the top"] if ROOT in folders else [])])


def _token(story: Story) -> str:
    versions = [file["version"] for file in story["files"]]
    token = versions[0] if versions else f"seq:{story['seq']}"
    return f"{render.one_line(story['checkout'])} {token}" if story.get("checkout") else str(token)


def _is_agents(story: Story) -> bool:
    return bool((story.get("writer") or {}).get("agent"))


def _who(story: Story, sessions: Mapping[str, Iterable[str]], view: View) -> str:
    form, writer = story["form"], story.get("writer") or {}
    agent = render.one_line(writer.get("agent") or "", 40)
    if agent:
        session = _session(writer)
        others = {*sessions.get(writer["agent"], ())} - {session}
        named = session and (others or len(session) <= SHORT)
        name = f"{agent}/{render.beginning(session, others, SHORT)}" if named else agent
        return f"{MARK}{name}" if story.get("probable") else name
    if form == "git":
        return "git"
    if form == "capture":
        return "quire"
    if writer.get("uid") is not None:
        name = f"user/{_session(writer)}" if _session(writer) else "user"
        return f"{MARK}{name}" if story.get("probable") else name
    return render.YOU if view.person and story.get("unclaimed") else "outside"


def is_turn(story: Story) -> bool:
    """Return True if the agent named the story's turn or prompt; False for work of an agent session that reports no
    turns.
    """
    return story["form"] == "turn" and bool(story.get("prompt") or (story.get("writer") or {}).get("turn"))


NO_AUTHORS: Final = ("git", "crowd", "capture", "undo")
"""Forms of stories without a single author: their makers wrote none of the lines, or are many."""


def author_of(story: Story, name: str) -> str:
    """Return the author by whom a story is counted: `user` for a person, and for saves of which no agent and no git
    command is known, else `name`; "" if the story has no single author, such as git's.
    """
    if story["form"] in NO_AUTHORS:
        return ""
    writer = story.get("writer") or {}
    return "user" if not writer.get("agent") and (writer.get("uid") is not None or story.get("unclaimed")) else name


def _sessions_of_agents(stories: Sequence[Story]) -> dict[str, set[str]]:
    sessions: dict[str, set[str]] = {}
    for story in stories:
        writer = story.get("writer") or {}
        if writer.get("agent"):
            sessions.setdefault(writer["agent"], set()).add(_session(writer))
    return sessions


def _session(writer: Mapping[str, Any]) -> str:
    return render.one_line(writer.get("parent") or writer.get("agent_session") or "", 80)


def _when(at: str, view: View) -> str:
    return when(at, view.now, view.zone)


def when(at: str, now: datetime, zone: tzinfo | None = None) -> str:
    """Return a time as people write it: `12m ago`, `14:05`, `2026-01-31 14:05`."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return render.clean(at)
    past_s = (now - moment.astimezone(UTC)).total_seconds()
    if 0 <= past_s < 60:
        return f"{int(past_s)}s ago"
    if 0 <= past_s < HOUR_S:
        return f"{int(past_s // 60)}m ago"
    there, today = moment.astimezone(zone), now.astimezone(zone)
    return there.strftime("%H:%M" if there.date() == today.date() and past_s > 0 else "%Y-%m-%d %H:%M")
