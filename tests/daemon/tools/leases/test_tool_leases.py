"""Leases: who gets one, on which ground, how that is told, and when they end."""

from __future__ import annotations

import re
from typing import Any

import pytest
from leased import TEN, after, claim, replace

from memory_daemon import SECOND, MemoryDaemon
from quire_daemon.tools.leases.tool import MOST_LEASES, MOST_TTL_S, MOST_WAIT_MS
from quire_journal.model.events import EditRefused, LeaseBroken, LeaseGranted, LeaseReleased, LeaseRenewed

# ── who gets one ─────────────────────────────────────────────────────────────


def test_a_claim_is_an_intent_for_ten_minutes_unless_it_says_otherwise() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    reply = daemon.ask("claim", {"path": "f.txt", "reason": "tidying"})
    assert (reply["ok"], reply["kind"], reply["path"], reply["form"]) == (True, "intent", "f.txt", "file")
    assert (reply["expires_in_s"], reply["age_s"], reply["bind"], reply["lines"]) == (600, 0, "session", None)
    assert (reply["reason"], reply["holder"]["agent"], reply["yours"], reply["conflicts"]) == (
        "tidying",
        "ann",
        True,
        [],
    )
    (event,) = daemon.events(LeaseGranted)
    assert isinstance(event, LeaseGranted)
    assert event.reason == "tidying"


def test_fencing_numbers_grow() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    numbers = []
    for by in ("ann", "ben", "ann"):
        reply = claim(daemon, by)
        assert reply["lease"] == reply["fencing"]
        numbers.append(reply["fencing"])
        assert daemon.ask("release", {"lease": reply["lease"]}, by=by)["ok"]
    assert numbers == sorted({*numbers})


