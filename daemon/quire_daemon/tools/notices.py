"""Notices: `changed_since_your_read` on every reply to a caller whose reads went stale, until it reads again.

A tool that looks at a file tells in full what others did to it (`basis.news`). Beside that, whatever the tool, each
reply names the files that its caller has read and others have changed since: who did it, and when, without a look at
any text, so that it costs next to nothing. What a caller reads in this very call is told once more, for the last time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from quire_daemon.core import Decision, Tool, World
from quire_daemon.tools.history import single_path
from quire_daemon.tools.leases import under_leases
from quire_daemon.tools.recent_changes import MOST_ENTRIES, hint_of, news
from quire_journal.history import History, rfc3339
from quire_journal.model import Refusal, version_token
from quire_journal.views import Version

FIELD: Final = "changed_since_your_read"
MORE: Final = "changed_since_your_read_more"

MOST_OTHERS: Final = 3
"""Files that one reply tells of though the call is not about them; the rest is counted."""

MOST_COUNTED: Final = 40
"""So far."""

_NEWEST: Final = 8
"""Versions of a file that are looked through for the newest one by somebody else."""

_NAMING: Final = ("path", "to", "paths")
"""Arguments that name files."""


def decided(tool: Tool[Any], params: Any, world: World) -> Decision:
    """What follows from the call, under the leases that stand, with the notices in its reply. Raises `Refusal`."""
    try:
        decision = under_leases(tool, params, world)
    except Refusal as refused:
        refused.details = with_notices(refused.details, params, world)
        raise
    return replace(decision, reply=with_notices(decision.reply, params, world))


def with_notices(reply: Mapping[str, Any], params: Any, world: World) -> dict[str, Any]:
    """The reply, with what its caller has to be told. What the tool itself tells stays first."""
    shown = dict(reply)
    candidates = list(islice(world.history.stale_reads(world.who.key), MOST_COUNTED))
    if not candidates:
        return shown
    told = _told_of(shown)
    named = _named(params, world) - told
    entries = list(shown.get(FIELD) or ())
    more = int(shown.get(MORE) or 0)
    for path in sorted(named.intersection(candidates)):
        about = news(world, path)
        entries += about.get(FIELD, ())
        more += about.get(MORE, 0)
    rest = [path for path in candidates if path not in told and path not in named]
    others, uncounted = _of_others(rest, world.who.key, world.history)
    return _telling(shown, entries + others, more + uncounted)


def beside(reply: Mapping[str, Any], key: bytes, history: History) -> dict[str, Any]:
    """The reply of a service, which looks at no file, with what the caller `key` has to be told."""
    candidates = list(islice(history.stale_reads(key), MOST_COUNTED))
    return _telling(dict(reply), *_of_others(candidates, key, history))


def _telling(shown: dict[str, Any], entries: Sequence[Any], more: int) -> dict[str, Any]:
    more += max(0, len(entries) - MOST_ENTRIES)
    if entries:
        shown[FIELD] = entries[:MOST_ENTRIES]
    if more:
        shown[MORE] = more
    return shown


def _of_others(paths: Sequence[str], key: bytes, history: History) -> tuple[list[dict[str, Any]], int]:
    """What is told of files that the call is not about, and how many more of them there are."""
    others = [_entry(*changed, history) for changed in islice(_changed(paths, key, history), MOST_OTHERS)]
    if len(others) < MOST_OTHERS:
        return others, 0
    return others, len(paths) - paths.index(others[-1]["path"]) - 1  # without a look: some may be as they were


def _told_of(reply: Mapping[str, Any]) -> set[str]:
    """The files about which the reply says it already."""
    files = reply.get("files")
    parts: Sequence[Any] = [reply, *(files if isinstance(files, list) else ())]
    entries = (entry for part in parts if isinstance(part, Mapping) for entry in part.get(FIELD) or ())
    return {entry["path"] for entry in entries if "path" in entry}


def _named(params: Any, world: World) -> set[str]:
    """The files that the call is about: those that it saw, and those that its arguments name."""
    named = {now.path for now in world.files.values()}
    for name in _NAMING:
        given = getattr(params, name, None)
        for path in given if isinstance(given, list | tuple) else (given,):
            found = single_path(path, world.history) if isinstance(path, str) and path else None
            if found is not None:
                named.add(found)
    return named


def _changed(paths: Sequence[str], key: bytes, history: History) -> Iterator[tuple[str, int, Version]]:
    """Each of these files that really has changed: the version that was read, and the newest by somebody else."""
    for path in paths:
        seen, head = history.shown(key, path), history.file(path)
        if seen is None or head is None or head.seq <= seen.news_after:
            continue
        version: Version | None = head
        if history.caller_of(head.writer) == key:
            later = islice(history.versions(path, after=seen.news_after, reverse=True), _NEWEST)
            version = next((v for v in later if history.caller_of(v.writer) != key), None)
        if version is not None:
            yield path, seen.news_after, version


def _entry(path: str, since: int, version: Version, history: History) -> dict[str, Any]:
    """A change of a file that the call is not about. Its lines were not looked at."""
    return {
        "path": path,
        "since": version_token(since),
        "writer": history.writer_json(version.writer, version.type),
        "evidence": version.evidence or None,
        "at": rfc3339(version.at_ns),
        "version": version_token(version.seq),
        "lines": None,
        "touches": None,
        **({"gone": True} if version.gone else {}),
        **hint_of(history, version),
    }
