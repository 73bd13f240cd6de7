"""Conditions that a file must meet before a tool works on it."""

from __future__ import annotations

from quire_daemon.core import FileNow, World
from quire_journal.history import History, is_by_git, short_command, to_the_second
from quire_journal.model import OUTSIDE, REGULAR, Refusal, version_token
from quire_journal.text import Text
from quire_journal.views import Version


def captured(now: FileNow) -> Version | None:
    """Return the version with exactly the bytes on disk; None if the journal does not hold these bytes."""
    version = now.version
    return None if version is None or version.gone or version.uncaptured or now.uncaptured else version


def shown_as(now: FileNow) -> Version | None:
    """Return the version to record as read by a caller that is shown the text of `now`; None if the journal has no
    version with its hash. The journal need not hold the bytes.
    """
    version, text = now.version, now.text
    if version is None or version.gone or text is None or version.blob != text.blob:
        return captured(now)
    return version


def require_file(now: FileNow, world: World) -> None:
    """Raise `Refusal` unless a regular file exists."""
    if now.kind == "missing":
        why = _how_it_went(now, world) or _too_much_in_front(now, world)
        raise Refusal("not_found", f"{now.path} does not exist.{why}", "check_path", path=now.path)
    if now.kind != "file":
        raise Refusal("not_a_file", f"{now.path} is {_ARTICLE.get(now.kind, now.kind)}.", "check_path", path=now.path)


def require_own_name(now: FileNow) -> None:
    """Raise `Refusal` for a path that is a link: the caller may mean the link or its target."""
    if now.resolved_from:
        message = f"{now.resolved_from} is a link to {now.path}; name the file itself."
        raise Refusal("not_a_file", message, "name_the_target", path=now.resolved_from, target=now.path)


def require_free(there: FileNow, path: str) -> FileNow:
    """Return `there`, the new name for `path`. Raises `Refusal` if it is taken, or names a folder."""
    if there.kind != "missing":
        message = f"{there.path} exists; nothing is overwritten."
        raise Refusal("already_exists", message, "choose_another_path", path=path, to=there.path)
    require_name(there)
    return there


def require_name(there: FileNow) -> None:
    """Raise `Refusal` for a new file whose path ends with "/": the caller may mean a folder."""
    if there.as_folder:
        message = f"{there.path}/ names a folder, and there is none; what is made or moved there needs a name."
        raise Refusal("not_a_file", message, "check_path", path=there.path)


_ARTICLE = {"folder": "a folder", "special": "not a regular file", "link": "a link that leads to no file"}


def _how_it_went(now: FileNow, world: World) -> str:
    gone = now.version
    if gone is None or not gone.gone:
        return ""
    where = f" It was moved to {gone.moved_to}" if gone.moved_to else " It was removed"
    by, at = who_made(gone, world.history), to_the_second(gone.at_ns)
    return f"{where} by {by} at {at}, in {version_token(gone.seq)}."


def who_made(version: Version, history: History) -> str:
    """Return the name of the writer of a version, or of git's command (`git reset`) for a version of unknown writer
    that git wrote.
    """
    hint = getattr(history.event(version.seq), "hint", "") if version.writer == OUTSIDE else ""
    return short_command(hint) if is_by_git(hint) else history.named(version.writer)


def _too_much_in_front(now: FileNow, world: World) -> str:
    """Return the hint that the end of the given path names an existing file (`a/b.py` for `x/a/b.py`); "" if it does
    not.
    """
    path = now.path.strip("\"'`")
    while path:
        head = world.history.file(path)
        if path != now.path and head is not None and not head.gone and head.entry == REGULAR:
            return f" There is {path}."
        path = path.partition("/")[2]
    return ""


def require_text(now: FileNow, world: World) -> Text:
    """Return the text of a file that can be edited. Raises `Refusal` for a binary file, or too many bytes or lines."""
    text = require_readable(now, world)
    require_lines(now.path, len(text), world)
    return text


def require_readable(now: FileNow, world: World) -> Text:
    """Return the text of a file that can be shown, with any number of lines. Raises `Refusal` for a binary, unreadable
    or too large file.
    """
    require_file(now, world)
    require_size(now.path, now.size if now.text is None else len(now.text.data), world)
    if now.text is None:
        why = f" ({now.uncaptured})" if now.uncaptured else ""
        raise Refusal("permission_denied", f"{now.path} cannot be read{why}.", "check_permissions", path=now.path)
    if now.text.binary:
        raise Refusal("binary_file", f"{now.path} holds NUL bytes; text tools leave it alone.", path=now.path)
    return now.text


def require_size(path: str, size: int, world: World) -> None:
    """Raise `Refusal` for a text above the size limit for edits."""
    limit = world.settings.limits.edit_bytes
    if size > limit:
        message = f"{path} has {size} bytes; the limit for editing is {limit}."
        raise Refusal("file_too_large", message, path=path, sizeBytes=size, limit=limit)


def require_lines(path: str, lines: int, world: World) -> None:
    """Raise `Refusal` for a text with more lines than can be edited without delaying other callers."""
    limit = world.settings.limits.edit_lines
    if lines > limit:
        message = f"{path} has {lines} lines; the limit for editing is {limit} (edit_lines)."
        raise Refusal("file_too_large", message, path=path, lineCount=lines, limit=limit)


def require_fits(path: str, after: Text, world: World) -> None:
    """Raise `Refusal` for a result that would be too large to edit again."""
    require_size(path, len(after.data), world)
    require_lines(path, len(after), world)


def require_captured(now: FileNow, allowed: bool) -> list[dict[str, str]]:
    """Raise `Refusal` if the journal does not hold the bytes on disk, or, if `allowed`, return a warning; return [] if
    the journal holds them.
    """
    if now.kind != "file" or captured(now) is not None:
        return []
    why = now.uncaptured or (now.version.uncaptured if now.version else "") or "not captured"
    if not allowed:
        message = f"The bytes of {now.path} are not in the journal ({why}): there would be no undo."
        raise Refusal("uncaptured", message, "allow_uncaptured", path=now.path, why=why)
    message = f"The bytes of {now.path} were not in the journal ({why}): there is no undo."
    return [{"type": "uncaptured", "message": message}]
