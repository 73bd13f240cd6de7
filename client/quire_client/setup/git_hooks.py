"""Adds a block of shell lines to a repository's git hooks, and creates missing hooks.

Only the exit status 1 of `quire check-staged` fails a commit, and only in an agent's shell, as a user may commit
changes of all writers. An agent may also commit what its shell probably wrote.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from quire_client.setup.agents import File
from quire_client.setup.errors import MalformedConfig

GIT_HOOKS: Final = "git-hooks"
MODE: Final = 0o755

_BEGIN: Final = "# quire setup git-hooks: begin"
_END: Final = "# quire setup git-hooks: end"
_BLOCK: Final = re.compile(rf"^{re.escape(_BEGIN)}\n.*?^{re.escape(_END)}\n", re.MULTILINE | re.DOTALL)
_SHELL: Final = re.compile(r"#!\s*(?:/usr)?/bin/(?:env\s+(?:-S\s+)?)?(?:ash|bash|dash|ksh|sh|zsh)\b")
_FIRST: Final = "#!/bin/sh\n"

_BODIES: Final = {
    "pre-commit": """\
if [ -n "$QUIRE_AGENT" ] && command -v {quire} >/dev/null 2>&1; then
  {quire} check-staged --probable --writer "$QUIRE_AGENT${{QUIRE_SESSION:+/$QUIRE_SESSION}}"
  [ $? -ne 1 ] || exit 1
fi
""",
    "prepare-commit-msg": """\
case "$2" in
  merge | squash | commit) ;;
  *)
    if command -v {quire} >/dev/null 2>&1; then
      {quire} commit-message 2>/dev/null | while IFS= read -r quire_line; do
        git interpret-trailers --in-place --if-exists addIfDifferent --trailer "$quire_line" "$1"
      done
    fi
    ;;
esac
""",
}


def hook_names(trailers: bool) -> Iterator[str]:
    yield "pre-commit"
    if trailers:
        yield "prepare-commit-msg"


def put(name: str, quire: str, text: str | None) -> str:
    """Return the text of the git hook `name` with Quire's block; None means a new hook.

    Raises MalformedConfig if the hook is not a shell script.
    """
    body = _BODIES[name].format(quire=shlex.quote(quire))
    block = f"{_BEGIN}\n{body}{_END}\n"
    if text is None:
        return _FIRST + block
    rest = _BLOCK.sub("", text, count=1)
    first, line_end, others = rest.partition("\n")
    if not first.startswith("#!"):
        return block + rest  # such as husky's hooks, which run with sh
    if not _SHELL.match(first) or not line_end:
        raise MalformedConfig(f"it is no shell script: call `quire {_CALLED[name]}` in it yourself")
    return f"{first}\n{block}{others}"


_CALLED: Final = {"pre-commit": "check-staged", "prepare-commit-msg": "commit-message"}


def take(text: str) -> str | None:
    """Return a git hook's text without Quire's block; None if the hook held nothing else."""
    rest = _BLOCK.sub("", text, count=1)
    return None if rest == _FIRST and rest != text else rest


def hooks_folder(git_path: str, root: Path, shared: bool) -> Path:
    """Return the folder of the git hooks that users edit. `git_path` is the folder that git uses; for husky its parent
    is returned. Raises MalformedConfig if `shared`: core.hooksPath is set for all repositories.
    """
    folder = root / git_path
    if shared:
        raise MalformedConfig("core.hooksPath sends all of your repositories there: call `quire` in its hooks yourself")
    return folder.parent if folder.name == "_" and folder.parent.name == ".husky" else folder


def git_hook_files(folder: Path, quire: str, trailers: bool, tied: bool) -> Iterator[File]:
    """Yield the git hooks of a folder, with the functions that add and remove Quire's block. `trailers`: also the hook
    that adds trailers to a commit's message; `tied`: the hooks are for this machine alone.
    """
    for name in hook_names(trailers):
        yield File(folder / name, partial(put, name, quire), take, tied, MODE)


def set_aside(files: Iterable[File]) -> Iterator[File]:
    """Yield those hooks that pre-commit has renamed to `NAME.legacy`, under which its own hooks call them."""
    for file in files:
        aside = file.path.with_name(f"{file.path.name}.legacy")
        if aside.is_file():
            yield file._replace(path=aside)
