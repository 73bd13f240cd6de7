"""The tool `regex_replace`: plans with the results of the search that the dialect requested."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from quire_daemon.core import Decision, Tool, World
from quire_daemon.dialects import REGEX_REPLACE, RegexParams, planning
from quire_daemon.tools.edit import engine


def decide(params: RegexParams, world: World) -> Decision:
    """Return the decision for one call. Raises `Refusal`, or `NeedsSearch` if `world.found` lacks the result of the
    search, which a worker then makes before the call is decided again.
    """
    return engine.decide(replace(REGEX_REPLACE, plan=planning(world.found)), params, world)


REGEX_TOOL: Final[Tool[RegexParams]] = Tool(
    name=REGEX_REPLACE.name,
    params=RegexParams,
    paths=lambda params: (params.path,),
    decide=decide,
    writes=True,
    reply=REGEX_REPLACE.reply,
)
