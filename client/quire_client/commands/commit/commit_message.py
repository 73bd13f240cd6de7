"""`quire commit-message`: prints commit trailers that name the agents whose lines are staged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, commit_named, staged
from quire_client.commands.commit.check_staged import known_files, new_lines, parsed
from quire_journal.model import is_agent

CO_AUTHORS: Final = {
    "claude-code": "Claude <noreply@anthropic.com>",
    "codex": "Codex <noreply@openai.com>",
    "cursor": "Cursor <cursoragent@cursor.com>",
}
"""Agent → the name and address that its maker has it sign commits with."""


def run(call: Invocation) -> int:
    call.at_most(0)
    head = commit_named("HEAD", call.place.root, call.environ)
    if not head:
        raise Usage("There is no commit yet, which the index could be compared with.")
    index = parsed(staged(call.place.root, call.environ))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    with call.connect() as client:
        known = known_files(client, [file.path for file in index], head)
        for file in index:
            added = file.added
            told = client.call("blame", {"path": file.path, **call.stated(("writer",))}) if added else {}
            if not told.get("ok") and told.get("error") not in (None, "not_found"):
                return call.answer(told, lambda reply: "")
            for line in new_lines(told.get("lines") or (), known.get(file.path, {})):
                writer = line.get("writer") or {}
                if is_agent(writer.get("agent", "")) and line.get("text") in added:
                    session = str(writer.get("parent") or writer.get("agent_session") or "")
                    one = found.setdefault((writer["agent"], session), {**writer, "agent_session": session, "lines": 0})
                    one["lines"] += 1
    agents = [found[key] for key in sorted(found)]
    trailers = [*dict.fromkeys(line for one in agents for line in _trailers(one))]
    trailers.sort(key=lambda line: not line.startswith("Co-authored-by"))
    reply = {"ok": True, "message": f"{render.counted(len(agents), 'agent session')}.", "trailers": trailers}
    return call.answer({**reply, "agents": agents}, lambda reply: "\n".join(reply["trailers"]))


def _trailers(writer: Mapping[str, Any]) -> Iterator[str]:
    agent = render.one_line(writer["agent"], 80)
    if agent in CO_AUTHORS:
        yield f"Co-authored-by: {CO_AUTHORS[agent]}"
    session = f"/{render.one_line(writer['agent_session'], 80)}" if writer["agent_session"] else ""
    model = f" ({render.one_line(writer['model'], 80)})" if writer.get("model") else ""
    yield f"Agent: {agent}{session}{model}"


COMMAND = Command(
    arguments="",
    about="Prints trailers that name the agents whose lines are in git's index: `Agent: NAME/SESSION (MODEL)`, and a\n"
    'Co-authored-by for agents that have an address. `quire commit-message >> "$1"` in a prepare-commit-msg hook of\n'
    "yours adds them. It looks at the files as they are now, as `quire check-staged` does.",
    example="quire commit-message --writer claude-code",
    run=run,
    options=(Option("writer", "WHO", "only for this writer's lines: an agent's name, or NAME/SESSION"),),
)
