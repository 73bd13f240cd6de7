"""`blame`: for each line of a file, the record or commit that wrote it, its writer and time, and the undo or git
command that restored it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from quire_daemon.core import Decision, FileNow, Tool, World
from quire_daemon.core.replies import BlameReply
from quire_daemon.tools import file_then, fitting, news, require_file, require_size
from quire_daemon.tools.history.origins import blamed, origin_filter, origin_json, pending
from quire_daemon.tools.history.short_names import spelled_out
from quire_daemon.tools.history.writers import nobody_warned
from quire_journal.history import Blame, History, LineOrigin, missing, parse_point
from quire_journal.model import Refusal, capitalised, counted, version_token
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Text, shown
from quire_journal.views import Version, standing

MOST_LINES: Final = 10_000
"""Maximum number of lines in one reply."""


class BlameParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `blame`. Lines are 1-based, inclusive and clamped to the file."""

    path: str
    at: str | None = None  # a point; default: now
    start_line: int = 1
    end_line: int | None = None
    writer: str = ""  # an agent's name, `name/session`, `user`, `w3` or `outside`


def decide(params: BlameParams, world: World) -> Decision:
    """Return the lines of a file (only those of `writer` if named) and the runs of lines with equal origin
    (`BlameReply`).
    """
    params = spelled_out(params, world.history)
    path, version = _asked(params, world.files[params.path], world)
    require_text(path, version, world)
    start, stop, cut = _slice(params, world.history.text_of(version.blob), world.settings.limits.reply_bytes)
    found = blamed(path, version, world, start, stop)
    told = _lines_and_runs(found, start, stop, params.writer, world.history)
    reply = {
        "ok": True,
        "message": _sentence(found, path, start, stop, cut, params.writer, len(told["lines"])),
        "path": path,
        "version": version_token(version.seq),
        "sha256": version.blob.hex(),
        "lineCount": len(found.text),
        "startLine": start + 1,
        "endLine": stop,
        **told,
        "names": list(found.names),
        "gaps": _gaps(found),
        "truncated": cut,
    }
    if cut:
        reply["next_line"] = stop + 1
    if not told["lines"]:
        reply |= nobody_warned(params.writer, world.history)
    return Decision({**reply, **news(world, path)})


def _asked(params: BlameParams, now: FileNow, world: World) -> tuple[str, Version]:
    history = world.history
    if params.at is not None:
        return file_then(now, parse_point(params.at, history, "at"), params.at, history)
    require_file(now, world)
    version = standing(history.file(now.path))
    if version is None:
        raise Refusal("not_found", f"The journal knows no file {now.path}.", "check_path", path=now.path)
    return now.path, version


def require_text(path: str, version: Version, world: World) -> None:
    """Raise `Refusal` for a version that is too large, not held, or binary."""
    require_size(path, version.size, world)
    try:
        if version.uncaptured:
            raise NotHeld(version.blob)
        text = world.history.text_of(version.blob)
    except NotHeld:
        lost = missing(world.history, version)
        message = f"The bytes of {path} in {version_token(version.seq)} are not in the journal: {lost.told}."
        raise Refusal("uncaptured", message, path=path, why=lost.why) from None
    if text.binary:
        raise Refusal("binary_file", f"{path} holds NUL bytes; it has no lines to blame.", path=path)


def _slice(params: BlameParams, text: Text, limit: int) -> tuple[int, int, bool]:
    lines = text.lines
    start = min(max(params.start_line, 1) - 1, len(lines))
    asked = len(lines) if params.end_line is None else max(min(params.end_line, len(lines)), start)
    stop = start + fitting(lines[start : min(asked, start + MOST_LINES)], limit)
    return start, stop, stop < asked


def _lines_and_runs(found: Blame, start: int, stop: int, whose: str, history: History) -> dict[str, Any]:
    fits, known = origin_filter(whose, history), dict[Any, dict[str, Any]]()
    lines: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    for first, end in _runs(found.origins, start, stop):
        if not fits(found.origins[first]):
            continue
        key = found.origins[first].told
        origin = known.get(key) or known.setdefault(key, origin_json(found.origins[first], history))
        runs.append({"start": first + 1, "end": end, **origin})
        texts = enumerate(found.text.lines[first:end], first + 1)
        lines += [{"line": number, **origin, "text": shown(line)} for number, line in texts]
    told: dict[str, Any] = {"lines": lines, "runs": runs}
    if found.text.lossy and any("\ufffd" in line["text"] for line in lines):
        told["lossy"] = True
    return told


def _runs(origins: Sequence[LineOrigin], start: int, stop: int) -> Iterator[tuple[int, int]]:
    first = start
    for number in range(start + 1, stop + 1):
        if number == stop or origins[number].told != origins[first].told:
            yield first, number
            first = number


def _gaps(found: Blame) -> list[dict[str, Any]]:
    gap = found.gap
    if gap is None:
        return []
    return [{"version": version_token(gap.seq), "why": gap.why, "attributed_to": version_token(gap.after)}]


def _sentence(found: Blame, path: str, start: int, stop: int, cut: bool, whose: str, fitting: int) -> str:
    if start == stop:
        return f"No lines of {path}, which has {len(found.text)}."
    lines = f"lines {start + 1}-{stop} of {len(found.text)} of {path}"
    origins = found.origins[start:stop]
    wrote = len({origin.version.seq for origin in origins if origin.commit is None})
    commits = len({origin.commit.commit for origin in origins if origin.commit is not None})
    counts = [counted(wrote, "version")] if wrote else []
    counts += [counted(commits, "commit")] if commits else []
    said = f"{capitalised(lines)} come from {' and '.join(counts)}"
    if whose:
        said = f"Of {lines}, {whose[:80]} wrote {fitting or 'none'}"
    if waiting := pending(origins):
        said += f"; the commit authors of {counted(waiting, 'line')} are pending, ask again"
    if found.gap is not None:
        said += f"; beyond {version_token(found.gap.after)} nothing is known ({found.gap.why})"
    return f"{said}; more from line {stop + 1} on." if cut else f"{said}."


BLAME_TOOL: Final[Tool[BlameParams]] = Tool(
    "blame",
    BlameParams,
    lambda params: (params.path,),
    decide,
    catch_up=True,
    of_past=True,
    of_tree=True,
    long=True,
    reply=BlameReply,
)
