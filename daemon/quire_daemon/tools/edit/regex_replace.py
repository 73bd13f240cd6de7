"""The tool `regex_replace`: the dialect, planning with what came of the search that it asked for."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from quire_daemon.core import Decision, Tool, World
from quire_daemon.dialects import REGEX_REPLACE, RegexParams, planning
from quire_daemon.tools.edit import engine


def decide(params: RegexParams, world: World) -> Decision:
    """Everything that follows from one call. Raises `Refusal`, or `NeedsSearch`: to be decided again."""
    return engine.decide(replace(REGEX_REPLACE, plan=planning(world.found)), params, world)


REGEX_TOOL: Final[Tool[RegexParams]] = Tool(
    name=REGEX_REPLACE.name,
    params=RegexParams,
    paths=lambda params: (params.path,),
    decide=decide,
    writes=True,
    reply=REGEX_REPLACE.reply,
)
