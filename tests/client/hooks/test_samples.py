"""Samples: what the real binaries of four agents sent to their hooks, line by line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from quire_client.hooks.base import Intent, Outcome
from quire_client.hooks.relay import concerning, files_of
from quire_client.hooks.table import agent

SAMPLES = Path(__file__).parents[2] / "samples"
ROOT = "/src/ws"
RUNS = sorted(path.relative_to(SAMPLES).as_posix().removesuffix(".hooks.jsonl") for path in SAMPLES.glob("*/*.hooks.*"))


def events(run: str) -> list[dict[str, Any]]:
    """The JSON of each hook of a run."""
    return [json.loads(line) for line in (SAMPLES / f"{run}.hooks.jsonl").read_text().splitlines()]


def understood(run: str, event: Mapping[str, Any]) -> Intent | None:
    """What it means, with the files relative to the workspace."""
    intent = agent(run.partition("/")[0]).understand(event)
    if intent is None:
        return None
    return concerning(intent, {n: os.path.relpath(os.path.join(ROOT, n), ROOT) for n in files_of(intent)})


def in_words(intent: Intent | None) -> str:
    """What the samples have written down of an intent."""
    return "none" if intent is None else " ".join(_words(intent)).replace("\n", "\\n")


def _words(intent: Intent) -> Iterator[str]:
    yield intent.moment
    yield from [intent.tool] if intent.tool else []
    yield from intent.paths
    yield from ["whole"] if intent.whole else []
    yield from (f"[{payload['kind']}]" for payload in intent.payloads)
    yield from [f"`{intent.command[:20]}`"] if intent.command else []
    yield from [f"'{intent.prompt[:20]}'"] if intent.prompt else []
    yield from ["of a subagent"] if intent.parent else []


LINES = [(run, place) for run in RUNS for place in range(len(events(run)))]
IDS = [f"{run} {place + 1}" for run, place in LINES]


def test_there_are_samples_of_every_agent_that_can_be_run() -> None:
    assert {run.partition("/")[0] for run in RUNS} == {"claude-code", "codex", "gemini", "opencode"}
    assert len(LINES) == 113


@pytest.mark.parametrize(("run", "place"), LINES, ids=IDS)
def test_a_line_means_what_is_written_down(run: str, place: int) -> None:
    meant = (SAMPLES / f"{run}.meant.txt").read_text().splitlines()
    assert in_words(understood(run, events(run)[place])) == meant[place]


@pytest.mark.parametrize(("run", "place"), LINES, ids=IDS)
def test_a_line_names_session_turn_and_call_as_far_as_its_agent_does(run: str, place: int) -> None:
    event = events(run)[place]
    intent = understood(run, event)
    if intent is None:
        return
    assert (intent.folder, bool(intent.session)) == (ROOT, True)
    if intent.parent:
        assert intent.session == f"{intent.parent}.{event['agent_id']}"
    numbered = run.partition("/")[0] != "gemini"
    assert bool(intent.call) == (numbered and bool(intent.tool))
    assert intent.turn == (event.get("turn_id") or event.get("prompt_id") or "")


@pytest.mark.parametrize(("run", "place"), LINES, ids=IDS)
def test_a_refusal_is_given_before_the_call_in_the_agents_format_only(run: str, place: int) -> None:
    intent = understood(run, events(run)[place])
    if intent is None:
        return
    said = json.dumps(agent(run.partition("/")[0]).answer(intent, Outcome(allow=False, reason="Read it again.")))
    assert ("Read it again." in said) == (intent.moment == "before")
    assert ('"deny"' in said) == (intent.moment == "before")


# ── what was written ─────────────────────────────────────────────────────────

CALC = "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n"
NOTES = "# Notes\n\nfirst\nsecond\nthird\n"
BY_OTHERS: dict[str, dict[int, tuple[str, str, str]]] = {
    "codex/run2": {7: ("calc.py", "return 2\n", "return 222\n"), 10: ("calc.py", "return 3\n", "return 333\n")},
    "gemini/run2": {6: ("calc.py", "return 2\n", "return 22\n")},
    "opencode/run2": {7: ("calc.py", "return 2\n", "return 22\n")},
}
"""Run → the number of a line → (file, text, other text) that another program, or a tool of Quire's, wrote before it."""


