"""Runs git without locks, and without programs that the repository's configuration names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

PATIENCE_S: Final = 5.0

_SAFE: Final = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never")


def git_output(
    words: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    given: str = "",
    own: Sequence[str] = (),
    index: str = "",
) -> str:
    """Return git's stdout in a folder, or "" if git fails or takes longer than `PATIENCE_S` seconds. `words`: git's
    subcommand and arguments; `own`: git's options before it; `given`: its stdin; `index`: path of another index file.
    """
    import subprocess

    # a git hook's GIT_ variables belong to its own repository
    ours = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    quiet = {**ours, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_TRACE2_EVENT": "0"}
    if index:
        quiet["GIT_INDEX_FILE"] = index
    try:
        said = subprocess.run(
            [*_SAFE, *own, *words],
            cwd=folder,
            env=quiet,
            input=os.fsencode(given),
            capture_output=True,
            timeout=PATIENCE_S,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return os.fsdecode(said.stdout) if said.returncode == 0 else ""
