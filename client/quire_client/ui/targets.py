"""Daemon calls for the selected story (a turn, git operation, series of saves, or burst), file or tool call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

Story = Mapping[str, Any]
File = Mapping[str, Any]

_UNDONE_AS: Final = {"saves": "outside", "crowd": "outside", "person": "user"}


class Ask(NamedTuple):
    tool: str
    arguments: dict[str, Any]


def opened(story: Story) -> Ask:
    """Return the call that loads a story with all its files and tool calls. A turn of which the list has only a part is
    searched in its writer's records alone, which reach farther back.
    """
    if not story["whole"] and story["form"] == "turn":
        return Ask("stories", {**_of_turn(story), "until": f"seq:{story['seq']}", "all": True, "limit": 1})
    start, end = f"seq:{story['first'] - 1}", f"seq:{story['seq']}"
    return Ask("stories", {"since": start, "until": end, "all": True, "limit": 200})


def diff_of(story: Story, files: Sequence[File]) -> Ask:
    """Return the call for the diff of these files over the time of a story. Concurrent changes of other writers are
    included.
    """
    paths = [path for file in files for path in (file.get("moved_from"), file["path"]) if path]
    start, end = f"seq:{story['first'] - 1}", f"seq:{story['seq']}"
    if len(files) == 1:
        (file,) = files
        start, end = file.get("before") or start, file.get("version") or end
        if file["status"] == "moved":
            start = f"seq:{story['first'] - 1}"
    return Ask("diff", {"from": start, "to": end, "paths": paths, **_whose(story)})


def diff_of_call(story: Story, call: Mapping[str, Any]) -> Ask:
    """Return the daemon call for the diff of one tool call of an agent."""
    if "burst" in call:
        return Ask("log", {"burst": call["burst"], "patch": True, "limit": 60})
    end = call["batch"] + max(int(call.get("writes") or 1) - 1, 0)
    arguments = {"from": f"seq:{call['batch'] - 1}", "to": f"seq:{end}"}
    return Ask("diff", {**arguments, **({"paths": [*call["paths"]]} if call.get("paths") else {})})


def blame_of(file: File) -> Ask:
    """Return the daemon call for the blame of a file of a story: as it was after the story, or before it if the story
    removed the file.
    """
    gone = file["status"] == "removed"
    path = file["path"]
    point = file.get("before") if gone else file.get("version")
    return Ask("blame", {"path": path, **({"at": point} if point else {})})


def undo_of(story: Story, file: File | None = None, call: Mapping[str, Any] | None = None) -> Ask | None:
    """Return the daemon call that plans the undo of a story, or of its part `file` or `call`. Returns None if it cannot
    be undone.
    """
    paths = {} if file is None else {"paths": [path for path in (file.get("moved_from"), file["path"]) if path]}
    if call is not None:
        return Ask("undo", {**{name: call[name] for name in ("burst", "batch") if name in call}, "plan": True})
    if story["form"] == "run":
        return Ask("undo", {"burst": story["burst"], **paths, "plan": True})
    if story["form"] == "undo":
        return Ask("redo", {"batch": story["seq"], **paths, "plan": True})
    between = {"from": f"seq:{story['first'] - 1}", "to": f"seq:{story['seq']}"}
    if story["form"] == "git":
        return Ask("undo", {"git": "last", **between, **paths, "plan": True}) if story.get("writes") else None
    probable = {"probable": True} if story.get("probable") or (file or {}).get("probable") else {}
    if (story.get("writer") or {}).get("agent"):
        whose = _of_turn(story)
        if not story["whole"] and "turn" in whose:
            between = {"to": between["to"]}
        return Ask("undo", {**whose, **between, **probable, **paths, "plan": True})
    if story["form"] not in _UNDONE_AS:
        return None
    listed = [path for one in story["files"] for path in (one.get("moved_from"), one["path"]) if path]
    if not paths and listed and len(story["files"]) == story["files_count"]:
        paths = {"paths": listed}
    writer = "user" if (story.get("writer") or {}).get("uid") is not None else _UNDONE_AS[story["form"]]
    return Ask("undo", {"writer": writer, **between, **paths, "plan": True})


def is_of_a_part(story: Story, ask: Ask) -> bool:
    """Return True if `ask` undoes only the known part of a story that began earlier."""
    return not story["whole"] and "from" in ask.arguments


def is_same(listed: Story, story: Story) -> bool:
    """Return True if `listed`, a list's entry that may be cut off, is the same story as `story`, loaded by itself."""
    if listed["form"] != story["form"]:
        return False
    if listed["first"] == story["first"] or listed["whole"] or story["form"] != "turn":
        return bool(listed["first"] == story["first"])
    return story["first"] <= listed["first"] <= story["seq"] and _of_turn(listed) == _of_turn(story)


def _of_turn(story: Story) -> dict[str, Any]:
    turn = (story.get("writer") or {}).get("turn")
    return {**_whose(story), **({"turn": turn} if turn else {})}


def _whose(story: Story) -> dict[str, Any]:
    writer = story.get("writer") or {}
    agent, session = writer.get("agent"), writer.get("parent") or writer.get("agent_session")
    if agent:
        return {"writer": f"{agent}/{session}" if session else agent}
    return {"agent_session": session} if session else {}
