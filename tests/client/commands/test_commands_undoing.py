"""The commands that take back, mark and claim: from undo to restore, checkpoints, bursts, leases, who. Exact texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import WRITER, Quire

# -- each command ------------------------------------------------------------------------------------------------


def test_undo_passes_the_choice_on_and_tells_what_stays(quire: Quire) -> None:
    files = [
        {
            "path": "a.py",
            "action": "write",
            "kept": [{"version": "v9", "writer": {"id": "w4", "agent": "bob"}}],
            "conflicts": [{"writer": WRITER, "lines": [{"start": 3, "end": 4}], "why": "overlap"}],
            "skipped": None,
        },
        {"path": "b.py", "action": "none", "kept": [], "conflicts": [], "skipped": "gone", "why": "It is gone."},
        {"path": "c.py", "action": "move", "to": "d.py", "kept": [], "conflicts": [], "skipped": None},
    ]
    reply = {"ok": True, "message": "Plan: 2 files to change.", "files": files, "token": "T1"}
    ran = quire("undo", "src", "--writer", "bob", "--last", "3", "--batch", "17", "--from", "v1", "--plan", undo=reply)
    assert ran.asked == [
        ("undo", {"path": "src", "writer": "bob", "batch": "17", "from": "v1", "last": 3, "plan": True}),
    ]
    assert ran.out == (
        "Plan: 2 files to change.\n"
        "  write   a.py\n"
        "          keeps what bob wrote\n"
        "          conflict: alice/s1 built on it (lines 3-4)\n"
        "  none    b.py\n"
        "          left alone: It is gone.\n"
        "  move    c.py -> d.py\n"
        "To carry it out: --token T1\n"
    )


def test_a_path_that_no_terminal_shows_is_quoted_in_a_plan(quire: Quire) -> None:
    """A line break in it was printed as a blank."""
    files = [{"path": "a\nb  c.py", "action": "write"}, {"path": "d  e.py", "action": "none"}]
    ran = quire("rollback", "v1", "--plan", rollback={"ok": True, "message": "Plan.", "files": files})
    assert ran.out.splitlines()[1:3] == ['  write   "a\\nb  c.py"', "  none    d  e.py"]


def test_a_refusal_lists_each_file_with_the_changes_of_others_in_the_way(quire: Quire) -> None:
    conflict = {"writer": WRITER, "version": "v9", "lines": [{"start": 3, "end": 3}], "why": "lines"}
    files = [{"path": "a.py", "action": "none", "kept": [{"writer": WRITER}], "conflicts": [conflict], "skipped": None}]
    message = "a.py: alice/s1 built on it with v9; nothing was changed."
    refused = {"ok": False, "error": "conflict", "message": message, "files": files, "suggested_action": "plan"}
    for words in (["undo", "--plan"], ["redo"], ["rollback", "v1"], ["restore", "a.py@v1"]):
        ran = quire(*words, **{words[0]: refused})
        assert (ran.status, ran.out) == (1, "")
        assert ran.err.splitlines()[:4] == [
            message,
            "  none    a.py",
            "          keeps what alice/s1 wrote",
            "          conflict: alice/s1 built on it with v9 (line 3)",
        ]
        assert ("--conflicts markers" in ran.err) == (words[0] != "restore")
        assert "--plan" not in ran.err, "it has been planned already"


def test_a_plan_that_cannot_be_carried_out_leads_on_to_what_can(quire: Quire) -> None:
    conflict = {"writer": WRITER, "version": "v9", "lines": [{"start": 3, "end": 3}], "why": "lines"}
    files = [{"path": "a.py", "action": "none", "kept": [], "conflicts": [conflict], "skipped": None}]
    plan = {"ok": True, "message": "Plan: 0 files to change.", "files": files, "token": "T1", "valid": False}
    ran = quire("undo", "--last", "2", "--plan", undo=plan)
    assert "--token" not in ran.out
    assert "--conflicts markers" in ran.out.splitlines()[-1]


def test_the_one_file_that_is_in_the_way_is_not_told_twice(quire: Quire) -> None:
    files = [{"path": "a.py", "action": "none", "kept": [], "conflicts": [], "skipped": "protected", "why": "No."}]
    refused = {"ok": False, "error": "conflict", "message": "a.py: No.", "files": files}
    assert quire("undo", undo=refused).err == "a.py: No.\n"


def test_undo_of_a_version_names_it(quire: Quire) -> None:
    assert quire("undo", "--batch", "v12").asked == [("undo", {"batch": "v12"})]


def test_restore_takes_a_path_at_a_point_or_a_plan(quire: Quire) -> None:
    assert quire("restore", "a.py@v3", "--plan").asked == [("restore", {"path": "a.py", "at": "v3", "plan": True})]
    assert quire("restore", "a.py", "--at", "v3", "--plan").asked == quire("restore", "a.py@v3", "--plan").asked
    assert quire("restore", "--token", "T").asked == [("restore", {"token": "T"})]


LEASE = {
    "lease": 17,
    "kind": "exclusive",
    "path": "src/a.py",
    "lines": {"start": 3, "end": 9},
    "expires_at": "2026-01-31T12:00:00.5Z",
    "holder": {"id": "w4", "agent": "bob", "agent_session": "s2"},
    "reason": "re\x1bwriting",
    "yours": False,
}


def test_claim_says_what_is_wanted_and_tells_the_number_and_who_else_is_there(quire: Quire, site: Path) -> None:
    reply = {"ok": True, "message": "src/a.py is yours.", "lease": 18, "conflicts": [{**LEASE, "kind": "intent"}]}
    options = ["--kind", "shared", "--lines", "1:4", "--ttl", "60", "--reason", "tidying", "--wait", "5", "--dry-run"]
    ran = quire("claim", "src/a.py", *options, claim=reply)
    asked = {"kind": "shared", "start_line": 1, "end_line": 4, "ttl_s": 60, "reason": "tidying", "wait_ms": 5000}
    assert ran.asked == [("claim", {"path": "src/a.py", **asked, "dry_run": True})]
    assert ran.out == (
        "src/a.py is yours.\nLease 18\n  17  intent  until 2026-01-31 12:00:00  bob/s2  src/a.py:3-9  rewriting\n"
    )
    assert quire("claim", "src/*.py").asked == [("claim", {"path": "src/*.py"})]
    assert quire("claim", "src/new/").asked == [("claim", {"path": "src/new/"})]
    assert quire("claim", "--renew", "17", "--ttl", "9").asked == [("claim", {"renew": 17, "ttl_s": 9})]


def test_a_claim_of_what_another_holds_ends_with_6(quire: Quire) -> None:
    refusal = {"ok": False, "error": "lease_held", "message": "bob has it.", "suggested_action": "wait"}
    ran = quire("claim", "src/a.py", claim=refusal)
    told = "`quire claims` says who holds it, and until when; `quire claim PATH --wait SECONDS` waits for it"
    said = f"bob has it.\nNext: {told}.\n"
    yours = "You can take it away as well: `quire release PATH --force`.\n"
    assert (ran.status, ran.out, ran.err) == (6, "", said + yours)
    assert quire("claim", "src/a.py", "--agent", "ada", claim=refusal).err == said  # no agent is to be told so


def test_release_names_a_path_a_lease_or_all(quire: Quire, site: Path) -> None:
    ran = quire("release", "src/a.py", release={"ok": True, "message": "1 lease released."})
    assert (ran.asked, ran.out) == ([("release", {"path": "src/a.py"})], "1 lease released.\n")
    broken = {"lease": 17, "force": True, "reason": "bob hangs"}
    assert quire("release", "--lease", "17", "--force", "--reason", "bob hangs").asked == [("release", broken)]
    assert quire("release", "--all").asked == [("release", {"all": True})]
    assert quire("release", "--force").err == "quire: Say which: PATH, LEASE or --all; `quire claims` lists them.\n"
    assert quire("release", "17", "--force").asked == [("release", {"lease": 17, "force": True})]  # as `claims` has it
    (site / "17").touch()
    assert quire("release", "17").asked == [("release", {"path": "17"})]
    assert quire("claim", "--kind", "shared").err == "quire: PATH is missing: `quire claim PATH`.\n"


def test_claims_lists_what_is_held_who_waits_and_what_was_broken(quire: Quire) -> None:
    mine = {**LEASE, "lease": 9, "yours": True, "lines": None, "reason": ""}
    waits = {**LEASE, "lease": None, "expires_at": None, "lines": None, "holder": {"id": "w5", "agent": ""}}
    broken = [{**mine, "broken_by": WRITER, "broken_why": "stuck"}]
    reply = {"ok": True, "message": "2 leases.", "leases": [mine, LEASE], "waiting": [waits], "broken": broken}
    ran = quire("claims", "src", claims=reply)
    assert ran.asked == [("claims", {"path": "src"})]
    assert ran.out == (
        "2 leases.\n"
        "  9      exclusive  until 2026-01-31 12:00:00  you     src/a.py\n"
        "  17     exclusive  until 2026-01-31 12:00:00  bob/s2  src/a.py:3-9  rewriting\n"
        "  waits  exclusive                             user    src/a.py      rewriting\n"
        "Your lease 9 on src/a.py was broken by alice/s1: stuck\n"
    )
    none = quire("claims", claims={"ok": True, "message": "0 leases.", "leases": []})
    assert none.out == "There is no lease; `quire claim PATH` asks for one.\n"


# -- streams -----------------------------------------------------------------------------------------------------


def test_a_place_in_the_log_is_no_version_to_undo(quire: Quire) -> None:
    ran = quire("undo", "seq:529", "--plan")
    said = "quire: seq:529 is a place in the log, and no version: `quire log --all` names the versions, as v12.\n"
    assert (ran.status, ran.err, ran.asked) == (2, said, [])


def test_the_last_command_of_git_is_all_that_git_takes(quire: Quire) -> None:
    ran = quire("undo", "--git", "lst")
    assert (ran.status, ran.asked) == (2, [])
    assert "--git" in ran.err
    assert "last" in ran.err


def test_undo_tells_that_a_file_goes_back_to_how_it_was_first_seen_and_why(quire: Quire) -> None:
    first = {"version": "v3", "writer": {"id": "outside"}, "why": "it was there."}
    files = [{"path": "z", "action": "write", "kept": [], "conflicts": [], "first_seen": first, "skipped": None}]
    ran = quire("undo", "z", undo={"ok": True, "message": "Undid 1 file.", "files": files})
    assert ran.out == "Undid 1 file.\n  write   z\n          back to v3 only: it was there.\n"


@pytest.mark.parametrize(
    ("writers", "said"),
    [
        (["git"], "what git brought"),
        (["outside", "git"], "what outside wrote, and what git brought"),
        (["outside"], "what outside wrote"),
    ],
)
def test_undo_says_of_what_git_only_brought_that_it_did(writers: list[str], said: str, quire: Quire) -> None:
    kept = [
        {"version": "v3", "writer": {"id": "outside"}, **({"by_git": True} if one == "git" else {})} for one in writers
    ]
    files = [{"path": "z", "action": "write", "kept": kept, "conflicts": [], "skipped": None}]
    ran = quire("undo", "z", undo={"ok": True, "message": "Undid 1 file.", "files": files})
    assert ran.out == f"Undid 1 file.\n  write   z\n          keeps {said}\n"


def test_undo_tells_who_is_in_the_way_with_what_and_where_markers_stand(quire: Quire) -> None:
    conflicts = [
        {"writer": WRITER, "version": "v812", "why": "lines", "lines": [{"start": 3, "end": 3}]},
        {"writer": {"id": "outside"}, "version": "v9", "why": "deleted", "lines": []},
        {"writer": {"id": "outside"}, "version": "v10", "why": "moved", "lines": [], "by_git": True},
    ]
    files = [{"path": "a.py", "action": "write", "conflicts": conflicts, "marked": 1}]
    ran = quire("undo", "a", "b", "--burst", "7", "--conflicts", "markers", undo={"ok": True, "files": files})
    assert ran.asked == [("undo", {"paths": ["a", "b"], "burst": 7, "conflicts": "markers"})]
    assert ran.out == (
        "\n"
        "  write   a.py\n"
        "          conflict: alice/s1 built on it with v812 (line 3)\n"
        "          conflict: outside deleted it with v9\n"
        "          conflict: git moved it with v10\n"
        "          1 place with both sides, between conflict markers\n"
    )
    assert quire("undo", "--conflicts", "fight").status == 2


def test_where_a_run_is_in_the_way_the_undo_of_it_is_named(quire: Quire) -> None:
    """An undo of what a formatter had reformatted led to markers only."""
    conflict = {"writer": WRITER, "version": "v9", "lines": [{"start": 3, "end": 3}], "why": "lines", "run": 16}
    file: dict[str, Any] = {"path": "a.py", "action": "none", "conflicts": [conflict]}
    plan = {"ok": True, "message": "Plan.", "files": [file]}
    assert quire("undo", "--plan", undo=plan).out.splitlines()[2:] == [
        "          conflict: alice/s1 built on it with v9 (line 3)",
        "          it was a command: `quire undo --burst 16` takes it back, and then this goes, too",
    ]
    file["conflicts"].append({"writer": {"id": "outside"}, "version": "v10", "why": "lines", "lines": []})
    assert "it was a command" not in quire("undo", "--plan", undo=plan).out, "as that would not be enough"


def test_an_undo_of_gits_last_command_names_it(quire: Quire) -> None:
    """A command that had left no file changed was passed over without a word."""
    git = {"git": "checkout: moving from side to main", "git_later": "merge topic: Fast-forward"}
    plan: dict[str, Any] = {"ok": True, "message": "Plan: 2 files to change.", "files": [], **git}
    assert quire("undo", "--git", "last", "--plan", undo=plan).out.splitlines()[1] == (
        "What `git checkout main` wrote. `git merge topic` came after it, and left no file changed."
    )


def test_redo_takes_the_same_choice(quire: Quire) -> None:
    assert quire("redo").asked == [("redo", {})]
    assert quire("redo", "--batch", "812", "--plan").asked == [("redo", {"batch": "812", "plan": True})]
    assert quire("redo", "--burst", "last").status == 2


def test_rollback_takes_a_point_paths_and_whose_work(quire: Quire) -> None:
    ran = quire("rollback", "before", "src", "--only", "alice", "--plan")
    assert ran.asked == [("rollback", {"to": "before", "path": "src", "writer": "alice", "plan": True})]
    assert quire("rollback", "--token", "T").asked == [("rollback", {"token": "T"})]
    assert quire("rollback", "v1", "--writer", "bo").asked == [("rollback", {"to": "v1", "writer": "bo"})]
    ran = quire("rollback")
    assert (ran.status, ran.err) == (2, "quire: POINT is missing: `quire rollback POINT [PATH ...]`.\n")


def test_checkpoints_are_named_listed_and_compared(quire: Quire) -> None:
    lost = {"count": 3, "files": [{"path": "big", "why": "too_large"}], "more": 2, "never": "what is ignored"}
    made = {"ok": True, "message": "Checkpoint 'here' is at seq:9.", "note": "green", "not_captured": lost}
    ran = quire("checkpoint", "create", "here", "--note", "green", checkpoint=made)
    assert ran.asked == [("checkpoint", {"action": "create", "name": "here", "note": "green"})]
    assert ran.out == (
        "Checkpoint 'here' is at seq:9.\n  green\n  not captured: big (too large)\n  and 2 more\n"
        "  never captured: what is ignored\n"
    )
    named = {"name": "here", "seq": 9, "at": "2026-01-31T12:00:00Z", "writer": WRITER, "not_captured": {"count": 3}}
    ran = quire("checkpoint", checkpoint={"ok": True, "checkpoints": [named]})
    assert ran.asked == [("checkpoint", {"action": "list"})]
    assert ran.out == "here  seq:9  2026-01-31 12:00:00  alice/s1  3 not captured\n"
    compared = {"ok": True, "files": [], "not_captured": {"count": 1, "blind": "overflow"}}
    ran = quire("checkpoint", "diff", "here", "src", "--to", "v12", checkpoint=compared)
    assert ran.asked == [("checkpoint", {"action": "diff", "name": "here", "paths": ["src"], "to": "v12"})]
    told = "  1 file not captured\n  the journal may not have known everything: overflow\n"
    assert ran.out == f"Nothing differs.\n{told}"


@pytest.mark.parametrize("words", [["forget", "it"], ["create"], ["show", "a", "b"], ["list", "a"]])
def test_checkpoint_wants_what_it_can_do(words: list[str], quire: Quire) -> None:
    assert quire("checkpoint", *words).status == 2


def test_burst_begin_prints_the_number_for_scripts_and_the_sentence_beside_it(quire: Quire) -> None:
    reply = {"ok": True, "message": "Burst 12 has begun.", "burst": 12, "warnings": [{"message": "Careful."}]}
    ran = quire("burst", "begin", "make format", "--kind", "formatter", "--ttl", "60", "--not-outside", burst=reply)
    asked = {"action": "begin", "label": "make format", "kind": "formatter", "ttl_s": 60, "outside": False}
    assert ran.asked == [("burst", asked)]
    assert (ran.out, ran.err) == ("12\n", "Burst 12 has begun.\nCareful.\n")


def test_bursts_are_ended_listed_and_shown(quire: Quire) -> None:
    burst = {"burst": 12, "began_at": "2026-01-31T12:00:00Z", "owner": WRITER, "state": "ended", "why": "ttl"}
    burst |= {"batches": 1, "kind": "git", "label": "switch"}
    ran = quire("burst", "end", burst={"ok": True, "message": "Burst 12 has ended.", **burst})
    assert ran.asked == [("burst", {"action": "end"})]
    assert ran.out == "Burst 12 has ended.\nTo take it back: quire undo --burst 12\n"
    empty = {"ok": True, "message": "Burst 13 has ended: 0 batches.", "burst": 13, "batches": 0, "outside": False}
    said = "Burst 13 has ended: 0 batches.\nWhat is written past Quire belongs to a burst that began with --outside.\n"
    assert quire("burst", "end", burst=empty).out == said
    row = "12  2026-01-31 12:00:00  alice/s1  ended (ttl)  1 batch  git  switch\n"
    assert quire("burst", burst={"ok": True, "bursts": [burst]}).out == row
    unclear = {**burst, "batches": 0, "unclear": 2}
    assert "  0 batches, 2 may belong  " in quire("burst", burst={"ok": True, "bursts": [unclear]}).out
    contents = [{"batch": 13, "at": "2026-01-31T12:00:01Z", "writer": {"id": "outside"}, "paths": ["a", "b"]}]
    contents += [{**contents[0], "belongs": False, "evidence": "scanned", "paths_more": 3}]
    ran = quire("burst", "show", "12", burst={"ok": True, **burst, "contents": contents, "more": 4})
    assert ran.asked == [("burst", {"action": "show", "burst": 12})]
    assert ran.out == (
        f"{row}"
        "  13  2026-01-31 12:00:01  outside                        a, b\n"
        "  13  2026-01-31 12:00:01  outside  may belong (scanned)  a, b and 3 more\n"
        "  and 4 more\n"
    )


@pytest.mark.parametrize("words", [["stop"], ["show"], ["end", "the-last"], ["list", "3"], ["begin", "a", "b"]])
def test_burst_wants_what_it_can_do(words: list[str], quire: Quire) -> None:
    assert quire("burst", *words).status == 2


def test_who_shows_a_caller_once_and_says_how_many_writers_it_was(quire: Quire) -> None:
    ann = {"id": "w8", "agent": "ann", "agent_session": "s1", "turns": 6, "ids": ["w8", "w5"], "present": True}
    ben = {"id": "w9", "agent": "ben", "agent_session": "s2", "turns": 1, "ids": ["w9"], "connections": 1}
    told = {"ok": True, "writers": [ann, ben], "total": 2}
    assert quire("who", who=told).out == "ann/s1    present\nben/s2    present\n"
    out = quire("who", "--all", who=told).out
    assert out == "w8 and 5 before  ann/s1    present\nw9               ben/s2    present\n"


def test_who_lists_who_is_present_and_on_what(quire: Quire) -> None:
    lease = {"kind": "exclusive", "path": "src"}
    on = {"writing": [{"path": "a.py"}, {"path": "b.py"}], "leases": [lease], "bursts": [{"burst": 12, "label": "fmt"}]}
    on["files"] = [{"path": "only/read.py"}]
    ann = {**WRITER, "turn": "t9", "you": True, "present": True, "connections": 1, "alive": True, "on": on}
    user = {"id": "w1", "uid": 1000, "present": True, "connections": 0, "alive": False, "last_seen": None}
    cleo = {"id": "w2", "agent": "cleo", "present": False, "connections": 0, "alive": None, "hooks": True}
    reply = {"ok": True, "writers": [{**ann, "last_seen": "2026-01-31T12:00:00Z"}, user, cleo], "total": 6}
    ran = quire("who", "--limit", "2", who=reply)
    assert ran.asked == [("who", {"hours": 12, "limit": 2})]
    assert ran.out == (
        "alice/s1 (you)  turn t9  present  2026-01-31 12:00:00  "
        "exclusive lease on src; burst 12 fmt; writes a.py, b.py\n"
        "user                     present\n"
        "cleo                     gone\n"
        "and 3 more; --all lists them\n"
    )
    assert quire("who", "--all", "--limit", "2", who=reply).out.endswith("and 3 more; a larger --limit lists them\n")
    assert quire("who", "--all", "--minutes", "0.5").asked == [("who", {"hours": 0, "minutes": 0.5})]
    assert quire("who", who={"ok": True, "writers": [], "total": 0}).out == "Nobody is there.\n"
    assert quire("who", "--minutes", "many").status == 2


def test_who_tells_first_where_several_are_in_one_file(quire: Quire) -> None:
    ann = {"writer": {"agent": "ann", "agent_session": "s1"}, "lines": [[3, 9]], "symbols": ["dispatch"]}
    ben = {"writer": {"agent": "ben"}, "lines": [[5, 5], [20, 24]], "symbols": ["dispatch", "route"]}
    both = {"path": "app.py", "writers": [ann, ben], "symbols": ["dispatch"]}
    ann_apart, ben_apart = ({**one, "symbols": []} for one in (ann, ben))
    apart = {"path": "b.txt", "writers": [ann_apart, ben_apart], "symbols": []}
    reply = {"ok": True, "writers": [{**ann["writer"], "present": True}], "total": 1, "collisions": [both, apart]}
    assert quire("who", who=reply).out == (
        "app.py: ann/s1 and ben, both in dispatch\nb.txt: ann/s1 and ben (lines 3-9; 5, 20-24)\n\nann/s1    present\n"
    )


def test_who_tells_which_of_many_are_in_one_function(quire: Quire) -> None:
    each = [("ann", ["dispatch", "route"]), ("ben", ["store"]), ("cleo", ["route", "dispatch"])]
    writers = [{"writer": {"agent": name}, "lines": [[1, 1]], "symbols": found} for name, found in each]
    reply = {"ok": True, "writers": [], "total": 0, "collisions": [{"path": "a", "writers": writers, "symbols": []}]}
    assert quire("who", who=reply).out.startswith("a: ann and ben and cleo; ann and cleo in dispatch, route\n")


def test_an_agent_is_told_what_was_changed_since_it_read_it_and_a_person_is_not(quire: Quire) -> None:
    entry = {"path": "a.py", "writer": {"id": "outside"}, "at": "2026-01-31T12:00:00Z", "hint": "git pull (bo/s2)"}
    told = {"ok": True, "writers": [], "total": 0, "changed_since_your_read": [entry]}
    said = "a.py was changed since you read it, by outside at 2026-01-31 12:00:00 (git pull (bo/s2)).\n"
    assert quire("who", "--agent", "ada", who=told).err == said
    assert quire("who", who=told).err == ""
    assert quire("who", "--agent", "ada", "--json", who=told).err == ""
    told["changed_since_your_read"] = [{**entry, "path": "my a.py", "since": "v9"}]
    assert quire("who", "--agent", "ada", who=told).err.endswith("; see `quire diff v9.. 'my a.py'`.\n")
    told["changed_since_your_read"] = [{**entry, "lines": None}]  # others may have changed it before
    assert quire("who", "--agent", "ada", who=told).err == said.replace(", by", ", last by")
    told["changed_since_your_read"] = [{**entry, "writer": WRITER}, entry]
    by = "a.py was changed since you read it, by alice/s1 and outside, last at 2026-01-31 12:00:00"
    assert quire("who", "--agent", "ada", who=told).err.startswith(by)


def test_of_a_file_that_is_removed_nothing_is_said_to_be_kept(quire: Quire) -> None:
    """Others changed it and changed it back: else it would stay."""
    files = [{"path": "a.py", "action": "delete", "kept": [{"writer": {"id": "outside"}}]}]
    out = quire("undo", undo={"ok": True, "message": "Undone in 1 file.", "files": files}).out
    assert out == "Undone in 1 file.\n  delete  a.py\n"


def test_a_plan_says_what_a_file_was_called_when_it_was_changed(quire: Quire) -> None:
    files = [{"path": "b.py", "was": "a.py", "action": "write", "kept": [], "conflicts": [], "skipped": None}]
    out = quire("undo", "--plan", undo={"ok": True, "message": "Plan.", "files": files}).out
    assert out == "Plan.\n  write   b.py\n          was a.py then\n"


def test_who_has_nothing_to_undo_is_told_of_what_other_programs_wrote(quire: Quire, site: Path) -> None:
    """A person's own editor is such a program: what they call theirs is nobody's in the journal."""
    (site / "a.py").touch()
    nothing = {"ok": False, "error": "not_found", "message": "There is nothing of yours to undo."}
    assert "`quire undo --writer outside --last 1 --plan`" in quire("undo", "a.py", undo=nothing).err
    assert "outside" not in quire("undo", "--writer", "ada", undo=nothing).err
    assert "outside" not in quire("undo", undo={"ok": True, "message": "Undone in 0 files.", "files": []}).err


def test_a_word_that_is_no_path_and_no_version_is_not_undone(quire: Quire) -> None:
    nothing = {"ok": False, "error": "not_found", "message": "There is nothing of yours to undo in nosuch.txt."}
    for word in ("nosuch.txt", "v 12", "HEAD~1"):
        ran = quire("undo", word, undo=nothing, log={"ok": True, "records": []})
        assert (ran.status, ran.err.splitlines()[0]) == (3, f"Neither the journal nor the disk has {word}.")


def test_undo_without_a_selection_prints_the_time_of_the_undone_change(quire: Quire) -> None:
    """What somebody did last through Quire may be hours old, though their editor has written since."""
    reply = {"ok": True, "message": "Undone in 1 file.", "files": [], "batches": [593]}
    shown = {"ok": True, "record": {"at": "2026-01-31T12:00:00.5Z", "writer": WRITER}}
    ran = quire("undo", undo=reply, show=shown)
    undone = ("log", {"kind": "batch_undone", "limit": 1})
    assert ran.asked == [undone, ("undo", {}), ("show", {"version": "seq:593"})]
    assert ran.err == "That was what you did at 2026-01-31 12:00:00.\n"
    assert quire("undo", "--plan", undo=reply, show=shown).err == "That is what you did at 2026-01-31 12:00:00.\n"
    for words in (["--writer", "bob"], ["--burst", "7"], ["--json"]):
        ran = quire("undo", *words, undo=reply, show=shown)
        assert (len(ran.asked), ran.err) == (1, "")


def test_a_plan_names_as_writers_neither_git_nor_undos(quire: Quire) -> None:
    kept = [
        {"writer": {**WRITER, "type": "undo"}},
        {"writer": {"id": "outside"}, "by_git": True},
        {"writer": {**WRITER, "agent": "bob"}, "evidence": "during"},
    ]
    files = [{"path": "a.py", "action": "write", "kept": kept, "conflicts": [], "skipped": None}]
    out = quire("undo", "--plan", undo={"ok": True, "message": "Plan.", "files": files}).out
    assert out.splitlines()[-1] == "          keeps what ~bob/s1 wrote, and what an undo and git brought"
