"""Announced calls, from what they say to who is told to have written: by a daemon that looks when a test says so."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.core.decision import Who
from quire_daemon.tools.agent_hooks import NATIVE_TOOL
from quire_daemon.tools.undo.tool import UNDO_TOOL
from quire_journal.model.events import WriteAttributed
from quire_journal.model.evidence import SCANNED

OLD = lines("one", "two", "three", "four")
ANNS = OLD.replace(b"two", b"ann's")
A_PERSONS = lines("one", "two", "three", "four", "a person's")
BOTH = ANNS + b"a person's\n"
FORMATTED = b"x = f(\n    1,\n    2,\n)\n"


@pytest.fixture
def daemon() -> MemoryDaemon:
    daemon = MemoryDaemon()
    daemon.outside("f", OLD)
    return daemon


def replacing(old: str, new: str, path: str = "f") -> dict[str, Any]:
    return {"kind": "replace", "path": path, "edits": [{"old": old, "new": new}]}


ANNS_EDIT = replacing("two", "ann's")


def begins(daemon: MemoryDaemon, who: Who, *payloads: dict[str, Any], paths: tuple[str, ...] = ("f",)) -> int:
    told = daemon.call(NATIVE_TOOL, who, moment="before", tool="Edit", paths=[*paths], payloads=[*payloads])
    assert told["ok"], told
    return int(told["burst"])


def ends(daemon: MemoryDaemon, who: Who, *payloads: dict[str, Any], **args: Any) -> dict[str, Any]:
    paths = args.pop("paths", ("f",))
    return daemon.call(NATIVE_TOOL, who, moment="after", tool="Edit", paths=[*paths], payloads=[*payloads], **args)


def versions(daemon: MemoryDaemon, path: str = "f") -> list[tuple[bytes, str, str]]:
    """(the text, who is said to have written it, by which evidence) of each version behind the first."""
    with daemon.history() as history:
        found = list(history.versions(path))[1:]
        return [(history.bytes_of(one.blob), history.named(one.writer), one.evidence) for one in found]


def newest(daemon: MemoryDaemon, path: str = "f") -> tuple[str, str]:
    return versions(daemon, path)[-1][1:]


# ── what stands beside a call ────────────────────────────────────────────────


def test_what_a_person_wrote_beside_a_call_between_two_looks_stays_the_persons(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, ANNS_EDIT)
    daemon.outside("f", BOTH)
    ends(daemon, daemon.ann, ANNS_EDIT)
    assert versions(daemon) == [(ANNS, "ann/s1", "exact"), (BOTH, "outside", "watched")]


def test_an_undo_of_the_agent_takes_only_what_stood_in_the_call(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, ANNS_EDIT)
    daemon.outside("f", BOTH)
    ends(daemon, daemon.ann, ANNS_EDIT)
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="ann")["ok"]
    assert daemon.text("f") == A_PERSONS


def test_lines_that_look_like_a_calls_are_its_only_if_it_was_made(daemon: MemoryDaemon) -> None:
    """The person may type what the agent is about to, and then not allow the call."""
    begins(daemon, daemon.ann, ANNS_EDIT)
    daemon.outside("f", BOTH)
    daemon.call(NATIVE_TOOL, daemon.ann, moment="end")
    assert [one[1:] for one in versions(daemon)] == [("outside", "overlap")] * 2


def test_a_call_that_names_a_link_writes_what_it_leads_to(daemon: MemoryDaemon) -> None:
    """Its own edit was told as that of another program, and kept it from the next one."""
    daemon.files.link("link", "f")
    told, named = replacing("two", "ann's", "link"), ("link",)
    daemon.call(NATIVE_TOOL, daemon.ann, moment="after", tool="Read", paths=["f"], whole=True)
    begins(daemon, daemon.ann, told, paths=named)
    daemon.outside("f", ANNS)
    ends(daemon, daemon.ann, told, paths=named)
    assert newest(daemon) == ("ann/s1", "exact")
    begins(daemon, daemon.ann, replacing("ann's", "2", "link"), paths=named)


def test_a_call_that_failed_wrote_nothing_whatever_stands_there(daemon: MemoryDaemon) -> None:
    burst = begins(daemon, daemon.ann, ANNS_EDIT)
    daemon.outside("f", ANNS)
    assert newest(daemon) == ("ann/s1", "exact")
    told = ends(daemon, daemon.ann, ok=False)
    assert newest(daemon) == ("outside", "overlap")
    assert (told["batches"], told["unclear"]) == (0, 1)
    assert daemon.events(WriteAttributed)[-1].candidates == (burst,)
    assert daemon.call(UNDO_TOOL, daemon.ann)["error"] == "not_found"


def test_a_patch_of_several_files_that_failed_may_have_written_some(daemon: MemoryDaemon) -> None:
    text = "*** Begin Patch\n*** Update File: f\n@@\n-two\n+ann's\n*** Update File: g\n@@\n-x\n+y\n*** End Patch\n"
    patch = {"kind": "patch", "text": text}
    begins(daemon, daemon.ann, patch, paths=("f", "g"))
    daemon.outside("f", ANNS)
    ends(daemon, daemon.ann, paths=("f", "g"), ok=False)
    assert newest(daemon) == ("ann/s1", "exact")


@pytest.mark.parametrize("looks", [1, 2], ids=["seen with it", "seen behind it"])
def test_what_a_formatter_sets_anew_within_the_call_is_probably_of_the_call(daemon: MemoryDaemon, looks: int) -> None:
    edit = replacing("two", "x=f(1,2)")
    begins(daemon, daemon.ann, edit)
    made = OLD.replace(b"two", b"x=f(1,2)")
    if looks == 2:
        daemon.outside("f", made)
    daemon.outside("f", OLD.replace(b"two\n", FORMATTED))
    ends(daemon, daemon.ann, edit)
    assert versions(daemon) == [
        (made, "ann/s1", "exact"),
        (OLD.replace(b"two\n", FORMATTED), "ann/s1", "during"),
    ]


def test_the_words_of_others_are_no_layout(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, ANNS_EDIT)
    for text in (ANNS, BOTH):
        daemon.outside("f", text)
    ends(daemon, daemon.ann, ANNS_EDIT)
    assert newest(daemon) == ("outside", "watched")


# ── several calls ────────────────────────────────────────────────────────────


def test_two_agents_that_announce_the_same_are_both_candidates(daemon: MemoryDaemon) -> None:
    calls = tuple(begins(daemon, who, ANNS_EDIT) for who in (daemon.ann, daemon.ben))
    daemon.outside("f", ANNS)
    assert newest(daemon) == ("outside", "overlap")
    assert [one.candidates for one in daemon.events(WriteAttributed)] == [calls]


def test_two_agents_who_write_one_file_between_two_looks_have_a_version_each(daemon: MemoryDaemon) -> None:
    bens = replacing("three", "ben's")
    begins(daemon, daemon.ann, ANNS_EDIT)
    begins(daemon, daemon.ben, bens)
    daemon.outside("f", ANNS.replace(b"three", b"ben's"))
    assert [one[1:] for one in versions(daemon)] == [("ann/s1", "exact"), ("ben/s2", "exact")]


def test_nobody_is_a_candidate_before_all_who_could_have_written_have_ended(daemon: MemoryDaemon) -> None:
    """What the one does not account for, the other may: its announcement was lost, say."""
    bens = replacing("three", "ben's")
    for who in (daemon.ann, daemon.ben):
        begins(daemon, who)
    daemon.outside("f", OLD.replace(b"three", b"ben's"))
    ends(daemon, daemon.ann, ANNS_EDIT)
    assert newest(daemon) == ("outside", "watched")
    ends(daemon, daemon.ben, bens)
    assert newest(daemon) == ("ben/s2", "exact")


def test_what_none_of_several_accounts_for_may_be_of_each(daemon: MemoryDaemon) -> None:
    calls = tuple(begins(daemon, who) for who in (daemon.ann, daemon.ben))
    daemon.outside("f", A_PERSONS)
    for who in (daemon.ann, daemon.ben):
        ends(daemon, who)
    assert [(one.evidence, one.candidates) for one in daemon.events(WriteAttributed)] == [("overlap", calls)]


def test_a_call_writes_a_file_once(daemon: MemoryDaemon) -> None:
    """Who brings the same bytes back later, while it is still open, is somebody else."""
    begins(daemon, daemon.ann, ANNS_EDIT)
    for text in (ANNS, OLD, ANNS):
        daemon.outside("f", text)
    ends(daemon, daemon.ann, ANNS_EDIT)
    assert [one[1:] for one in versions(daemon)] == [
        ("ann/s1", "exact"),
        ("outside", "watched"),
        ("outside", "watched"),
    ]


# ── git, moves ───────────────────────────────────────────────────────────────


def test_what_git_brings_back_is_no_calls(daemon: MemoryDaemon) -> None:
    daemon.outside("f", ANNS)
    daemon.outside("f", OLD)
    begins(daemon, daemon.ann, ANNS_EDIT)
    daemon.app.observer.hint = lambda path, at_ns, exact: "git stash pop"
    daemon.outside("f", ANNS)
    assert newest(daemon) == ("outside", "watched")


def test_a_patch_that_moves_a_file_accounts_for_its_going_and_its_coming(daemon: MemoryDaemon) -> None:
    text = "*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-two\n+ann's\n*** End Patch\n"
    begins(daemon, daemon.ann, {"kind": "patch", "text": text}, paths=("f", "g"))
    daemon.outside("g", ANNS)
    daemon.outside_deletes("f")
    with daemon.history() as history:
        heads = [history.file(path) for path in ("f", "g")]
    assert [(one.gone, one.evidence) for one in heads if one is not None] == [(True, "exact"), (False, "exact")]


# ── what goes wrong ──────────────────────────────────────────────────────────


def test_the_end_of_a_call_tells_what_a_kill_of_the_daemon_made_it_forget(daemon: MemoryDaemon) -> None:
    ann = daemon.ann
    begins(daemon, ann, ANNS_EDIT)
    daemon.kill()
    daemon.save("f", ANNS)
    daemon.watch(SCANNED)
    assert newest(daemon) == ("outside", "scanned")
    ends(daemon, ann, ANNS_EDIT)
    assert newest(daemon) == ("ann/s1", "exact")


def test_nothing_is_wrong_and_nothing_lost_where_others_wrote_while_the_daemon_was_dead(daemon: MemoryDaemon) -> None:
    ann = daemon.ann
    begins(daemon, ann, ANNS_EDIT)
    daemon.kill()
    daemon.save("f", BOTH)
    daemon.watch(SCANNED)
    ends(daemon, ann, ANNS_EDIT)
    assert versions(daemon) == [(BOTH, "outside", "scanned")]


def test_a_payload_that_lies_proves_nothing_and_the_log_names_the_call(daemon: MemoryDaemon) -> None:
    burst = begins(daemon, daemon.ann, {"kind": "content", "path": "f", "text": "what it says\n"})
    daemon.outside("f", b"what it writes\n")
    told = ends(daemon, daemon.ann, {"kind": "content", "path": "f", "text": "what it says\n"})
    assert (told["batches"], told["unclear"]) == (0, 1)
    assert daemon.events(WriteAttributed) == [WriteAttributed((4,), 0, "overlap", 0, (burst,))]
    assert daemon.call(UNDO_TOOL, daemon.ann)["error"] == "not_found"


def test_a_payload_that_was_too_large_to_be_sent_leaves_the_call_a_candidate(daemon: MemoryDaemon) -> None:
    args = {"tool": "Write", "paths": ["f"], "whole": True, "payload_dropped": True}
    burst = daemon.call(NATIVE_TOOL, daemon.ann, moment="before", **args)["burst"]
    daemon.outside("f", b"x" * 1000)
    daemon.call(NATIVE_TOOL, daemon.ann, moment="after", **args)
    assert daemon.events(WriteAttributed) == [WriteAttributed((4,), 0, "overlap", 0, (burst,))]


def test_a_call_that_never_ends_keeps_what_its_payload_proved(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, ANNS_EDIT)
    daemon.outside("f", ANNS)
    daemon.outside("f", BOTH)
    daemon.after(1000)
    daemon.outside("f", OLD)
    assert [one[1:] for one in versions(daemon)] == [
        ("ann/s1", "exact"),
        ("outside", "watched"),
        ("outside", "watched"),
    ]


def test_what_is_found_of_many_writes_is_said_at_once(daemon: MemoryDaemon) -> None:
    args = {"tool": "Bash", "paths": [], "command": "touch a.py b.py c.py d.py e.py f.py"}
    daemon.call(NATIVE_TOOL, daemon.ann, moment="before", **args)
    seqs = tuple(daemon.outside(f"{name}.py", b"x = 1\n") for name in "abcdef")
    daemon.call(NATIVE_TOOL, daemon.ann, moment="after", **args)
    assert [(one.seqs, one.evidence) for one in daemon.events(WriteAttributed)] == [(seqs, "during")]
