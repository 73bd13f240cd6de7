"""Shows output that is longer than the terminal in a pager: `QUIRE_PAGER`, else `PAGER`, else `less`.

Empty or `cat` means none. `LESS` defaults to FRX.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import unicodedata
from collections.abc import Mapping
from typing import Final

USUAL: Final = "less"
NOT_FOUND: Final = (126, 127)


def pager(environ: Mapping[str, str]) -> str:
    """Return the pager's command line; "" for none."""
    wanted = next((environ[name] for name in ("QUIRE_PAGER", "PAGER") if name in environ), USUAL).strip()
    return "" if wanted == "cat" or environ.get("TERM", "dumb") == "dumb" else wanted


def git_pager(environ: Mapping[str, str]) -> str:
    """Return the command line of git's pager for diffs; "" for none. The repository's own configuration is ignored, as
    its author must not choose which program runs here.
    """
    if "QUIRE_PAGER" in environ or environ.get("TERM", "dumb") == "dumb":
        return ""
    if "GIT_PAGER" in environ:
        return environ["GIT_PAGER"].strip()
    import subprocess

    ours = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    for name in ("pager.diff", "core.pager"):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            words = ["git", "config", "--get", name]
            said = subprocess.run(words, cwd="/", env=ours, capture_output=True, text=True, timeout=2).stdout.strip()
            if said and said not in ("true", "false"):
                return said
    return ""


def fits(text: str, columns: int, rows: int) -> bool:
    """Return True if a terminal of this size shows all of `text` and a line for the prompt."""
    if text.count("\n") >= rows:
        return False
    return sum(1 + max(0, _width(line) - 1) // columns for line in text.splitlines()) < rows


def page(text: str, environ: Mapping[str, str], wanted: str = "") -> None:
    """Print `text`, through a pager if it is longer than the terminal. If `wanted` names a pager, it is always used."""
    if wanted and wanted != "cat" and text and _paged(wanted, text, environ):
        return
    command = "" if wanted == "cat" else pager(environ)
    columns, rows = shutil.get_terminal_size()
    if not command or fits(text, columns, rows) or not _paged(command, text, environ):
        sys.stdout.write(text)


def _paged(command: str, text: str, environ: Mapping[str, str]) -> bool:
    import subprocess

    sys.stdout.flush()
    known = {"LESS": "FRX", "LV": "-c", **environ}
    child = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=known)
    assert child.stdin is not None
    # The user quits the pager; an interrupt is meant for the pager, which continues.
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt), child.stdin as pipe:
        pipe.write(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
    while True:
        try:
            return child.wait() not in NOT_FOUND
        except KeyboardInterrupt:
            continue


def _width(line: str) -> int:
    wide, painting = 0, False
    for character in line:
        if character == "\x1b" or painting:
            painting = character != "m"
        elif character == "\t":
            wide += 8 - wide % 8
        elif not unicodedata.combining(character):
            wide += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return wide