def made(payload: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, str]:
    """The files that a payload makes of these, by rules of its own that are as plain as can be."""
    match payload["kind"]:
        case "content":
            return {payload["path"]: payload["text"]}
        case "replace":
            text = files[payload["path"]]
            for edit in payload["edits"]:
                assert text.count(edit["old"]) == 1 or edit["all"]
                text = text.replace(edit["old"], edit["new"])
            return {payload["path"]: text}
        case "hunks":
            return {payload["path"]: hunked(payload["before"] or files[payload["path"]], payload["hunks"])}
        case "patch":
            begin, update, *rows, end = payload["text"].strip().split("\n")
            assert (begin, end) == ("*** Begin Patch", "*** End Patch")
            path = update.removeprefix("*** Update File: ")
            old = "".join(row[1:] + "\n" for row in rows if row[0] in " -")
            new = "".join(row[1:] + "\n" for row in rows if row[0] in " +")
            assert files[path].count(old) == 1
            return {path: files[path].replace(old, new)}
    raise AssertionError(payload["kind"])


def hunked(before: str, hunks: list[dict[str, Any]]) -> str:
    """The text that hunks make of one; the last hunk first, so that the lines above keep their numbers."""
    lines = before.split("\n")
    for hunk in reversed(hunks):
        old = [row[1:] for row in hunk["lines"] if row[0] in " -"]
        at = hunk["start"] - 1
        assert lines[at : at + len(old)] == old
        lines[at : at + len(old)] = [row[1:] for row in hunk["lines"] if row[0] in " +"]
    return "\n".join(lines)


def shown(event: Mapping[str, Any]) -> dict[str, str]:
    """The files that an event shows whole, as they were then."""
    told = event.get("tool_response") or {}
    if isinstance(told, str):
        return {"calc.py": told} if event["tool_input"].get("command") == "cat calc.py" else {}
    if event.get("tool_name") in ("Read", "read_file"):
        path = os.path.relpath(os.path.join(ROOT, event["tool_input"]["file_path"]), ROOT)
        return {path: told["file"]["content"] if "file" in told else told["llmContent"]}
    return {}


@pytest.mark.parametrize("run", RUNS)
def test_the_claim_of_a_call_turns_the_file_before_into_the_file_found_after(run: str) -> None:
    files = {"calc.py": CALC, "notes.md": NOTES}
    compared = 0
    for number, event in enumerate(events(run), 1):
        if number in BY_OTHERS.get(run, {}):
            path, old, new = BY_OTHERS[run][number]
            assert old in files[path]
            files[path] = files[path].replace(old, new)
        intent = understood(run, event)
        if intent is None:
            continue
        for path, text in shown(event).items() if intent.moment in ("read", "after") else ():
            assert files[path] == text
            compared += 1
        if intent.moment == "after" and intent.payloads:
            first, *others = (made(payload, files) for payload in intent.payloads)
            assert all(other == first for other in others)
            compared += len(others)
            files |= first
    assert compared or run in ("codex/run6", "opencode/run2")  # which show no whole file


def test_a_persons_save_during_a_command_is_no_work_of_the_agent_though_its_diff_has_it() -> None:
    event = events("claude-code/run3")[8]
    assert "saved by a person" in json.dumps(event["tool_response"]["bashEditDiff"])
    intent = understood("claude-code/run3", event)
    assert intent is not None
    assert intent.payloads == ()
    assert "saved by a person" not in repr(intent)


@pytest.mark.parametrize(("run", "own"), [("gemini/run2", "mcp_quire_"), ("opencode/run2", "quire_")])
def test_there_are_no_hooks_around_the_tools_of_quire(run: str, own: str) -> None:
    found = [event for event in events(run) if str(event.get("tool_name") or event.get("tool")).startswith(own)]
    assert found
    assert [understood(run, event) for event in found] == [None] * len(found)
