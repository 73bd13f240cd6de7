"""Formats the authorship of one commit: as a git-ai note, an in-toto statement and an Agent Trace record.

Sources: git-ai standard 3.0.0; in-toto attestation framework, statement v1; agent-trace.dev, version 0.1.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from quire_journal import VERSION
from quire_journal.model import is_agent

SCHEMA: Final = "authorship/3.0.0"
PREDICATE: Final = "https://quire.dev/agent-authorship/v1"
STATEMENT: Final = "https://in-toto.io/Statement/v1"
TRACE: Final = "0.1"
DIGITS: Final = 14

NOT_PROVEN: Final = (
    "Agent, session and model are what the caller says of itself; the kernel vouches for user and process only.",
    "A line whose evidence is `during` is probable: it was written while a command ran that accounts for the file.",
    "Lines without an entry were found: written before the journal began, by another program, or by git.",
    "The journal proves that it has not been changed since its head was signed, not that its daemon was honest.",
)
"""Sentences about the limits of each statement, which are part of it."""


class CommitAuthor(NamedTuple):
    """A commit's id, and the name and email of its author."""

    commit: str
    author: str
    email: str
    at: str = ""  # author date, RFC 3339


def git_ai_note(commit: CommitAuthor, files: Iterable[Mapping[str, Any]]) -> str:
    """Return a git-ai note: the lines of agents by session, and the lines of users under the commit's author. A session
    that only removed files, or made empty ones, is named without lines. `files` is the field of that name in a reply of
    the tool `contributions`, asked with `lines`.
    """
    person = f"{commit.author} <{commit.email}>"
    sessions: dict[str, Any] = {}
    humans: dict[str, Any] = {}
    parts: list[str] = []
    for file in files:
        spans: dict[str, list[tuple[int, int]]] = {}
        for run in file.get("runs") or ():
            writer = run["writer"]
            if is_agent(writer["agent"]):
                name = _session(writer)
                sessions[name] = {"agent_id": _agent_id(writer), "human_author": person}
                spans.setdefault(f"{name}::{_trace(writer)}", []).append((run["start"], run["end"]))
            elif writer["id"] != "outside":
                name = f"h_{_digest(person)}"
                humans[name] = {"author": person}
                spans.setdefault(name, []).append((run["start"], run["end"]))
        for writer in (one["writer"] for one in _without_lines(file) if is_agent(one["writer"]["agent"])):
            sessions[_session(writer)] = {"agent_id": _agent_id(writer), "human_author": person}
        if spans:
            parts.append(_quoted(file["path"]))
            parts += [f"  {name} {_ranges(found)}" for name, found in spans.items()]
    told = {"schema_version": SCHEMA, "base_commit_sha": commit.commit, "prompts": {}, "sessions": sessions}
    return "\n".join([*parts, "---", json.dumps({**told, "humans": humans}, indent=2)]) + "\n"


def in_toto_statement(commit: CommitAuthor, files: Iterable[Mapping[str, Any]], head: Mapping[str, Any]) -> str:
    """Return an unsigned in-toto statement that lists each file's lines by writer, or the writers of a file without
    lines.

    `head` is the daemon's epoch (id of its run) and the journal's newest seq.
    """
    predicate = {
        "files": [_file(file) for file in files],
        "journal": dict(head),
        "not_proven": list(NOT_PROVEN),
    }
    subject = [{"name": f"git+commit:{commit.commit}", "digest": {"gitCommit": commit.commit}}]
    told = {"_type": STATEMENT, "subject": subject, "predicateType": PREDICATE, "predicate": predicate}
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def agent_trace_record(commit: CommitAuthor, files: Iterable[Mapping[str, Any]], head: Mapping[str, Any]) -> str:
    """Return an Agent Trace record of the commit; lines without a known writer are `unknown`. `head` is the daemon's
    epoch (id of its run) and the journal's newest seq.
    """
    told = {
        "version": TRACE,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"git+commit:{commit.commit}")),
        "timestamp": commit.at,
        "vcs": {"type": "git", "revision": commit.commit},
        "tool": {"name": "quire", "version": VERSION},
        "files": [_traced(file) for file in files if file.get("runs")],
        "metadata": {"quire": {"journal": dict(head), "not_proven": list(NOT_PROVEN)}},
    }
    return json.dumps(told, ensure_ascii=False) + "\n"


def _traced(file: Mapping[str, Any]) -> dict[str, Any]:
    conversations: dict[tuple[str, ...], dict[str, Any]] = {}
    for run in file["runs"]:
        writer = run["writer"]
        key = tuple(writer[name] for name in ("id", "agent", "agent_session", "turn", "model"))
        one = conversations.setdefault(key, {"contributor": _contributor(writer), "ranges": []})
        one["ranges"].append({"start_line": run["start"], "end_line": run["end"]})
    return {"path": file["path"], "conversations": [*conversations.values()]}


def _contributor(writer: Mapping[str, Any]) -> dict[str, str]:
    if writer["agent"]:
        return {"type": "ai", **({"model_id": writer["model"][:250]} if writer["model"] else {})}
    return {"type": "unknown" if writer["id"] == "outside" else "human"}


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "path": file["path"],
        "status": file["status"],
        "known": file["held"],
        "lines": [{"start": run["start"], "end": run["end"], **_writer(run)} for run in file.get("runs") or ()],
        **({"writers": writers} if (writers := [*map(_writer, _without_lines(file))]) else {}),
    }


def _without_lines(file: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the writers of a file without lines (removed, empty, or no text); () for a file with lines."""
    return () if file.get("runs") else file.get("writers") or ()


def _writer(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the writer of `one`, a run of lines or an entry of a file's writers, as fields of the statement."""
    writer = one["writer"]
    return {
        "agent": writer["agent"],
        "session": writer["agent_session"],
        "turn": writer["turn"],
        "model": writer["model"],
        "version": one["version"],
        "evidence": one["evidence"] or "tool",
    }


def _agent_id(writer: Mapping[str, Any]) -> dict[str, str]:
    return {"tool": writer["agent"], "id": writer["agent_session"], "model": writer["model"] or "unknown"}


def _session(writer: Mapping[str, Any]) -> str:
    return f"s_{_digest(':'.join((writer['agent'], writer['agent_session'])))}"


def _trace(writer: Mapping[str, Any]) -> str:
    return f"t_{_digest(':'.join((writer['agent'], writer['agent_session'], writer['turn'])))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def _ranges(spans: Sequence[tuple[int, int]]) -> str:
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in _joined(sorted(spans)))


def _joined(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    at: tuple[int, int] | None = None
    for start, end in spans:
        if at is not None and start <= at[1] + 1:
            at = (at[0], max(at[1], end))
            continue
        if at is not None:
            yield at
        at = (start, end)
    if at is not None:
        yield at


def _quoted(path: str) -> str:
    return f'"{path}"' if any(sign.isspace() for sign in path) else path
