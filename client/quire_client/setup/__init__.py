"""Setup: an agent's configuration files with Quire's entries in them, and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.setup import agents as agents, write as write
    from quire_client.setup.agents import (
        File as File,
        Scope as Scope,
        WayIn as WayIn,
        broken as broken,
        ways_in as ways_in,
    )
    from quire_client.setup.claude_code import OBJECTS as OBJECTS, SERVING as SERVING, TOOL as TOOL
    from quire_client.setup.errors import MalformedConfig as MalformedConfig
    from quire_client.setup.write import Change as Change
else:
    __getattr__ = face(
        __name__,
        agents="File Scope WayIn broken ways_in",
        claude_code="OBJECTS SERVING TOOL",
        errors="MalformedConfig",
        write="Change",
    )
