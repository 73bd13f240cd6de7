"""What the tools answer has the shape that is stated, to the field; and a JSON Schema says it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.core.replies.base import Reply
from quire_daemon.tools.admin.describe import reply_schema
from quire_journal.model.events import BytesDisplaced, CaptureFailed, GitRan, OutsideModeChanged, OutsideWritten
from quire_journal.model.ids import blob_id
from quire_journal.model.refusals import CODES
from shapes import REPLIES, checked, held


@pytest.fixture(scope="module")
def daemon() -> MemoryDaemon:
    """A history with something of everything that these tools tell of."""
    daemon = MemoryDaemon({"a.py": "one\ntwo\nthree\n", "b.bin": bytes(range(256)), "crlf": "x\r\ny\r\n"})
    for path in ("a.py", "b.bin", "crlf"):
        daemon.ask("read_file", {"path": path, "hashes": True})
    daemon.ask("edit_replace", {"file": "a.py", "old_text": "two", "new_text": "TWO"})
    daemon.ask("edit_replace", {"file": "a.py", "old_text": "nowhere", "new_text": "x"})
    daemon.ask("move_file", {"path": "a.py", "to": "c.py"}, by="ben")
    daemon.ask("checkpoint", {"action": "create", "name": "here"})
    daemon.ask("claim", {"path": "c.py", "strength": "exclusive", "reason": "mine"})
    daemon.ask("burst", {"action": "begin", "label": "tidy"})
    daemon.ask("write_file", {"path": "new", "content": "n\n"})
    daemon.ask("delete_file", {"path": "crlf"})
    daemon.ask("burst", {"action": "end"})
    daemon.ask("undo", {})
    told = (
        OutsideWritten("o", blob_id(b"o"), 1, 0o644, "watched", hint="git pull"),
        OutsideModeChanged("o", blob_id(b"o"), 1, 0o755, "watched"),
        BytesDisplaced("o", blob_id(b"late"), 4, "late"),
        CaptureFailed("large", "too_large", 1 << 40),
        GitRan("pull", exit_code=None, started_ns=1, ended_ns=2),
    )
    daemon.note(*told, blobs=(b"o", b"late"))
    return daemon


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("log", {"limit": 500}),
        ("log", {"limit": 2}),
        ("log", {"limit": 50, "stat": True, "patch": True}),
        ("log", {"text_changed": "TWO"}),
        ("log", {"kind": ["git_ran", "lease_granted", "burst_begun", "burst_ended", "edit_refused", "read_served"]}),
        ("log", {"kind": "no_such_kind"}),
        ("since", {}),
        ("since", {"cursor": "seq:1"}),
        ("diff", {"from": "seq:0"}),
        ("diff", {"from": "seq:2", "to": "here"}),
        ("diff", {"from": "nowhere"}),
        ("show", {"path": "c.py", "version": "here"}),
        ("show", {"path": "b.bin", "version": "here"}),
    ],
)
def test_a_reply_has_the_fields_that_are_stated_and_no_other(
    daemon: MemoryDaemon, tool: str, arguments: dict[str, Any]
) -> None:
    held(tool, daemon.ask(tool, arguments))


def test_a_field_that_is_not_stated_is_found_however_deep(daemon: MemoryDaemon) -> None:
    for spoil in (lambda reply: reply, lambda reply: reply["records"][0], lambda reply: reply["records"][0]["writer"]):
        reply = json.loads(json.dumps(daemon.ask("log", {})))
        spoil(reply)["surprise"] = 1
        with pytest.raises(msgspec.ValidationError, match="surprise"):
            held("log", reply)


def test_every_record_can_be_shown_in_the_stated_shape(daemon: MemoryDaemon) -> None:
    reply = daemon.ask("log", {"limit": 500})
    assert len(reply["records"]) > 10
    for record in reply["records"]:
        shown = held("show", daemon.ask("show", {"version": f"seq:{record['seq']}"}))
        assert shown.record.seq == record["seq"]


def test_the_shape_of_every_reply_is_stated() -> None:
    assert [tool for tool, shape in REPLIES.items() if shape is Reply] == []


def test_a_reply_that_is_not_as_stated_fails_the_test_that_got_it() -> None:
    """Every daemon in memory asks this of every reply, those of the conformance cases among them."""
    with pytest.raises(AssertionError, match="manual answers what is stated nowhere"):
        checked("manual", {"ok": True, "message": "", "manual": "", "dialect": None, "dialects": [], "more": 1})


@pytest.mark.parametrize("tool", REPLIES)
def test_the_schema_of_a_reply_states_success_and_refusal(tool: str) -> None:
    schema = reply_schema(REPLIES[tool])
    success, refusal = (schema["$defs"][one["$ref"].rpartition("/")[2]] for one in schema["anyOf"])
    assert (success["properties"]["ok"], refusal["properties"]["ok"]) == ({"const": True}, {"const": False})
    assert {"ok", "message"} <= set(success["required"])
    assert refusal["properties"]["error"]["enum"] == sorted(CODES)
    for name in _references(schema):
        assert name in schema["$defs"]


def test_describe_gives_the_schema_of_a_tool_that_is_asked_for_alone(daemon: MemoryDaemon) -> None:
    (tool,) = daemon.ask("describe", {"tool": "log"})["tools"]
    assert tool["reply"] == json.loads(json.dumps(reply_schema(REPLIES["log"])))
    assert not [tool for tool in daemon.ask("describe", {})["tools"] if "reply" in tool]


def _references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for one in schema for name in _references(one)}
    if not isinstance(schema, dict):
        return set()
    here = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
    return here.union(*(_references(one) for one in schema.values()))
