"""Leases: who gets one, what they refuse, how that is told, and when they end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from playbook import SECOND_NS, START_NS, Playbook
from quire_daemon.config import Settings
from quire_daemon.handlers.base import FileNow, World
from quire_daemon.handlers.ground import MOST_STEPS, carried, disturbs, free_lines
from quire_daemon.handlers.leases import (
    CLAIMS_TOOL,
    MOST_LEASES,
    ClaimParams,
    decide_claim,
    decide_claims,
    wanted_lease,
)
from quire_journal.diff import diff
from quire_journal.events import EditRefused, LeaseBroken, LeaseGranted, LeaseReleased, LeaseRenewed
from quire_journal.history import History
from quire_journal.ids import BatchId
from quire_journal.journal import Entry
from quire_journal.refusals import Refused
from quire_journal.splice import Splice, apply
from quire_journal.text import Text
from quire_journal.views.leases import Lease

TEN = "".join(f"line {n}\n" for n in range(1, 11))


def claim(book: Playbook, by: str, path: str = "f.txt", kind: str = "exclusive", **more: Any) -> dict[str, Any]:
    return book.call("claim", {"path": path, "kind": kind, **more}, by=by)


def replace(book: Playbook, by: str, old: str, new: str, path: str = "f.txt", **more: Any) -> dict[str, Any]:
    edit = {"path": path, "old_text": old, "new_text": new, **more}
    return book.call("edit_replace", edit, by=by)


def after(book: Playbook, seconds: float) -> None:
    book.now_ns += int(seconds * SECOND_NS)


# ── who gets one ─────────────────────────────────────────────────────────────


def test_a_claim_is_an_intent_for_ten_minutes_unless_it_says_otherwise() -> None:
    book = Playbook({"f.txt": TEN})
    reply = book.call("claim", {"path": "f.txt", "reason": "tidying"})
    assert (reply["ok"], reply["kind"], reply["path"], reply["form"]) == (True, "intent", "f.txt", "file")
    assert (reply["expires_in_s"], reply["age_s"], reply["bind"], reply["lines"]) == (600, 0, "session", None)
    assert (reply["reason"], reply["holder"]["agent"], reply["yours"], reply["conflicts"]) == (
        "tidying",
        "ann",
        True,
        [],
    )
    (event,) = book.events(LeaseGranted)
    assert isinstance(event, LeaseGranted)
    assert event.reason == "tidying"


def test_fencing_numbers_grow() -> None:
    book = Playbook({"f.txt": TEN})
    numbers = []
    for by in ("ann", "ben", "ann"):
        reply = claim(book, by)
        assert reply["lease"] == reply["fencing"]
        numbers.append(reply["fencing"])
        assert book.call("release", {"lease": reply["lease"]}, by=by)["ok"]
    assert numbers == sorted({*numbers})


@every(
    ("held", "wanted", "granted"),
    [
        ("intent", "intent", True),
        ("intent", "shared", True),
        ("intent", "exclusive", True),
        ("shared", "intent", True),
        ("shared", "shared", True),
        ("shared", "exclusive", False),
        ("exclusive", "intent", True),
        ("exclusive", "shared", False),
        ("exclusive", "exclusive", False),
    ],
)
def test_what_is_granted_beside_the_lease_of_another(held: str, wanted: str, granted: bool) -> None:
    book = Playbook({"f.txt": TEN})
    number = claim(book, "ann", kind=held)["lease"]
    reply = claim(book, "ben", kind=wanted)
    assert reply["ok"] is granted
    if granted:
        assert [one["lease"] for one in reply["conflicts"]] == [number]
    else:
        assert (reply["error"], reply["lease"]) == ("lease_held", number)


def test_the_refusal_names_the_file_and_the_folder_that_the_lease_is_on() -> None:
    book = Playbook({"src/f.txt": TEN})
    for path, told in (("src/f.txt", "has it, exclusive"), ("src", "has src, exclusive")):
        number = claim(book, "ann", path=path, kind="exclusive")["lease"]
        message = book.call("claim", {"path": "src/f.txt", "kind": "exclusive"}, by="ben")["message"]
        assert message.startswith("src/f.txt cannot be ")
        assert told in message
        assert book.call("release", {"lease": number}, by="ann")["ok"]


def test_nobodys_own_leases_are_in_its_way() -> None:
    book = Playbook({"f.txt": TEN})
    assert claim(book, "ann", kind="exclusive")["ok"]
    assert claim(book, "ann", kind="shared")["ok"]
    assert replace(book, "ann", "line 3", "LINE 3")["ok"]


def test_a_claim_of_what_its_caller_has_renews_it() -> None:
    book = Playbook({"f.txt": TEN})
    first = claim(book, "ann", ttl_s=60, start_line=2, end_line=3)
    after(book, 30)
    again = claim(book, "ann", ttl_s=60, start_line=2, end_line=3)
    assert (again["lease"], again["renewed"], again["expires_in_s"]) == (first["lease"], True, 60)
    assert claim(book, "ann", ttl_s=60, start_line=2, end_line=4)["lease"] != first["lease"]
    assert len(book.events(LeaseGranted)) == 2


def test_a_refusal_names_the_holder_the_reason_the_age_the_end_and_what_is_free() -> None:
    book = Playbook({"f.txt": TEN})
    mine = claim(book, "ann", reason="splitting it", start_line=3, end_line=5, ttl_s=100)
    after(book, 41)
    refused = claim(book, "ben", start_line=5, end_line=9)
    assert (refused["ok"], refused["error"], refused["suggested_action"]) == (
        False,
        "lease_held",
        "wait_or_use_free_lines",
    )
    assert refused["holder"] == {"id": "w1", "agent": "ann", "agent_session": "s1"}
    assert (refused["lease"], refused["fencing"], refused["kind"]) == (mine["lease"], mine["lease"], "exclusive")
    assert (refused["reason"], refused["age_s"], refused["expires_at"]) == ("splitting it", 42, mine["expires_at"])
    assert (refused["path"], refused["lease_path"], refused["lines"]) == ("f.txt", "f.txt", {"start": 3, "end": 5})
    assert refused["free"] == {
        "lines": [{"start": 1, "end": 2}, {"start": 6, "end": 10}],
        "kinds": ["intent"],
        "after": mine["expires_at"],
    }
    for said in ("f.txt", "w1 (ann)", '"splitting it"', "exclusive", mine["expires_at"]):
        assert said in refused["message"]


def test_a_dry_claim_tells_whether_it_would_be_granted_and_grants_nothing() -> None:
    book = Playbook({"f.txt": TEN})
    free = claim(book, "ann", dry_run=True)
    assert (free["ok"], free["dry_run"], free["valid"], free["lease"]) == (True, True, True, None)
    assert claim(book, "ben")["ok"]
    held = claim(book, "ann", dry_run=True)
    assert (held["ok"], held["dry_run"], held["valid"], held["error"]) == (False, True, False, "lease_held")
    assert len(book.events(LeaseGranted)) == 1
    assert book.events(EditRefused) == []


def test_a_file_that_does_not_exist_can_be_claimed() -> None:
    book = Playbook()
    assert claim(book, "ann", "new.txt")["ok"]
    refused = book.call("write_file", {"path": "new.txt", "content": "x\n"}, by="ben")
    assert refused["error"] == "lease_held"
    assert book.call("write_file", {"path": "new.txt", "content": "x\n"}, by="ann")["ok"]


@every(
    ("arguments", "code"),
    [
        ({}, "schema_invalid"),
        ({"path": "f.txt", "renew": 3}, "schema_invalid"),
        ({"path": "f.txt", "kind": "mine"}, "schema_invalid"),
        ({"path": "f.txt", "ttl_s": 0}, "schema_invalid"),
        ({"path": "f.txt", "ttl_s": 86401}, "schema_invalid"),
        ({"path": "f.txt", "wait_ms": -1}, "schema_invalid"),
        ({"path": "f.txt", "wait_ms": 600_001}, "schema_invalid"),
        ({"path": "f.txt", "start_line": 0}, "schema_invalid"),
        ({"path": "f.txt", "start_line": 3, "end_line": 2}, "schema_invalid"),
        ({"path": "f.txt", "end_line": 0}, "schema_invalid"),
        ({"path": "f.txt", "start_line": 11}, "line_out_of_range"),
        ({"path": "*.txt", "start_line": 1}, "schema_invalid"),
        ({"path": "[z-a]"}, "schema_invalid"),
        ({"path": "a["}, "schema_invalid"),
        ({"path": "no.txt", "start_line": 1}, "not_found"),
        ({"renew": 99}, "not_found"),
    ],
)
def test_a_claim_that_cannot_be_is_refused(arguments: dict[str, Any], code: str) -> None:
    book = Playbook({"f.txt": TEN})
    assert book.call("claim", arguments)["error"] == code
    assert book.events(LeaseGranted) == []


def test_lines_of_bytes_that_are_not_captured_cannot_be_claimed_but_the_file_can() -> None:
    book = Playbook({"f.txt": TEN})
    book.uncaptured["f.txt"] = "secret"
    assert claim(book, "ann", start_line=1, end_line=2)["error"] == "uncaptured"
    assert claim(book, "ann")["ok"]


def test_a_reason_is_one_line_of_bounded_length_without_control_or_direction_characters() -> None:
    book = Playbook({"f.txt": TEN})
    reason = claim(book, "ann", reason="a\x1b[1m \u202eb\nignore all\tthis" + "x" * 500)["reason"]
    assert reason.startswith("a[1m b ignore all thisxxx")
    assert len(reason) == 200


def test_the_leases_in_force_are_limited() -> None:
    book = Playbook({"f.txt": TEN})
    ann, over_ns = book.who("ann").writer, book.now_ns + 60 * SECOND_NS
    many = [LeaseGranted(f"{n}", "file", "intent", over_ns) for n in range(MOST_LEASES)]
    book.journal.append([Entry(event, ann, book.now_ns, BatchId(2)) for event in many], [])
    assert claim(book, "ben")["error"] == "busy"
    assert claim(book, "ann", "7", "intent")["renewed"]
    after(book, 60)
    assert claim(book, "ben")["ok"]


# ── how they end ─────────────────────────────────────────────────────────────


def test_a_lease_that_is_over_refuses_nobody_though_no_record_says_so() -> None:
    book = Playbook({"f.txt": TEN})
    number = claim(book, "ann", ttl_s=60)["lease"]
    after(book, 58)
    assert replace(book, "ben", "line 3", "LINE 3")["error"] == "lease_held"
    assert replace(book, "ben", "line 3", "LINE 3")["ok"]
    assert book.call("claims", {})["leases"] == []
    assert book.call("claim", {"renew": number}, by="ann")["error"] == "not_found"
    assert book.call("release", {"lease": number}, by="ann")["error"] == "not_found"
    assert claim(book, "ben")["ok"]


def test_a_renewed_lease_lasts_from_now() -> None:
    book = Playbook({"f.txt": TEN})
    number = claim(book, "ann", ttl_s=60, reason="one")["lease"]
    after(book, 50)
    renewed = book.call("claim", {"renew": number, "ttl_s": 60, "reason": "two"}, by="ann")
    assert (renewed["ok"], renewed["lease"], renewed["reason"], renewed["expires_in_s"]) == (True, number, "two", 60)
    after(book, 50)
    assert claim(book, "ben")["error"] == "lease_held"
    assert len(book.events(LeaseRenewed)) == 1


def test_only_its_holder_renews_or_releases_a_lease() -> None:
    book = Playbook({"f.txt": TEN})
    number = claim(book, "ann", reason="mine")["lease"]
    assert book.call("claim", {"renew": number}, by="ben")["error"] == "lease_held"
    refused = book.call("release", {"lease": number}, by="ben")
    assert (refused["error"], refused["suggested_action"], refused["holder"]["agent"]) == ("lease_held", "force", "ann")
    assert book.call("release", {"lease": number}, by="ann")["released"][0]["lease"] == number
    assert claim(book, "ben")["ok"]
    assert len(book.events(LeaseReleased)) == 1


def test_leases_are_released_by_number_by_path_or_all() -> None:
    book = Playbook({"f.txt": TEN, "src/a.py": "x\n"})
    first = claim(book, "ann", kind="shared")["lease"]
    second = claim(book, "ann", kind="intent")["lease"]
    claim(book, "ann", "src")
    claim(book, "ann", "*.md")
    claim(book, "ben", kind="intent")
    by_path = book.call("release", {"path": "./f.txt"}, by="ann")
    assert [one["lease"] for one in by_path["released"]] == [first, second]
    assert [one["path"] for one in book.call("release", {"path": "*.md"}, by="ann")["released"]] == ["*.md"]
    assert book.call("release", {"path": "nothing"}, by="ann")["error"] == "not_found"
    assert [one["path"] for one in book.call("release", {"all": True}, by="ann")["released"]] == ["src"]
    nothing = book.call("release", {"all": True}, by="ann")
    assert (nothing["ok"], nothing["released"]) == (True, [])
    assert [one["holder"]["agent"] for one in book.call("claims", {})["leases"]] == ["ben"]


@every("arguments", [{}, {"lease": 1, "all": True}, {"path": "a", "lease": 1}, {"all": True, "force": True}])
def test_a_release_says_exactly_what_it_means(arguments: dict[str, Any]) -> None:
    assert Playbook().call("release", arguments)["error"] == "schema_invalid"


def test_another_caller_can_break_a_lease_and_its_holder_is_told() -> None:
    book = Playbook({"f.txt": TEN})
    number = claim(book, "ann", ttl_s=300)["lease"]
    broken = book.call("release", {"lease": number, "force": True, "reason": "ann hangs\x07"}, by="ben")
    assert [one["lease"] for one in broken["broken"]] == [number]
    assert [(e.lease, e.why) for e in book.events(LeaseBroken) if isinstance(e, LeaseBroken)] == [(number, "ann hangs")]
    (log,) = book.call("log", {"kind": "lease_broken", "path": "f.txt"})["records"]
    assert (log["lease"], log["why"], log["writer"]["agent"]) == (number, "ann hangs", "ben")
    assert replace(book, "ben", "line 3", "LINE 3")["ok"]
    told = replace(book, "ann", "line 5", "LINE 5")
    (warning,) = [w for w in told["warnings"] if w["type"] == "lease_broken"]
    assert warning["lease"] == number
    assert "w2 (ben)" in warning["message"]
    assert '"ann hangs"' in warning["message"]
    (lost,) = book.call("claims", {}, by="ann")["broken"]
    assert (lost["lease"], lost["broken_by"]["agent"], lost["broken_why"]) == (number, "ben", "ann hangs")
    assert book.call("claims", {}, by="ben")["broken"] == []
    refused = book.call("claim", {"renew": number}, by="ann")
    assert (refused["error"], "ben" in refused["message"]) == ("not_found", True)
    after(book, 300)
    assert not [w for w in replace(book, "ann", "line 6", "LINE 6")["warnings"] if w["type"] == "lease_broken"]


def test_breaking_by_path_ends_what_others_have_there_and_releases_ones_own() -> None:
    book = Playbook({"f.txt": TEN})
    theirs, mine = claim(book, "ann", kind="shared")["lease"], claim(book, "ben", kind="shared")["lease"]
    ended = book.call("release", {"path": "f.txt", "force": True}, by="ben")
    assert ([o["lease"] for o in ended["broken"]], [o["lease"] for o in ended["released"]]) == ([theirs], [mine])
    assert book.call("claims", {})["leases"] == []


# ── which ground ─────────────────────────────────────────────────────────────


@every(
    ("held", "wanted", "granted"),
    [
        ("f.txt", "f.txt", False),
        ("f.txt", "g.txt", True),
        ("src", "src/a.py", False),
        ("src/a.py", "src", False),
        ("src", "src/sub", False),
        ("src", "srcs.txt", True),
        ("new", "new/x", True),  # it was no folder when it was claimed
        ("*.py", "src/a.py", False),
        ("*.py", "f.txt", True),
        ("/*.py", "src/a.py", True),
        ("src/**", "src/sub/b.py", False),
        ("src/**", "f.txt", True),
        ("src/*.py", "src", False),
        ("src/*.py", "docs", True),
        ("*.py", "docs", False),  # it may come to hold such files
        ("src/*.py", "src/sub/*.py", False),  # by their beginnings alone they cannot be told apart
        ("src/a*", "docs/*", True),
        ("*.py", "*.md", False),
        ("!x*", "!xy", False),
        ("[id].tsx", "[id].tsx", False),  # really called so
        ("[id].tsx", "i.tsx", True),
        ("no[id].tsx", "noi.tsx", False),
    ],
)
def test_two_claims_are_apart_or_share_ground(held: str, wanted: str, granted: bool) -> None:
    book = Playbook(dict.fromkeys(("f.txt", "src/a.py", "src/sub/b.py", "docs/d.md", "[id].tsx"), "x\n"))
    assert claim(book, "ann", held)["ok"]
    assert claim(book, "ben", wanted)["ok"] is granted


def test_a_link_stands_for_its_target() -> None:
    book = Playbook({"f.txt": TEN})
    book.links["l.txt"] = "f.txt"
    assert claim(book, "ann", "l.txt")["path"] == "f.txt"
    assert replace(book, "ben", "line 3", "LINE 3")["error"] == "lease_held"


def test_line_ranges_of_one_file_are_apart_or_not_wherever_they_have_moved() -> None:
    book = Playbook({"f.txt": TEN})
    assert claim(book, "ann", start_line=4, end_line=6)["ok"]
    assert claim(book, "ben", start_line=1, end_line=3)["ok"]
    assert replace(book, "ben", "line 2\n", "line 2\nnew\nnew\n")["ok"]
    refused = claim(book, "cleo", start_line=6, end_line=7)
    assert (refused["error"], refused["lines"]) == ("lease_held", {"start": 6, "end": 8})
    assert claim(book, "cleo", start_line=9)["lines"] == {"start": 9, "end": 12}
    assert claim(book, "dan")["error"] == "lease_held"


def test_lines_are_clamped_to_the_file() -> None:
    book = Playbook({"f.txt": TEN})
    assert claim(book, "ann", start_line=8, end_line=99)["lines"] == {"start": 8, "end": 10}
    assert claim(book, "ben", end_line=2)["lines"] == {"start": 1, "end": 2}


# ── what they refuse ─────────────────────────────────────────────────────────


def every_write(book: Playbook) -> dict[str, dict[str, Any]]:
    """A call of each kind of writing tool that changes line 5 of f.txt, or all of it."""
    read = book.call("read_file", {"path": "f.txt", "hashes": True}, by="ben")
    anchor, sha256 = read["lines"][4].split()[0], read["sha256"]
    version = book.call("read_file", {"path": "f.txt"}, by="ben")["version"]
    hashline = book.call("read_file", {"path": "f.txt", "format": "hashline"}, by="ben")["lines"][4].split("|")[0]
    patch = "*** Begin Patch\n*** Update File: f.txt\n@@\n-line 5\n+LINE 5\n*** End Patch\n"
    return {
        "edit": {"path": "f.txt", "operations": [{"op": "replace_line", "hash": anchor, "content": "LINE 5"}]},
        "hashline_edit": {"path": "f.txt", "edits": [{"target": hashline, "new_content": ["x"]}]},
        "edit_file": {"path": "f.txt", "expectedSha256": sha256, "edits": [{"oldText": "line 5", "newText": "LINE 5"}]},
        "edit_replace": {"path": "f.txt", "old_text": "line 5", "new_text": "LINE 5"},
        "insert_lines": {"path": "f.txt", "line_number": 5, "text": "more"},
        "replace_lines": {"path": "f.txt", "start_line": 5, "end_line": 5, "new_text": "LINE 5"},
        "multi_edit": {"path": "f.txt", "edits": [{"old_text": "line 5", "new_text": "LINE 5"}]},
        "regex_replace": {"path": "f.txt", "pattern": "line 5", "replacement": "LINE 5"},
        "apply_patch": {"patch": patch},
        "text_editor": {"command": "str_replace", "path": "f.txt", "old_str": "line 5", "new_str": "LINE 5"},
        "write_file": {"path": "f.txt", "content": TEN.replace("line 5", "LINE 5"), "base": version},
        "delete_file": {"path": "f.txt"},
        "move_file": {"path": "f.txt", "to": "g.txt"},
    }


WRITES = [
    "edit_file",
    "hashline_edit",
    "edit",
    "edit_replace",
    "insert_lines",
    "replace_lines",
    "multi_edit",
    "regex_replace",
    "apply_patch",
    "text_editor",
    "write_file",
    "delete_file",
    "move_file",
]


@every("lines", [{}, {"start_line": 4, "end_line": 6}], ids=["file", "lines"])
@every("tool", WRITES)
def test_every_writing_tool_is_refused_under_an_exclusive_lease_and_says_so_when_dry(
    tool: str, lines: dict[str, int]
) -> None:
    book = Playbook({"f.txt": TEN})
    number = claim(book, "ann", **lines)["lease"]
    arguments = every_write(book)[tool]
    dry = book.call(tool, {**arguments, "dry_run": True}, by="ben")
    assert (dry["ok"], dry["dry_run"], dry["valid"], dry["error"]) == (False, True, False, "lease_held")
    assert book.events(EditRefused) == []
    refused = book.call(tool, arguments, by="ben")
    assert (refused["ok"], refused["error"], refused["lease"], refused["path"]) == (
        False,
        "lease_held",
        number,
        "f.txt",
    )
    assert refused["holder"]["agent"] == "ann"
    assert book.text("f.txt") == TEN
    assert [(e.tool, e.code) for e in book.events(EditRefused) if isinstance(e, EditRefused)] == [(tool, "lease_held")]
    assert book.call("release", {"all": True}, by="ann")["ok"]
    assert book.call(tool, arguments, by="ben")["ok"]


def test_undo_rollback_and_restore_are_refused_too() -> None:
    book = Playbook({"f.txt": TEN})
    book.call("read_file", {"path": "f.txt"})
    before = book.journal.head
    assert replace(book, "ben", "line 5", "LINE 5")["ok"]
    assert claim(book, "ann", kind="exclusive")["ok"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("undo", {}),
        ("rollback", {"to": f"seq:{before}"}),
        ("restore", {"path": "f.txt", "at": f"seq:{before}"}),
    ]
    for tool, arguments in calls:
        assert book.call(tool, arguments, by="ben")["error"] == "lease_held", tool
        planned = book.call(tool, {**arguments, "plan": True}, by="ben")
        assert (planned["ok"], planned["valid"], planned["error"]) == (False, False, "lease_held"), tool
        assert [file["path"] for file in planned["files"]] == ["f.txt"]
    assert book.text("f.txt") == TEN.replace("line 5", "LINE 5")


def test_of_several_files_one_lease_refuses_all() -> None:
    book = Playbook({"f.txt": TEN, "g.txt": TEN})
    claim(book, "ann", "g.txt")
    patch = "*** Begin Patch\n" + "".join(
        f"*** Update File: {name}\n@@\n-line 5\n+LINE 5\n" for name in ("f.txt", "g.txt")
    )
    refused = book.call("apply_patch", {"patch": patch + "*** End Patch\n"}, by="ben")
    assert (refused["error"], refused["path"]) == ("lease_held", "g.txt")
    assert (book.text("f.txt"), book.text("g.txt")) == (TEN, TEN)


def test_a_move_onto_leased_ground_is_refused() -> None:
    book = Playbook({"f.txt": TEN})
    claim(book, "ann", "src/**")
    refused = book.call("move_file", {"path": "f.txt", "to": "src/f.txt"}, by="ben")
    assert (refused["error"], refused["path"], refused["lease_path"]) == ("lease_held", "src/f.txt", "src/**")


@every("kind", ["intent", "shared"])
def test_a_write_where_another_announced_or_shares_is_done_with_a_warning(kind: str) -> None:
    book = Playbook({"f.txt": TEN})
    number = claim(book, "ann", kind=kind, reason="renaming", start_line=4, end_line=6)["lease"]
    beside = replace(book, "ben", "line 8", "LINE 8")
    assert [w for w in beside["warnings"] if w["type"] == "lease"] == []
    dry = replace(book, "ben", "line 5", "LINE 5", dry_run=True)
    done = replace(book, "ben", "line 5", "LINE 5")
    for reply in (dry, done):
        (warning,) = [w for w in reply["warnings"] if w["type"] == "lease"]
        assert (reply["ok"], warning["lease"]) == (True, number)
        assert '"renaming"' in warning["message"]
    assert [w for w in replace(book, "ann", "line 6", "LINE 6")["warnings"] if w["type"] == "lease"] == []


def test_outside_programs_are_not_refused_and_the_lines_move_with_what_they_write() -> None:
    book = Playbook({"f.txt": TEN})
    claim(book, "ann", start_line=4, end_line=6)
    book.call("read_file", {"path": "f.txt"}, by="ann")
    book.write("f.txt", "outside\n" + TEN)
    assert replace(book, "ben", "line 3", "LINE 3")["ok"]
    refused = replace(book, "ben", "line 4", "LINE 4")
    assert (refused["error"], refused["lines"]) == ("lease_held", {"start": 5, "end": 7})
    told = replace(book, "ann", "line 5", "LINE 5")["changed_since_your_read"]
    assert [one["writer"]["id"] for one in told] == ["outside", "w2"]


def test_the_lines_of_a_lease_take_in_what_its_holder_writes_between_them_only() -> None:
    book = Playbook({"f.txt": TEN})
    claim(book, "ann", start_line=4, end_line=6)
    assert replace(book, "ann", "line 5\n", "line 5\na\nb\n")["ok"]
    assert replace(book, "ann", "line 9", "LINE 9")["ok"]
    (held,) = book.call("claims", {"path": "f.txt"})["leases"]
    assert held["lines"] == {"start": 4, "end": 8}
    assert replace(book, "ben", "b\n", "B\n")["error"] == "lease_held"
    assert replace(book, "ben", "LINE 9", "line 9")["ok"]
    assert replace(book, "ben", "line 4\n", "new\nline 4\n")["ok"]
    assert replace(book, "ben", "line 6\n", "line 6\nnew\n")["ok"]
    (held,) = book.call("claims", {"path": "f.txt"})["leases"]
    assert held["lines"] == {"start": 5, "end": 9}


def test_where_lines_cannot_be_followed_the_whole_file_is_meant() -> None:
    book = Playbook({"f.txt": TEN})
    claim(book, "ann", start_line=4, end_line=6)
    assert book.call("delete_file", {"path": "f.txt"}, by="ann")["ok"]
    refused = book.call("write_file", {"path": "f.txt", "content": "x\n"}, by="ben")
    assert (refused["error"], refused["lines"], refused["free"]["lines"]) == ("lease_held", None, [])


def test_over_many_versions_lines_are_carried_in_one_step() -> None:
    book = Playbook({"f.txt": TEN})
    claim(book, "ann", start_line=4, end_line=6)
    for n in range(MOST_STEPS + 1):
        assert replace(book, "ann", "line 2\n", f"new {n}\nline 2\n")["ok"]
    moved = MOST_STEPS + 1
    refused = replace(book, "ben", "line 5", "LINE 5")
    assert (refused["error"], refused["lines"]) == ("lease_held", {"start": 4 + moved, "end": 6 + moved})
    assert replace(book, "ben", "line 7", "LINE 7")["ok"]


def test_what_was_refused_first_is_told_first() -> None:
    book = Playbook({"f.txt": TEN})
    claim(book, "ann")
    assert replace(book, "ben", "no such line", "x")["error"] == "old_text_not_found"


def test_reading_is_never_refused() -> None:
    book = Playbook({"f.txt": TEN})
    claim(book, "ann")
    assert book.call("read_file", {"path": "f.txt"}, by="ben")["ok"]


# ── lines, by themselves ─────────────────────────────────────────────────────


def text(*lines: str) -> Text:
    return Text.of("".join(f"{line}\n" for line in lines).encode())


@every(
    ("before", "now", "lines", "hit"),
    [
        ("abcd", "aBcd", (1, 2), True),
        ("abcd", "aBcd", (2, 4), False),
        ("abcd", "axbcd", (1, 3), False),  # right before
        ("abcd", "abcxd", (1, 3), False),  # right behind
        ("abcd", "abxcd", (1, 3), True),  # between
        ("abcd", "ad", (1, 2), True),
        ("abcd", "acd", (2, 4), False),
        ("aab", "aaab", (0, 1), False),  # which `a` is new? not the leased one
        ("aab", "aaab", (1, 2), False),
        ("aab", "aaab", (0, 3), False),
        ("aab", "aaxb", (0, 3), True),
        ("aab", "ab", (0, 1), False),
        ("aab", "ab", (0, 2), True),
        ("-f-g", "-n-f-g", (0, 2), False),  # a block that begins as the leased one does, before it
        ("-f-g", "-f-n-g", (2, 4), False),
        ("abcd", "abcd", (0, 4), False),
        ("abcd", "", (1, 2), True),
    ],
)
def test_whether_a_change_disturbs_lines(before: str, now: str, lines: tuple[int, int], hit: bool) -> None:
    assert disturbs(text(*before), text(*now), lines) is hit


def test_a_break_behind_an_unfinished_last_line_is_no_change_to_it() -> None:
    assert not disturbs(Text.of(b"a\nb"), Text.of(b"a\nb\nc\n"), (1, 2))


small = st.text("abc-", max_size=8)


@given(before=small, now=small, start=st.integers(0, 8), length=st.integers(1, 8))
def test_lines_that_are_not_disturbed_are_still_there_together(before: str, now: str, start: int, length: int) -> None:
    stop = min(len(before), start + length)
    if start < stop and not disturbs(text(*before), text(*now), (start, stop)):
        assert before[start:stop] in now


@given(before=small, now=small, start=st.integers(0, 8), length=st.integers(1, 8))
def test_lines_are_carried_to_lines_of_the_file_and_undisturbed_ones_to_themselves(
    before: str, now: str, start: int, length: int
) -> None:
    stop = min(len(before), start + length)
    if start < stop:
        splices = diff(text(*before), text(*now))
        first, last = carried((start, stop), splices)
        assert 0 <= first <= last <= len(now)
        if not any((s.start < stop and start < s.stop) or start < s.start == s.stop < stop for s in splices):
            assert now[first:last] == before[start:stop]


def test_what_is_free_is_what_no_lease_is_about() -> None:
    assert free_lines(10, [(2, 4), (3, 5), (9, 10)]) == [(0, 2), (5, 9)]
    assert free_lines(3, []) == [(0, 3)]
    assert free_lines(3, [(0, 3)]) == []


# ── the queue ────────────────────────────────────────────────────────────────


def world(book: Playbook, history: History, by: str, queue: list[Lease]) -> World:
    files = {"f.txt": FileNow("f.txt", "file", Text.of(TEN.encode()), history.file("f.txt"), size=len(TEN))}
    number = book.journal.head + 1
    return World(book.now_ns, book.who(by), Settings(), files, history, number, START_NS, queue=queue)


def test_who_comes_later_is_not_served_before_who_waits_for_the_same() -> None:
    book = Playbook({"f.txt": TEN})
    claim(book, "ann", kind="shared")
    for name in ("ben", "cleo"):
        book.who(name)
    with book.journal.store.reading() as reading:
        history = History(reading)
        params = ClaimParams(path="f.txt", kind="exclusive", reason="first", wait_ms=1000)
        waiting = wanted_lease(params, world(book, history, "ben", []))
        later = world(book, history, "cleo", [waiting])
        with pytest.raises(Refused) as refused:
            decide_claim(ClaimParams(path="f.txt", kind="shared"), later)
        assert (refused.value.code, refused.value.details["lease"]) == ("lease_held", None)
        assert refused.value.details["holder"]["agent"] == "ben"
        assert "waits for exclusive" in refused.value.message
        assert decide_claim(ClaimParams(path="f.txt"), later).reply["ok"], "an intent is in nobody's way"
        renewed = decide_claim(ClaimParams(path="f.txt", kind="shared"), world(book, history, "ann", [waiting])).reply
        assert (renewed["renewed"], renewed["queued"]) == (True, 1)
        listed = decide_claims(CLAIMS_TOOL.params(), later).reply
        assert [one["holder"]["agent"] for one in listed["waiting"]] == ["ben"]


# ── against a naive model ────────────────────────────────────────────────────

FILES = ("a/x", "a/y", "b")
CALLERS = ("ann", "ben", "cleo")


@dataclass
class Held:
    """A lease as the model has it: who may do what with which lines of which files until when."""

    holder: str
    kind: str
    path: str
    lines: frozenset[tuple[str, int]]
    until_ns: int


def lines_of(path: str, span: tuple[int, int] | None) -> frozenset[tuple[str, int]]:
    files = [name for name in FILES if name == path or name.startswith(f"{path}/")]
    first, last = span or (1, 4)
    return frozenset((name, line) for name in files for line in range(first, last + 1))


steps = st.one_of(
    st.tuples(
        st.just("claim"),
        st.sampled_from(CALLERS),
        st.tuples(
            st.sampled_from(["a", *FILES]),
            st.sampled_from(["intent", "shared", "exclusive"]),
            st.sampled_from([None, (1, 2), (2, 3), (4, 4)]),
            st.sampled_from([5, 20]),
        ),
    ),
    st.tuples(st.just("release"), st.sampled_from(CALLERS), st.sampled_from(["a", *FILES])),
    st.tuples(st.just("write"), st.sampled_from(CALLERS), st.tuples(st.sampled_from(FILES), st.integers(1, 4))),
    st.tuples(st.just("wait"), st.just(""), st.integers(1, 10)),
)


class Model:
    """The leases as a list, and every question asked of all of them, line by line."""

    def __init__(self, book: Playbook) -> None:
        self.book = book
        self.held: list[Held] = []

    def now(self) -> int:
        return self.book.now_ns + SECOND_NS  # a call takes a second of the playbook

    def others(self, caller: str, kinds: tuple[str, ...], lines: frozenset[tuple[str, int]]) -> list[Held]:
        alive = [h for h in self.held if h.until_ns > self.now()]
        return [h for h in alive if h.holder != caller and h.kind in kinds and h.lines & lines]

    def claim(self, caller: str, path: str, kind: str, span: tuple[int, int] | None, ttl_s: int) -> bool:
        lines = lines_of(path, span)
        against = {"intent": (), "shared": ("exclusive",), "exclusive": ("shared", "exclusive")}[kind]
        same = [
            h
            for h in self.held
            if (h.holder, h.kind, h.path, h.lines) == (caller, kind, path, lines) and h.until_ns > self.now()
        ]
        until_ns = self.now() + ttl_s * SECOND_NS
        if same:
            same[0].until_ns = until_ns
        elif self.others(caller, against, lines):
            return False
        else:
            self.held.append(Held(caller, kind, path, lines, until_ns))
        return True

    def release(self, caller: str, path: str) -> bool:
        there = [h for h in self.held if h.path == path and h.until_ns > self.now()]
        mine = [h for h in there if h.holder == caller]
        self.held = [h for h in self.held if h not in mine]
        return bool(mine)

    def write(self, caller: str, path: str, line: int) -> bool:
        return not self.others(caller, ("exclusive",), frozenset({(path, line)}))


@given(script=st.lists(steps, min_size=4, max_size=12))
def test_leases_are_what_a_list_of_them_would_be(script: list[tuple[str, str, Any]]) -> None:
    book = Playbook(dict.fromkeys(FILES, "1\n2\n3\n4\n"))
    model = Model(book)
    for caller in CALLERS:
        book.who(caller)
    for step, caller, details in script:
        if step == "wait":
            after(book, details)
        elif step == "claim":
            path, kind, span, ttl_s = details
            span = None if path == "a" else span
            expected = model.claim(caller, path, kind, span, ttl_s)
            lines = {} if span is None else {"start_line": span[0], "end_line": span[1]}
            reply = claim(book, caller, path, kind, ttl_s=ttl_s, **lines)
            assert (reply["ok"], reply.get("error")) == (expected, None if expected else "lease_held")
        elif step == "release":
            expected = model.release(caller, details)
            assert book.call("release", {"path": details}, by=caller)["ok"] is expected
        else:
            path, line = details
            expected = model.write(caller, path, line)
            content = f"{line} by {book.now_ns}"
            arguments = {"path": path, "start_line": line, "end_line": line, "new_text": content}
            book.call("read_file", {"path": path}, by=caller)
            book.now_ns -= SECOND_NS
            reply = book.call("replace_lines", arguments, by=caller)
            assert (reply["ok"], reply.get("error")) == (expected, None if expected else "lease_held")


def test_a_plan_of_splices_is_carried_as_the_text_is() -> None:
    before = text("a", "b", "c", "d", "e")
    splices = (Splice(0, 1, (b"x", b"y")), Splice(2, 2, (b"m",)), Splice(3, 5, (b"z",)))
    now = apply(before, splices)
    first, last = carried((1, 4), splices)
    assert now.lines[first:last] == [b"b", b"m", b"c", b"z"]
