"""Files that `cp -r FOLDER NEW` creates. Pure.

The command line names only the folder, so it explains a new file only if the file of the same name in the copied folder
has the same content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from quire_daemon.tools.evidence.program_writes import listing
from quire_daemon.tools.evidence.shell_commands import TOP, Invocation, invocations, joined

_RECURSIVE: Final = re.compile(r"-[a-zA-Z]*[rRa][a-zA-Z]*|--recursive|--archive")


def copied_from(command: str, path: str) -> Iterator[str]:
    """Yield the paths from which a command line that copies a whole folder may have copied `path`."""
    names = path.split("/")
    for run in invocations(command, listing):
        source, target = _folders(run)
        while source and target:
            for at in range(len(names) - len(target)):
                if names[at : at + len(target)] == target:
                    yield "/".join([*names[:at], *source, *names[at + len(target) :]])
            if source[0] != target[0]:
                break
            source, target = source[1:], target[1:]  # the paths may begin above the top of the checkout


def _folders(run: Invocation) -> tuple[list[str], list[str]]:
    words = [word for word in run.argv[1:] if not word.startswith("-")]
    options = [word for word in run.argv[1:] if word.startswith("-")]
    is_copy = run.argv[:1] in (("cp",), ("gcp",)) and len(words) == 2 and any(map(_RECURSIVE.fullmatch, options))
    source, target = (_parts(run, word) for word in words) if is_copy else ([], [])
    return source, target


def _parts(run: Invocation, word: str) -> list[str]:
    parts = [part for part in joined(run.folder, word).removeprefix(TOP).split("/") if part not in ("", ".")]
    return [] if ".." in parts or "~" in parts else parts
