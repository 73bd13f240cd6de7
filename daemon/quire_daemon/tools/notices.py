"""Adds the notice `changed_since_your_read` to every reply to a caller whose reads are stale, until the caller reads
the files again.

A tool that observes a file reports changes of other writers in full (`recent_changes.news`). Every other reply names
only the files, with writer and time, without reading texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from quire_daemon.core import Decision, Tool, World
from quire_daemon.tools.history import single_path
from quire_daemon.tools.leases import under_leases
from quire_daemon.tools.recent_changes import MOST_ENTRIES, gone_told, hint_of, is_as_seen, news
from quire_journal.history import History, rfc3339
from quire_journal.model import Refusal, version_token
from quire_journal.views import Version

FIELD: Final = "changed_since_your_read"
MORE: Final = "changed_since_your_read_more"

MOST_OTHERS: Final = 3

MOST_COUNTED: Final = 40

_NEWEST: Final = 8

_NAMING: Final = ("path", "to", "paths")


def decided(tool: Tool[Any], params: Any, world: World) -> Decision:
    """Return the decision of a call under the current leases, with notices in its reply. Notices are also added to a
    `Refusal` that is raised.
    """
    try:
        decision = under_leases(tool, params, world)
    except Refusal as refused:
        refused.details = with_notices(refused.details, params, world)
        raise
    return replace(decision, reply=with_notices(decision.reply, params, world))


def with_notices(reply: Mapping[str, Any], params: Any, world: World) -> dict[str, Any]:
    """Return the reply with its notices, those of the tool itself first."""
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
    """Return `reply`, which was made without a tool's decision, with notices for the caller `key`."""
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
    others = [_entry(*changed, history) for changed in islice(_changed(paths, key, history), MOST_OTHERS)]
    if len(others) < MOST_OTHERS:
        return others, 0
    return others, len(paths) - paths.index(others[-1]["path"]) - 1  # an upper bound: some may be unchanged


def _told_of(reply: Mapping[str, Any]) -> set[str]:
    files = reply.get("files")
    parts: Sequence[Any] = [reply, *(files if isinstance(files, list) else ())]
    entries = (entry for part in parts if isinstance(part, Mapping) for entry in part.get(FIELD) or ())
    return {entry["path"] for entry in entries if "path" in entry}


def _named(params: Any, world: World) -> set[str]:
    named = {now.path for now in world.files.values()}
    for name in _NAMING:
        given = getattr(params, name, None)
        for path in given if isinstance(given, list | tuple) else (given,):
            found = single_path(path, world.history) if isinstance(path, str) and path else None
            if found is not None:
                named.add(found)
    return named


def _changed(paths: Sequence[str], key: bytes, history: History) -> Iterator[tuple[str, int, Version]]:
    for path in paths:
        seen, head = history.shown(key, path), history.file(path)
        if seen is None or head is None or head.seq <= seen.news_after or is_as_seen(history, path, seen.news_after):
            continue
        version: Version | None = head
        if history.caller_of(head.writer) == key:
            later = islice(history.versions(path, after=seen.news_after, reverse=True), _NEWEST)
            version = next((v for v in later if history.caller_of(v.writer) != key), None)
        if version is not None:
            yield path, seen.news_after, version


def _entry(path: str, since: int, version: Version, history: History) -> dict[str, Any]:
    return {
        "path": path,
        "since": version_token(since),
        "writer": history.writer_json(version.writer, version.type),
        "evidence": version.evidence or None,
        "at": rfc3339(version.at_ns),
        "version": version_token(version.seq),
        "lines": None,
        "touches": None,
        **gone_told(history, version),
        **hint_of(history, version),
    }
