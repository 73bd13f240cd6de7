"""Payloads: what a call writes, from the arguments of each agent's tools and from what they answer."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire_client.hooks.base import Intent
from quire_client.hooks.dispatch import MOST_CHARACTERS, tell
from quire_client.hooks.patches import in_shell, renamed
from quire_client.hooks.payloads import MOST_BYTES, UNENDED, changed, diffed, patched, size, written
from quire_client.hooks.relay import concerning
from quire_client.hooks.table import agent

FILES = st.lists(st.sampled_from(["a", "b", "", "a\r", "é"]), max_size=12).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "".join(f"{line}\n" for line in lines)])
)


def applied(before: str, payload: Mapping[str, Any]) -> str:
    """The text that hunks make of one. Their context and the lines that they remove must stand there."""
    lines = before.splitlines(keepends=True) if "\r" not in before else [*_ended(before)]
    shift = 0
    for hunk in payload["hunks"]:
        old, new = _side(hunk["lines"], " -"), _side(hunk["lines"], " +")
        at = hunk["start"] - 1 + shift
        assert lines[at : at + len(old)] == old
        lines[at : at + len(old)] = new
        shift += len(new) - len(old)
    return "".join(lines)


def _ended(text: str) -> list[str]:
    *ended, last = text.split("\n")
    return [f"{line}\n" for line in ended] + ([last] if last else [])


def _side(rows: list[str], marks: str) -> list[str]:
    found: list[str] = []
    for place, row in enumerate(rows):
        if row[0] in marks:
            unended = rows[place + 1 : place + 2] == [UNENDED]
            found.append(row[1:] if unended else row[1:] + "\n")
    return found


@given(before=FILES, after=FILES)
def test_hunks_of_two_texts_make_the_one_of_the_other(before: str, after: str) -> None:
    payloads = changed("f", before, after)
    assert bool(payloads) == (before != after)
    assert all(applied(before, payload) == after for payload in payloads)
    assert all(payload["before"] == before for payload in payloads)


@given(before=FILES, after=FILES)
def test_a_unified_diff_has_the_same_hunks(before: str, after: str) -> None:
    rows = difflib.unified_diff(_ended(before), _ended(after), "f", "f")
    unified = "Index: f\n" + "".join(row if row.endswith("\n") else f"{row}\n{UNENDED}\n" for row in rows)
    payloads = diffed("f", unified)
    assert bool(payloads) == (before != after)
    assert all(applied(before, payload) == after for payload in payloads)


def test_a_hunk_tells_where_it_is_by_three_lines_on_each_side() -> None:
    before = "".join(f"{n}\n" for n in range(1, 11))
    (payload,) = changed("f", before, before.replace("5\n", "five\n"))
    assert payload["hunks"] == [{"start": 2, "lines": [" 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"]}]


@pytest.mark.parametrize(
    "hunks",
    [None, "x", [], [{}], [{"oldStart": 1}], [{"oldStart": "1", "lines": [" a"]}], [{"oldStart": 1, "lines": ["a"]}]],
)
def test_hunks_that_are_none_are_no_account(hunks: object) -> None:
    assert patched("f", None, hunks) == ()
    assert diffed("f", "@@ -x,1 +1 @@\n a\n") == ()


def test_arguments_of_a_tool_are_a_whole_text_or_texts_in_place_of_others() -> None:
    edit = {"kind": "replace", "path": "f", "edits": [{"old": "a", "new": "b", "all": True}]}
    assert written("f", {"oldString": "a", "newString": "b", "replaceAll": True}) == (edit,)
    assert written("f", {"old_string": "a", "new_string": "b", "expected_replacements": 2}) == (edit,)
    assert written("f", {"old_string": "a", "new_string": "b", "allow_multiple": True}) == (edit,)
    assert written("f", {"content": ""}) == ({"kind": "content", "path": "f", "text": ""},)
    made = ({"kind": "content", "path": "f", "text": "x c"},)
    assert written("f", {"old_string": "", "new_string": "x c"}) == made
    several = [{"old_string": "", "new_string": "a b"}, {"old_string": "a", "new_string": "x"}]
    assert written("f", {"edits": [*several, {"old_string": "b", "new_string": "c"}]}) == made
    assert written("f", {"target": 1, "edits": "x"}) == ()


PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n one\n-two\n+2\n*** Add File: b.py\n+x\n*** End Patch"


@pytest.mark.parametrize(
    ("command", "alone"),
    [
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF\n", True),
        (f'apply_patch << "X1"\n{PATCH}\nX1', True),
        (f"applypatch <<EOF\n{PATCH}\nEOF", True),
        (f"set -e\napply_patch <<'EOF'\n{PATCH}\nEOF\nmake\n", False),
    ],
)
def test_a_patch_is_found_in_the_command_that_applies_it(command: str, alone: bool) -> None:
    assert in_shell(command) == (PATCH, alone)


@pytest.mark.parametrize("command", ["make", f"cat <<'EOF'\n{PATCH}\nEOF", "apply_patch <<'EOF'\n*** Begin Patch\n"])
def test_what_is_given_to_another_program_is_no_patch(command: str) -> None:
    assert in_shell(command) == ("", False)


def test_a_patch_below_another_folder_names_its_files_from_there() -> None:
    patch, alone = in_shell(f"cd 'my src' && apply_patch <<'EOF'\n{PATCH}\nEOF")
    assert alone
    assert "*** Update File: my src/src/a.py\n@@\n one\n" in patch
    assert "*** Add File: my src/b.py\n+x\n*** End Patch" in patch


def test_of_a_patch_a_workspace_is_told_its_own_files_by_its_own_names() -> None:
    assert renamed(PATCH, {"src/a.py": "a.py"}.get) == PATCH.replace("src/a.py", "a.py").replace(
        "*** Add File: b.py\n+x\n", ""
    )
    moved = "*** Update File: x/a\n*** Move to: x/c\n@@\n-a\n+b\n"
    assert renamed(moved, {"x/a": "a", "x/c": "c"}.get) == moved.replace("x/", "")


def event_of_codex(command: str, tool: str = "Bash") -> dict[str, Any]:
    told = {"command": command}
    return {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": tool, "tool_input": told}


def test_a_command_of_codex_that_only_applies_a_patch_is_an_edit_of_its_files() -> None:
    intent = agent("codex").understand(event_of_codex(f"apply_patch <<'EOF'\n{PATCH}\nEOF"))
    assert intent == agent("codex").understand(event_of_codex(PATCH, "apply_patch"))
    more = agent("codex").understand(event_of_codex(f"apply_patch <<'EOF'\n{PATCH}\nEOF\nmake format"))
    assert more is not None
    assert (more.paths, [payload["kind"] for payload in more.payloads]) == ((), ["patch"])
    assert more.command.endswith("make format")


def test_a_notebook_is_told_as_its_cell_and_then_as_the_lines_that_changed() -> None:
    told = {"notebook_path": "/w/n.ipynb", "cell_id": "c1", "new_source": "2", "edit_mode": "insert"}
    came = {"original_file": '{\n "a": 1\n}', "updated_file": '{\n "a": 2\n}'}
    event = {"hook_event_name": "PostToolUse", "tool_name": "NotebookEdit", "tool_input": told, "tool_response": came}
    intent = agent("claude-code").understand(event)
    assert intent is not None
    cell, hunks = intent.payloads
    assert cell == {"kind": "cell", "path": "/w/n.ipynb", "cell": "c1", "source": "2", "type": "", "mode": "insert"}
    assert applied(came["original_file"], hunks) == came["updated_file"]


def test_opencode_and_gemini_report_what_they_did_instead_of_the_request() -> None:
    diff = "Index: f\n===\n--- f\n+++ f\n@@ -1,2 +1,2 @@\n-  a\n+  b\n c\n"
    edit = {"filePath": "/w/f", "oldString": "a", "newString": "b"}
    intent = agent("opencode").understand({"event": "tool.execute.after", "tool": "edit", "args": edit, "diff": diff})
    assert intent is not None
    assert [payload["kind"] for payload in intent.payloads] == ["replace", "hunks"]
    assert applied("  a\nc\n", intent.payloads[1]) == "  b\nc\n"
    wrote = {"returnDisplay": {"originalContent": "a\n", "newContent": "b\n"}}
    told = {"file_path": "/w/f", "old_string": "A", "new_string": "b"}
    event = {"hook_event_name": "AfterTool", "tool_name": "replace", "tool_input": told, "tool_response": wrote}
    intent = agent("gemini").understand(event)
    assert intent is not None
    assert applied("a\n", intent.payloads[1]) == "b\n"


# ── what is sent ─────────────────────────────────────────────────────────────


def asked_of(intent: Intent) -> dict[str, Any]:
    """The arguments of the one call that an intent asks for."""
    asked: list[dict[str, Any]] = []

    def call(tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(dict(args))
        return {"ok": True}

    tell(intent, True, call)
    (only,) = asked
    return only


def test_texts_beyond_the_bound_are_not_sent_and_this_is_said() -> None:
    half = "é" * (MOST_BYTES // 4)
    edits = [{"old": "", "new": half, "all": False}]
    payloads = ({"kind": "content", "path": "f", "text": half}, {"kind": "replace", "path": "f", "edits": edits})
    assert size(payloads) == MOST_BYTES + len("content") + len("replace") + 2 * len("f")
    told = asked_of(Intent("x", "after", paths=("f",), payloads=payloads))
    assert told["payload_dropped"] is True
    assert "payloads" not in told
    told = asked_of(Intent("x", "after", paths=("f",), payloads=payloads[:1]))
    assert told["payloads"] == [payloads[0]]
    assert "payload_dropped" not in told


def test_an_edit_whose_text_is_too_long_to_be_looked_for_counts_as_one_of_the_whole_file() -> None:
    told = asked_of(Intent("x", "before", paths=("f",), replaces=("x" * (MOST_BYTES + 1),)))
    assert (told["replaces"], told["whole"]) == ([], True)


def test_a_call_that_failed_says_nothing_of_what_it_would_have_written() -> None:
    payloads = ({"kind": "content", "path": "f", "text": "x"},)
    assert "payloads" not in asked_of(Intent("x", "after", paths=("f",), payloads=payloads, ok=False))


def test_a_turn_has_its_prompt_and_where_the_conversation_is_kept() -> None:
    told = asked_of(Intent("x", "turn", prompt="x" * (MOST_CHARACTERS + 1), transcript="/t.jsonl"))
    assert told == {"moment": "turn", "prompt": "x" * MOST_CHARACTERS, "transcript": "/t.jsonl"}
    assert asked_of(Intent("x", "turn")) == {"moment": "turn"}
    assert asked_of(Intent("x", "session_end")) == {"moment": "session_end"}


def test_files_elsewhere_are_not_told() -> None:
    payloads = ({"kind": "removed", "path": "/a/x"}, {"kind": "removed", "path": "/b/x"})
    here = concerning(Intent("x", "before", paths=("/a/x", "/b/x"), payloads=payloads), {"/b/x": "x"})
    assert (here.paths, here.payloads) == (("x",), ({"kind": "removed", "path": "x"},))


def test_a_hook_of_twenty_megabytes_is_read_and_told_within_a_moment() -> None:
    whole = "x" * 79 + "\n"
    told = {"file_path": "/w/f", "content": whole * (20_000_000 // 80)}
    given = json.dumps({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Write", "tool_input": told})
    begun = time.process_time()
    intent = agent("claude-code").understand(json.loads(given))
    assert intent is not None
    sent = asked_of(concerning(intent, {"/w/f": "f"}))
    assert time.process_time() - begun < 1.0
    assert (sent["paths"], sent["payload_dropped"]) == (["f"], True)
