"""`quire unsetup AGENT`: removes Quire from the configuration files of an agent or of git."""

from __future__ import annotations

from quire_client.commands import Command, Invocation
from quire_client.commands.agents.setup import SCOPE_OPTIONS, TARGETS, change
from quire_client.hooks import AGENTS


def run(call: Invocation) -> int:
    return change(call, puts=False)


COMMAND = Command(
    arguments="AGENT|git|git-hooks",
    about="Removes what `quire setup` put into the agent's configuration files, and nothing else, and shows what it\n"
    f"changes. Agents: {', '.join(AGENTS)}.",
    example="quire unsetup claude-code --dry-run",
    run=run,
    words=TARGETS,
    options=SCOPE_OPTIONS,
)
