"""`quire commit-message`: prints commit trailers that name the agents whose lines are staged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
            lines = new_lines(told.get("lines") or (), known.get(file.path, {}))
            for line in _staged([line for line in lines if line.get("text") in added]):
                writer = line.get("writer") or {}
                if is_agent(writer.get("agent", "")):
                    key = _session_of(writer)
                    one = found.setdefault(key, {**writer, "agent_session": key[1], "lines": 0})
                    one["lines"] += 1
    agents = [found[key] for key in sorted(found)]
    trailers = [*dict.fromkeys(line for one in agents for line in _trailers(one))]
    trailers.sort(key=lambda line: not line.startswith("Co-authored-by"))
    reply = {"ok": True, "message": f"{render.counted(len(agents), 'agent session')}.", "trailers": trailers}
    return call.answer({**reply, "agents": agents}, lambda reply: "\n".join(reply["trailers"]))


def _session_of(writer: Mapping[str, Any]) -> tuple[str, str]:
    return str(writer.get("agent") or ""), str(writer.get("parent") or writer.get("agent_session") or "")


def _staged(lines: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the lines that are staged: of equal lines by several writers, such as blank ones, those of writers who have
    other lines here, or all if none has.
    """
    wrote: dict[str, set[tuple[str, str]]] = {}
    for line in lines:
        wrote.setdefault(line["text"], set()).add(_session_of(line.get("writer") or {}))
    sure = {one for writers in wrote.values() if len(writers) == 1 for one in writers}
    for line in lines:
        meant = wrote[line["text"]] & sure or wrote[line["text"]]
        if _session_of(line.get("writer") or {}) in meant:
            yield line


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
