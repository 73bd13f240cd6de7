"""Environment variables by which git and `quire` in an agent's shell report the agent's name and session."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from quire_journal.workspaces import Place

TOLD: Final = ("QUIRE_AGENT", "QUIRE_SESSION")
"""Environment variables whose values git reports in its trace2 events."""


def variables_for(place: Place, environ: Mapping[str, str], agent: str, session: str) -> dict[str, str]:
    """Return the environment variables to add to an agent's shell, so that git and `quire` report the agent."""
    from quire_journal.workspaces import running, trace_socket

    found = running(place)
    socket = found.socket if found is not None and found.socket else place.socket
    asked = [name for name in environ.get("GIT_TRACE2_ENV_VARS", "").split(",") if name and name not in TOLD]
    variables = {
        "GIT_TRACE2_EVENT": f"af_unix:stream:{trace_socket(socket)}",
        "GIT_TRACE2_ENV_VARS": ",".join([*asked, *TOLD]),
    }
    return variables | {name: value for name, value in zip(TOLD, (agent, session), strict=True) if value}


def exports(variables: Mapping[str, str]) -> str:
    """Return shell `export` lines that set these variables."""
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def command(environ: Mapping[str, str], called: str = "") -> str:
    """Return the word that runs `quire` in a shell with this environment: `quire` if it is on PATH, else the quoted
    path of the running `quire` (`called`, by default `sys.argv[0]`).
    """
    folders = environ.get("PATH", "").split(os.pathsep)
    if any(os.access(found := os.path.join(folder, "quire"), os.X_OK) and os.path.isfile(found) for folder in folders):
        return "quire"
    path = os.path.abspath(called or sys.argv[0])
    return shlex.quote(path) if os.path.basename(path) == "quire" else "quire"