@pytest.mark.parametrize(
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
    daemon = MemoryDaemon({"f.txt": TEN})
    number = claim(daemon, "ann", kind=held)["lease"]
    reply = claim(daemon, "ben", kind=wanted)
    assert reply["ok"] is granted
    if granted:
        assert [one["lease"] for one in reply["conflicts"]] == [number]
    else:
        assert (reply["error"], reply["lease"]) == ("lease_held", number)


def test_the_refusal_names_the_file_and_the_folder_that_the_lease_is_on() -> None:
    daemon = MemoryDaemon({"src/f.txt": TEN})
    for path, told in (("src/f.txt", "has it, exclusive"), ("src", "has src, exclusive")):
        number = claim(daemon, "ann", path=path, kind="exclusive")["lease"]
        message = daemon.ask("claim", {"path": "src/f.txt", "kind": "exclusive"}, by="ben")["message"]
        assert message.startswith("src/f.txt cannot be ")
        assert told in message
        assert daemon.ask("release", {"lease": number}, by="ann")["ok"]


def test_nobodys_own_leases_are_in_its_way() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    assert claim(daemon, "ann", kind="exclusive")["ok"]
    assert claim(daemon, "ann", kind="shared")["ok"]
    assert replace(daemon, "ann", "line 3", "LINE 3")["ok"]


def test_a_claim_of_what_its_caller_has_renews_it() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    first = claim(daemon, "ann", ttl_s=60, start_line=2, end_line=3)
    after(daemon, 30)
    again = claim(daemon, "ann", ttl_s=60, start_line=2, end_line=3)
    assert (again["lease"], again["renewed"], again["expires_in_s"]) == (first["lease"], True, 60)
    assert claim(daemon, "ann", ttl_s=60, start_line=2, end_line=4)["lease"] != first["lease"]
    assert len(daemon.events(LeaseGranted)) == 2


def test_a_grant_says_which_lines_it_is_about() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    assert claim(daemon, "ann", start_line=2, end_line=3)["message"].startswith("Lines 2-3 of f.txt are yours")
    assert claim(daemon, "ann", start_line=2, end_line=3)["message"].startswith("Lines 2-3 of f.txt are renewed")
    assert claim(daemon, "ann", start_line=10)["message"].startswith("Line 10 of f.txt is yours")
    assert claim(daemon, "ann")["message"].startswith("f.txt is yours")


def test_a_grant_says_how_long_it_lasts_and_whose_leases_are_there_too() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    alone = claim(daemon, "ann", kind="shared", ttl_s=60)["message"]
    assert re.fullmatch(r"f\.txt is yours \(shared\) until \S+Z\.", alone)
    beside = claim(daemon, "ben", kind="intent", start_line=2, end_line=2)["message"]
    assert re.fullmatch(r"Line 2 of f\.txt is yours \(intent\) until \S+Z\. 1 lease of others there\.", beside)
    claim(daemon, "cleo", "g.txt")
    hard = claim(daemon, "ben", "g.txt", kind="intent", dry_run=True)
    assert "g.txt would be yours (intent)" in hard["message"]
    assert hard["message"].endswith(" While an exclusive one lasts, its ground cannot be written.")
    assert (hard["lease"], hard["fencing"], hard["conflicts_total"]) == (None, None, 1)


def test_a_renewal_keeps_the_reason_unless_it_gives_another() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    lease = claim(daemon, "ann", reason="tidying")["lease"]
    assert daemon.ask("claim", {"renew": lease})["reason"] == "tidying"
    dry = daemon.ask("claim", {"renew": lease, "reason": "other", "dry_run": True})
    assert (dry["lease"], dry["reason"], dry["dry_run"]) == (lease, "other", True)
    assert "f.txt would be renewed" in dry["message"]
    assert daemon.ask("claim", {"renew": lease, "reason": "more"})["reason"] == "more"
    assert [one["reason"] for one in daemon.ask("claims", {})["leases"]] == ["more"]


def test_who_has_a_file_and_claims_lines_of_it_has_two_leases() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    whole, lines = claim(daemon, "ann")["lease"], claim(daemon, "ann", start_line=2, end_line=3)["lease"]
    assert whole != lines
    assert (claim(daemon, "ann")["lease"], claim(daemon, "ann", start_line=2, end_line=3)["lease"]) == (whole, lines)
    assert claim(daemon, "ann", kind="intent")["lease"] not in (whole, lines)


def test_a_refusal_names_the_holder_the_reason_the_age_the_end_and_what_is_free() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    assert (daemon.who("ann").writer, daemon.who("ben").writer) == (1, 2)
    mine = claim(daemon, "ann", reason="splitting it", start_line=3, end_line=5, ttl_s=100)
    after(daemon, 41)
    refused = claim(daemon, "ben", start_line=5, end_line=9)
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
    for said in ("f.txt", "ann/s1", '"splitting it"', "exclusive", mine["expires_at"]):
        assert said in refused["message"]


def test_a_dry_claim_tells_whether_it_would_be_granted_and_grants_nothing() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    free = claim(daemon, "ann", dry_run=True)
    assert (free["ok"], free["dry_run"], free["valid"], free["lease"]) == (True, True, True, None)
    assert claim(daemon, "ben")["ok"]
    held = claim(daemon, "ann", dry_run=True)
    assert (held["ok"], held["dry_run"], held["valid"], held["error"]) == (False, True, False, "lease_held")
    assert len(daemon.events(LeaseGranted)) == 1
    assert daemon.events(EditRefused) == []


def test_a_file_that_does_not_exist_can_be_claimed() -> None:
    daemon = MemoryDaemon()
    assert claim(daemon, "ann", "new.txt")["ok"]
    refused = daemon.ask("write_file", {"path": "new.txt", "content": "x\n"}, by="ben")
    assert refused["error"] == "lease_held"
    assert daemon.ask("write_file", {"path": "new.txt", "content": "x\n"}, by="ann")["ok"]


@pytest.mark.parametrize(
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
    daemon = MemoryDaemon({"f.txt": TEN})
    assert daemon.ask("claim", arguments)["error"] == code
    assert daemon.events(LeaseGranted) == []


@pytest.mark.parametrize(
    "arguments",
    [{"ttl_s": 1}, {"ttl_s": MOST_TTL_S}, {"wait_ms": MOST_WAIT_MS}, {"start_line": 1, "end_line": 1}, {"end_line": 1}],
)
def test_a_claim_may_ask_for_the_least_and_the_most_that_there_is(arguments: dict[str, Any]) -> None:
    assert claim(MemoryDaemon({"f.txt": TEN}), "ann", **arguments)["ok"]


def test_a_claim_of_lines_that_are_not_there_says_how_many_there_are() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    reply = claim(daemon, "ann", start_line=11)
    assert (reply["error"], reply["path"], reply["line_count"]) == ("line_out_of_range", "f.txt", 10)
    assert reply["message"] == "There is no line 11; f.txt has 10."
    glob = claim(daemon, "ann", "*.txt", start_line=1)
    assert (glob["error"], glob["argument"]) == ("schema_invalid", "start_line")


def test_a_lease_that_is_over_or_never_was_is_named() -> None:
    for tool, argument in (("claim", "renew"), ("release", "lease")):
        daemon = MemoryDaemon({"f.txt": TEN})
        lease = claim(daemon, "ann", ttl_s=60)["lease"]
        after(daemon, 61)
        for number, said in ((lease, "(any more). It was over at "), (99, "(any more).")):
            reply = daemon.ask(tool, {argument: number})
            assert (reply["error"], reply["lease"]) == ("not_found", number)
            assert reply["message"].startswith(f"There is no lease {number} {said}")


def test_a_lease_that_was_broken_is_not_renewed_nor_broken_again() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    lease = claim(daemon, "ann")["lease"]
    assert daemon.ask("release", {"lease": lease, "force": True}, by="ben")["ok"]
    reply = daemon.ask("claim", {"renew": lease})
    assert (reply["error"], reply["lease"]) == ("not_found", lease)
    assert reply["message"].startswith(f"Lease {lease} was broken by ben")
    assert daemon.ask("release", {"lease": lease, "force": True}, by="ben")["error"] == "not_found"
    assert daemon.ask("release", {"path": "f.txt", "force": True}, by="ben")["error"] == "not_found"


def test_lines_of_bytes_that_are_not_captured_cannot_be_claimed_but_the_file_can() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    daemon.keep_secret("f.txt")
    assert claim(daemon, "ann", start_line=1, end_line=2)["error"] == "uncaptured"
    assert claim(daemon, "ann")["ok"]


def test_a_reason_is_one_line_of_bounded_length_without_control_or_direction_characters() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    reason = claim(daemon, "ann", reason="a\x1b[1m \u202eb\nignore all\tthis" + "x" * 500)["reason"]
    assert reason.startswith("a[1m b ignore all thisxxx")
    assert len(reason) == 200


def test_the_leases_in_force_are_limited() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    over_ns = daemon.now_ns + (MOST_LEASES + 60) * SECOND
    daemon.note(*(LeaseGranted(f"{n}", "file", "intent", over_ns) for n in range(MOST_LEASES)), who=daemon.who("ann"))
    assert claim(daemon, "ben")["error"] == "busy"
    assert claim(daemon, "ann", "7", "intent")["renewed"]
    after(daemon, 60)
    assert claim(daemon, "ben")["ok"]


# ── how they end ─────────────────────────────────────────────────────────────


def test_a_lease_that_is_over_refuses_nobody_though_no_record_says_so() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    daemon.who("ben")
    number = claim(daemon, "ann", ttl_s=60)["lease"]
    after(daemon, 58)
    assert replace(daemon, "ben", "line 3", "LINE 3")["error"] == "lease_held"
    assert replace(daemon, "ben", "line 3", "LINE 3")["ok"]
    assert daemon.ask("claims", {})["leases"] == []
    assert daemon.ask("claim", {"renew": number}, by="ann")["error"] == "not_found"
    assert daemon.ask("release", {"lease": number}, by="ann")["error"] == "not_found"
    assert claim(daemon, "ben")["ok"]


def test_a_renewed_lease_lasts_from_now() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    number = claim(daemon, "ann", ttl_s=60, reason="one")["lease"]
    after(daemon, 50)
    renewed = daemon.ask("claim", {"renew": number, "ttl_s": 60, "reason": "two"}, by="ann")
    assert (renewed["ok"], renewed["lease"], renewed["reason"], renewed["expires_in_s"]) == (True, number, "two", 60)
    after(daemon, 50)
    assert claim(daemon, "ben")["error"] == "lease_held"
    assert len(daemon.events(LeaseRenewed)) == 1


def test_only_its_holder_renews_or_releases_a_lease() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    number = claim(daemon, "ann", reason="mine")["lease"]
    assert daemon.ask("claim", {"renew": number}, by="ben")["error"] == "lease_held"
    refused = daemon.ask("release", {"lease": number}, by="ben")
    assert (refused["error"], refused["suggested_action"], refused["holder"]["agent"]) == ("lease_held", "force", "ann")
    assert daemon.ask("release", {"lease": number}, by="ann")["released"][0]["lease"] == number
    assert claim(daemon, "ben")["ok"]
    assert len(daemon.events(LeaseReleased)) == 1


def test_leases_are_released_by_number_by_path_or_all() -> None:
    daemon = MemoryDaemon({"f.txt": TEN, "src/a.py": "x\n"})
    first = claim(daemon, "ann", kind="shared")["lease"]
    second = claim(daemon, "ann", kind="intent")["lease"]
    claim(daemon, "ann", "src")
    claim(daemon, "ann", "*.md")
    claim(daemon, "ben", kind="intent")
    by_path = daemon.ask("release", {"path": "./f.txt"}, by="ann")
    assert [one["lease"] for one in by_path["released"]] == [first, second]
    assert [one["path"] for one in daemon.ask("release", {"path": "*.md"}, by="ann")["released"]] == ["*.md"]
    assert daemon.ask("release", {"path": "nothing"}, by="ann")["error"] == "not_found"
    assert [one["path"] for one in daemon.ask("release", {"all": True}, by="ann")["released"]] == ["src"]
    nothing = daemon.ask("release", {"all": True}, by="ann")
    assert (nothing["ok"], nothing["released"]) == (True, [])
    assert [one["holder"]["agent"] for one in daemon.ask("claims", {})["leases"]] == ["ben"]


@pytest.mark.parametrize(
    "arguments", [{}, {"lease": 1, "all": True}, {"path": "a", "lease": 1}, {"all": True, "force": True}]
)
def test_a_release_says_exactly_what_it_means(arguments: dict[str, Any]) -> None:
    assert MemoryDaemon().ask("release", arguments)["error"] == "schema_invalid"


def test_another_caller_can_break_a_lease_and_its_holder_is_told() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    number = claim(daemon, "ann", ttl_s=300)["lease"]
    broken = daemon.ask("release", {"lease": number, "force": True, "reason": "ann hangs\x07"}, by="ben")
    assert [one["lease"] for one in broken["broken"]] == [number]
    assert [(e.lease, e.why) for e in daemon.events(LeaseBroken) if isinstance(e, LeaseBroken)] == [
        (number, "ann hangs")
    ]
    (log,) = daemon.ask("log", {"kind": "lease_broken", "path": "f.txt"})["records"]
    assert (log["lease"], log["why"], log["writer"]["agent"]) == (number, "ann hangs", "ben")
    assert replace(daemon, "ben", "line 3", "LINE 3")["ok"]
    told = replace(daemon, "ann", "line 5", "LINE 5")
    (warning,) = [w for w in told["warnings"] if w["type"] == "lease_broken"]
    assert warning["lease"] == number
    assert "ben/s1" in warning["message"]
    assert '"ann hangs"' in warning["message"]
    (lost,) = daemon.ask("claims", {}, by="ann")["broken"]
    assert (lost["lease"], lost["broken_by"]["agent"], lost["broken_why"]) == (number, "ben", "ann hangs")
    assert daemon.ask("claims", {}, by="ben")["broken"] == []
    refused = daemon.ask("claim", {"renew": number}, by="ann")
    assert (refused["error"], "ben" in refused["message"]) == ("not_found", True)
    after(daemon, 300)
    assert not [w for w in replace(daemon, "ann", "line 6", "LINE 6")["warnings"] if w["type"] == "lease_broken"]


def test_breaking_by_path_ends_what_others_have_there_and_releases_ones_own() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    theirs, mine = claim(daemon, "ann", kind="shared")["lease"], claim(daemon, "ben", kind="shared")["lease"]
    ended = daemon.ask("release", {"path": "f.txt", "force": True}, by="ben")
    assert ([o["lease"] for o in ended["broken"]], [o["lease"] for o in ended["released"]]) == ([theirs], [mine])
    assert daemon.ask("claims", {})["leases"] == []


# ── which ground ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
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
    daemon = MemoryDaemon(dict.fromkeys(("f.txt", "src/a.py", "src/sub/b.py", "docs/d.md", "[id].tsx"), "x\n"))
    assert claim(daemon, "ann", held)["ok"]
    assert claim(daemon, "ben", wanted)["ok"] is granted


def test_a_glob_that_begins_at_the_root_of_the_disk_leads_out_of_the_workspace() -> None:
    assert claim(MemoryDaemon({"src/a.py": "x\n"}), "ann", "/*.py")["error"] == "outside_workspace"


def test_a_link_stands_for_its_target() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    daemon.files.link("l.txt", "f.txt")
    assert claim(daemon, "ann", "l.txt")["path"] == "f.txt"
    assert replace(daemon, "ben", "line 3", "LINE 3")["error"] == "lease_held"


def test_line_ranges_of_one_file_are_apart_or_not_wherever_they_have_moved() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    assert claim(daemon, "ann", start_line=4, end_line=6)["ok"]
    assert claim(daemon, "ben", start_line=1, end_line=3)["ok"]
    assert replace(daemon, "ben", "line 2\n", "line 2\nnew\nnew\n")["ok"]
    refused = claim(daemon, "cleo", start_line=6, end_line=7)
    assert (refused["error"], refused["lines"]) == ("lease_held", {"start": 6, "end": 8})
    assert claim(daemon, "cleo", start_line=9)["lines"] == {"start": 9, "end": 12}
    assert claim(daemon, "dan")["error"] == "lease_held"


def test_lines_are_clamped_to_the_file() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    assert claim(daemon, "ann", start_line=8, end_line=99)["lines"] == {"start": 8, "end": 10}
    assert claim(daemon, "ben", end_line=2)["lines"] == {"start": 1, "end": 2}


@pytest.mark.parametrize("glob", ["[", "[z-a]*"])
def test_claims_about_a_glob_that_is_none_are_refused(glob: str) -> None:
    daemon = MemoryDaemon({"f.txt": "one\n"})
    assert daemon.ask("claim", {"path": "f.txt"})["ok"]
    assert daemon.ask("claims", {"path": glob})["error"] == "schema_invalid"
