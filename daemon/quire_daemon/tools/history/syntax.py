"""`syntax`: reports versions that do not parse, for languages with a grammar."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.core.replies import SyntaxReply
from quire_journal.model import Refusal, counted, parse_version_token, path_after, pause
from quire_journal.text import Text
from quire_journal.views import standing

MOST_VERSIONS: Final = 50
"""Maximum number of versions of one call; parsing one takes up to 0.5 s."""

NOTHING: Final = Text.of(b"")


class SyntaxParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `syntax`."""

    versions: list[str]

    def __post_init__(self) -> None:
        if len(self.versions) > MOST_VERSIONS:
            raise ValueError(f"`versions`: at most {MOST_VERSIONS}")


def decide(params: SyntaxParams, world: World) -> Decision:
    """Return the versions that do not parse (`SyntaxReply`). A version without a grammar or held bytes counts as
    correct.
    """
    broken = [told for version in params.versions if (told := _broken(version, world)) is not None]
    message = f"{counted(len(broken), 'version')} of {len(params.versions)} do not parse."
    return Decision({"ok": True, "message": message, "broken": broken})


def _broken(named: str, world: World) -> dict[str, Any] | None:
    pause()
    history, seq = world.history, parse_version_token(named)
    path = path_after(history.event(seq)) if seq is not None else None
    if seq is None or path is None:
        raise Refusal("not_found", f"There is no version {named[:40]}.", "log", argument="versions")
    version = standing(history.version(path, seq))
    text = history.text_held(version.blob) if version is not None and version.blob else None
    if text is None or text.binary:
        return None
    faults = world.grammars(path, NOTHING, text)()
    if not faults:
        return None
    line, message = faults[0]
    return {"version": named, "path": path, "line": line, "message": message}


SYNTAX_TOOL: Final[Tool[SyntaxParams]] = Tool("syntax", SyntaxParams, no_paths, decide, reply=SyntaxReply)
