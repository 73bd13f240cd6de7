"""The engine: base, staleness, rebase, safety, records and replies of every edit."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Dialects, Edit, EditDialect, Safety, Settings
from quire_daemon.core.decision import Put
from quire_daemon.dialects.base import Dialect, Plan, Sight, own_text
from quire_daemon.dialects.edit import EDIT, EditParams
from quire_daemon.tools.edit.engine import edit_tool
from quire_journal.model.events import (
    CheckpointRolledBack,
    CheckpointSaved,
    EditRefused,
    FileWritten,
    ReadServed,
)
from quire_journal.model.refusals import Refusal
from quire_journal.text.line_hash import hash8

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"
TWENTY = "".join(f"line {n}\n" for n in range(1, 21))


def h(line: str) -> str:
    """The hash of a line as reads show it."""
    return hash8(line.encode())[:6]


def replace(line: str, content: str, **more: Any) -> dict[str, Any]:
    """Arguments of an edit that replaces one line of f.txt."""
    return {"path": "f.txt", "operations": [{"op": "replace_line", "hash": h(line), "content": content}], **more}


def read(daemon: MemoryDaemon, by: str = "ann", **more: Any) -> dict[str, Any]:
    """A read of f.txt with hashes."""
    return daemon.ask("read_file", {"path": "f.txt", "hashes": True, **more}, by=by)


# ── success ──


def test_a_success_tells_everything_that_the_contract_lists() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    reply = daemon.ask(
        "edit",
        {
            "path": "f.txt",
            "operations": [
                {"op": "replace_line", "hash": h("line 12"), "content": "a\nb\nc"},
                {"op": "insert_after", "hash": h("line 15"), "content": "new"},
            ],
        },
    )
    assert reply["ok"]
    assert reply["message"].startswith("2 operations applied")
    assert (reply["lines_before"], reply["lines_after"], reply["net_lines"]) == (20, 23, 3)
    assert (reply["anchors_valid_through"], reply["must_refresh_from_line"]) == (11, 12)
    assert (reply["baseline_continuity"], reply["writer_type"]) == ("clean", "edit")
    assert (reply["safety_status"], reply["warnings"], reply["checkpoint"]) == ("clean", [], "committed")
    assert reply["operations_applied"] == 2
    assert reply["sizeBytes"] == len(daemon.files["f.txt"])
    assert reply["changed"] == [
        {"start": 12, "end": 14, "was_start": 12, "was_end": 12, "shift": 2},
        {"start": 18, "end": 18, "was_start": 16, "was_end": 15, "shift": 3},
    ]


def test_the_version_in_a_reply_is_the_one_that_a_read_shows() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon)
    reply = daemon.ask("edit", replace("two 2", "TWO"))
    after = read(daemon)
    assert (reply["version"], reply["sha256"]) == (after["version"], after["sha256"])


def test_the_diff_shows_fresh_anchors_with_quality_around_the_change() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    reply = daemon.ask("edit", replace("line 10", "new"))
    assert reply["diff"] == [
        f" 7#{h('line 7')} [high]|line 7",
        f" 8#{h('line 8')} [high]|line 8",
        f" 9#{h('line 9')} [high]|line 9",
        f"-10#{h('line 10')} [high]|line 10",
        f"+10#{h('new')} [high]|new",
        f" 11#{h('line 11')} [high]|line 11",
        f" 12#{h('line 12')} [high]|line 12",
        f" 13#{h('line 13')} [high]|line 13",
    ]


def test_the_scope_of_an_edit_in_the_middle_is_exact() -> None:
    daemon = MemoryDaemon({"f.txt": "".join(f"line {n}\n" for n in range(1, 41))})
    read(daemon)
    operation = {"op": "delete_range", "start_hash": h("line 20"), "end_hash": h("line 22")}
    reply = daemon.ask("edit", {"path": "f.txt", "operations": [operation]})
    assert (reply["anchors_valid_through"], reply["must_refresh_from_line"]) == (19, 20)
    assert reply["changed"] == [{"start": 20, "end": 19, "was_start": 20, "was_end": 22, "shift": -3}]


def test_a_sound_edit_leaves_one_write_and_what_its_diff_showed() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon, start_line=1, end_line=2)
    assert daemon.ask("edit", replace("line 10", "new"))["checkpoint"] == "committed"
    (write,) = daemon.events(FileWritten)
    assert isinstance(write, FileWritten)
    assert (write.path, write.by, write.dialect, write.size) == ("f.txt", "edit", "edit", len(daemon.files["f.txt"]))
    served = daemon.events(ReadServed)[-1]
    assert isinstance(served, ReadServed)
    assert served.shown == ((0, 2), (6, 13))
    assert served.anchors
    assert not daemon.events(CheckpointSaved, CheckpointRolledBack, EditRefused)


def test_an_edit_that_changes_nothing_makes_no_version() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    version = read(daemon)["version"]
    reply = daemon.ask("edit", replace("two 2", "two 2"))
    assert (reply["ok"], reply["unchanged"], reply["version"], reply["diff"]) == (True, True, version, [])
    assert not daemon.events(FileWritten)


def test_a_dry_run_does_everything_but_the_write() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    version = read(daemon)["version"]
    before = daemon.journal.head
    reply = daemon.ask("edit", replace("two 2", "TWO", dry_run=True))
    assert (reply["ok"], reply["dry_run"], reply["valid"], reply["version"]) == (True, True, True, version)
    assert reply["diff"]
    refused = daemon.ask("edit", replace("nowhere", "x", dry_run=True))
    assert (refused["error"], refused["dry_run"], refused["valid"]) == ("anchor_stale", True, False)
    assert daemon.read("f.txt") == FIVE
    assert daemon.journal.head == before


def test_untouched_lines_keep_their_bytes() -> None:
    daemon = MemoryDaemon({"f.txt": b"\xef\xbb\xbfa 1\r\ncaf\xe9\rb 2\nlast"})
    read(daemon)
    assert daemon.ask("edit", replace("b 2", "B"))["ok"]
    assert daemon.files["f.txt"] == b"\xef\xbb\xbfa 1\r\ncaf\xe9\rB\nlast"


# ── what the caller read ──


def test_a_change_by_another_program_is_refused_with_who_when_and_which_lines() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    version = read(daemon)["version"]
    daemon.save("f.txt", TWENTY.replace("line 10", "theirs"))
    reply = daemon.ask("edit", replace("line 3", "mine"))
    assert (reply["error"], reply["suggested_action"], reply["reason"]) == ("anchor_stale", "re-read_file", "changed")
    assert version in reply["message"]
    assert "line 10" in reply["message"]
    assert reply["touches"] == "none"
    (change,) = reply["changes"]
    assert (change["writer"]["type"], change["evidence"], change["lines"]) == ("outside", "read", [[10, 10]])
    assert change["at"].endswith("Z")
    assert f"10#{h('theirs')} [high]|theirs" in reply["lines"]
    assert f"3#{h('line 3')} [high]|line 3" in reply["lines"]
    assert daemon.read("f.txt") == TWENTY.replace("line 10", "theirs")


@pytest.mark.parametrize(
    ("line", "touches"), [("line 10", "conflicting"), ("line 11", "touching"), ("line 15", "none")]
)
def test_a_stale_refusal_says_whether_the_change_touches_the_callers_lines(line: str, touches: str) -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", TWENTY.replace("line 10\n", "theirs\n"))
    reply = daemon.ask("edit", replace(line, "mine"))
    assert (reply["error"], reply["touches"]) == ("anchor_stale", touches)


def test_the_lines_that_a_refusal_shows_count_as_shown() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", "zero\n" + TWENTY)
    assert daemon.ask("edit", replace("line 10", "mine"))["error"] == "anchor_stale"
    assert daemon.ask("edit", replace("line 10", "mine"))["ok"]
    assert (daemon.read("f.txt") or "").splitlines()[10] == "mine"


@pytest.mark.parametrize("lost", ["line 10", "never there"])
def test_a_stale_refusal_names_the_anchors_that_no_line_has_any_more(lost: str) -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", TWENTY.replace("line 10\n", "theirs\n"))
    operations = [*replace("line 3", "x")["operations"], *replace(lost, "y")["operations"]]
    reply = daemon.ask("edit", {"path": "f.txt", "operations": operations})
    assert (reply["error"], reply["reason"], reply["missing"]) == ("anchor_stale", "changed", [h(lost)])
    assert f"No line has the hash '{h(lost)}' now." in reply["message"]


def test_another_agent_is_named() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    read(daemon, by="ben")
    assert daemon.ask("edit", replace("line 10", "bens"), by="ben")["ok"]
    reply = daemon.ask("edit", replace("line 3", "anns"))
    assert reply["changes"][0]["writer"]["agent"] == "ben"
    assert "last by ben/s1 at" in reply["message"]


def test_a_caller_that_was_never_shown_the_file_is_judged_on_it_as_it_is() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon, by="ben")
    daemon.save("f.txt", "zero\n" + FIVE)
    assert daemon.ask("edit", replace("two 2", "TWO"))["ok"]


def test_ones_own_edits_move_the_base_along() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    for n in (3, 9, 15):
        assert daemon.ask("edit", replace(f"line {n}", f"new {n}"))["ok"]


def test_a_named_base_may_be_older_than_ones_own_edits() -> None:
    daemon = MemoryDaemon({"f.txt": "same\nb 1\nsame\nc 2\n"})
    version = read(daemon)["version"]
    operation = {"op": "insert_before", "hash": h("b 1"), "content": "x\ny"}
    assert daemon.ask("edit", {"path": "f.txt", "operations": [operation]})["ok"]
    args = {"path": "f.txt", "operations": [{"op": "replace_line", "hash": h("same"), "line": 3, "content": "S"}]}
    assert daemon.ask("edit", {**args, "expected_file_version": version})["ok"]
    assert daemon.read("f.txt") == "same\nx\ny\nb 1\nS\nc 2\n"


def test_ones_own_edit_of_the_same_line_is_in_the_way_of_an_older_base() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    version = read(daemon)["version"]
    assert daemon.ask("edit", replace("two 2", "TWO"))["ok"]
    reply = daemon.ask("edit", replace("two 2", "again", base=version))
    assert reply["error"] == "anchor_stale"
    assert reply["conflict"] == {"base": ["two 2"], "theirs": ["TWO"], "yours": ["again"]}


def test_bytes_that_came_back_are_not_stale() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon)
    daemon.save("f.txt", "other\n")
    read(daemon, by="ben")
    daemon.save("f.txt", FIVE)
    reply = daemon.ask("edit", replace("two 2", "TWO"))
    assert reply["ok"]
    assert len(reply["changed_since_your_read"]) == 2


@pytest.mark.parametrize("base", ["fv_00000000", "v999", "nonsense", "x" * 99])
def test_a_base_that_is_no_version_of_the_file_is_refused(base: str) -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    current = read(daemon)["version"]
    reply = daemon.ask("edit", replace("two 2", "x", base=base))
    assert (reply["error"], reply["reason"], reply["path"]) == ("anchor_stale", "unknown_base", "f.txt")
    assert (reply["base"], reply["current_version"]) == (base[:80], current)
    assert f"{base[:80]!r} is no version of f.txt. It is at {current} now." in reply["message"]


def test_lines_are_followed_from_the_version_that_was_read_and_through_each_later_one() -> None:
    """Older changes of the same lines are none since, and what came in between and went again has moved nothing."""
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon, by="ben")
    daemon.save("f.txt", zwei := FIVE.replace("two 2", "zwei"))
    shown = read(daemon)["version"]
    for text in ("zero\n" + zwei, zwei, zwei.replace("five 5", "fünf")):
        daemon.save("f.txt", text)
        read(daemon, by="ben")
    reply = daemon.ask("edit", replace("zwei", "deux", on_stale="rebase", base=shown))
    assert reply["ok"], reply
    assert daemon.read("f.txt") == zwei.replace("zwei", "deux").replace("five 5", "fünf")


def test_of_bytes_that_went_the_callers_own_change_since_is_judged_on_the_file_as_it_is() -> None:
    """A change by others is refused: nothing tells what it was."""
    for by, ok in (("ann", True), ("ben", False)):
        daemon = MemoryDaemon({"f.txt": FIVE})
        base = read(daemon)["version"]
        read(daemon, by="ben")
        assert daemon.ask("edit", replace("two 2", "TWO"), by=by)["ok"]
        daemon.lose(FIVE.encode())
        reply = daemon.ask("edit", replace("four 4", "FOUR", base=base, on_stale="rebase"))
        assert (reply["ok"], reply.get("error")) == (ok, None if ok else "anchor_stale"), reply


def test_two_different_bases_in_one_call_are_a_mistake() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    reply = daemon.ask("edit", replace("two 2", "x", base="v1", expected_file_version="v2"))
    assert reply["error"] == "schema_invalid"


def test_a_missing_anchor_learns_where_its_line_was_and_who_removed_it() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon, by="ben")
    assert daemon.ask("edit", replace("two 2", "TWO"), by="ben")["ok"]
    reply = daemon.ask("edit", replace("two 2", "x"))
    assert (reply["error"], reply["reason"]) == ("anchor_stale", "missing")
    (was,) = reply["was"]
    assert (was["line"], was["removed_by"]["agent"]) == (2, "ben")


def test_news_ride_on_every_reply_until_the_caller_reads_again() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    for n in range(7):
        daemon.save("f.txt", TWENTY.replace("line 10\n", f"theirs {n}\n"))
        read(daemon, by="ben")
    reply = daemon.ask("edit", replace("nowhere", "x", on_stale="rebase"))
    assert len(reply["changed_since_your_read"]) == 5
    assert reply["changed_since_your_read_more"] == 2
    assert reply["changed_since_your_read"][-1]["touches"] in ("touching", "conflicting")
    assert "changed_since_your_read" in read(daemon)
    assert "changed_since_your_read" not in read(daemon)


# ── rebase ──


def test_a_rebase_carries_each_splice_by_its_own_offset() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", "zero\n" + TWENTY.replace("line 10\n", "a\nb\nc\n"))
    args = {
        "path": "f.txt",
        "on_stale": "rebase",
        "operations": [
            {"op": "replace_line", "hash": h("line 3"), "content": "THREE"},
            {"op": "replace_line", "hash": h("line 15"), "content": "FIFTEEN"},
        ],
    }
    reply = daemon.ask("edit", args)
    assert (reply["ok"], reply["cross_version"], len(reply["rebased_over"])) == (True, True, 1)
    lines = (daemon.read("f.txt") or "").splitlines()
    assert (lines[3], lines[17]) == ("THREE", "FIFTEEN")
    assert reply["anchors_valid_through"] == 0


@pytest.mark.parametrize("line", ["line 9", "line 10", "line 11"])
def test_a_rebase_needs_the_line_and_its_neighbours_unchanged(line: str) -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", TWENTY.replace("line 10\n", "theirs\n"))
    reply = daemon.ask("edit", replace(line, "mine", on_stale="rebase"))
    assert reply["error"] == "anchor_stale"
    assert set(reply["conflict"]) == {"base", "theirs", "yours"}
    assert "theirs" in reply["conflict"]["theirs"]
    assert "mine" in reply["conflict"]["yours"]


def test_a_rebase_does_not_land_in_a_block_that_looks_alike() -> None:
    daemon = MemoryDaemon({"f.txt": "a 1\nsame\nb 2\n"})
    read(daemon)
    daemon.save("f.txt", "c 3\nsame\nd 4\na 1\nchanged\nb 2\n")
    assert daemon.ask("edit", replace("same", "X", on_stale="rebase"))["error"] == "anchor_stale"


def test_the_settings_can_make_rebase_the_rule() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE}, Settings(edit=Edit(on_stale="rebase")))
    read(daemon)
    daemon.save("f.txt", "zero\n" + FIVE)
    assert daemon.ask("edit", replace("five 5", "FIVE"))["ok"]
    daemon.save("f.txt", "again\n" + (daemon.read("f.txt") or ""))
    assert daemon.ask("edit", replace("two 2", "TWO", on_stale="reject"))["error"] == "anchor_stale"


# ── continuity, safety, checkpoint ──


def test_a_file_that_write_file_wrote_is_mixed_and_the_edit_proceeds() -> None:
    daemon = MemoryDaemon()
    daemon.ask("write_file", {"path": "f.txt", "content": FIVE})
    reply = daemon.ask("edit", replace("two 2", "TWO"))
    assert (reply["ok"], reply["baseline_continuity"]) == (True, "mixed")


def test_a_file_that_only_edit_changed_is_clean() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    assert daemon.ask("edit", replace("two 2", "TWO"))["baseline_continuity"] == "clean"
    assert daemon.ask("edit", replace("one 1", "ONE"))["baseline_continuity"] == "clean"


def test_a_suspicious_result_is_rolled_back_and_refused() -> None:
    daemon = MemoryDaemon({"f.txt": "a {\n  b 1\n}\n"})
    version = read(daemon)["version"]
    reply = daemon.ask("edit", replace("  b 1", "if (x) {"))
    assert (reply["error"], reply["safety_status"], reply["checkpoint"]) == (
        "safety_check_failed",
        "suspicious",
        "rolled_back",
    )
    assert reply["safety_warnings"][0]["type"] == "unbalanced"
    assert daemon.read("f.txt") == "a {\n  b 1\n}\n"
    seq = int(version[1:])
    saved, rolled_back, refused = daemon.events(CheckpointSaved, CheckpointRolledBack, EditRefused)
    assert isinstance(saved, CheckpointSaved)
    assert isinstance(rolled_back, CheckpointRolledBack)
    assert isinstance(refused, EditRefused)
    assert (saved.version, rolled_back.version, refused.code) == (seq, seq, "safety_check_failed")


def test_a_warning_lets_the_edit_pass_and_says_what_is_suspicious() -> None:
    daemon = MemoryDaemon({"f.txt": "a {\n  b 1\n}\n"})
    reply = daemon.ask("edit", replace("  b 1", "if (x) {", safety_check="warn"))
    assert (reply["ok"], reply["safety_status"]) == (True, "suspicious")
    assert reply["safety_warnings"] == reply["warnings"]
    off = MemoryDaemon({"f.txt": "a {\n  b 1\n}\n"}).ask("edit", replace("  b 1", "if (x) {", safety_check="off"))
    assert (off["ok"], off["safety_status"]) == (True, "off")


@pytest.mark.parametrize(("setting", "ok"), [("warn", True), ("off", True), ("reject", False)])
def test_the_settings_decide_for_each_kind_of_suspicion(setting: str, ok: bool) -> None:
    daemon = MemoryDaemon({"f.txt": FIVE}, Settings(safety=Safety(duplicate_line=setting)))
    assert daemon.ask("edit", replace("two 2", "one 1"))["ok"] is ok


def test_a_line_that_the_call_itself_doubles_is_not_refused() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    assert daemon.ask("edit", replace("two 2", "two 2\ntwo 2"))["safety_status"] == "clean"
    daemon = MemoryDaemon({"f.txt": FIVE})
    assert daemon.ask("edit", replace("two 2", "new 2\nthree 3"))["error"] == "safety_check_failed"


# ── refusals of the file itself ──


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({}, "not_found"),
        ({"f.txt/inner": "x"}, "not_a_file"),
        ({"f.txt": b"a\0b"}, "binary_file"),
        ({"f.txt": b"x" * (8 * 1024 * 1024 + 1)}, "file_too_large"),
    ],
)
def test_what_is_no_text_of_moderate_size_is_refused(files: dict[str, bytes | str], error: str) -> None:
    assert MemoryDaemon(files).ask("edit", replace("a", "b"))["error"] == error


def test_a_file_that_is_gone_says_who_removed_it() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    assert daemon.ask("delete_file", {"path": "f.txt"}, by="ben")["ok"]
    reply = daemon.ask("edit", replace("a", "b"))
    assert reply["error"] == "not_found"
    assert "removed by ben/s1 at" in reply["message"]


def test_bytes_that_are_not_in_the_journal_are_not_overwritten_unasked() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    daemon.keep_secret("f.txt")
    assert daemon.ask("edit", replace("two 2", "x"))["error"] == "uncaptured"
    reply = daemon.ask("edit", replace("two 2", "x", allow_uncaptured=True))
    assert reply["ok"]
    assert "no undo" in reply["warnings"][0]["message"]


def test_a_refused_call_leaves_its_record_and_no_change() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon)
    daemon.ask("edit", replace("nowhere", "x"))
    (refused,) = daemon.events(EditRefused)
    assert isinstance(refused, EditRefused)
    assert (refused.tool, refused.path, refused.code) == ("edit", "f.txt", "anchor_stale")
    assert daemon.read("f.txt") == FIVE


# ── `file_path` ──

WEEKS_4_NS = 28 * 24 * 3600 * 10**9


def test_file_path_is_accepted_with_a_warning_for_four_weeks() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    args = {"file_path": "f.txt", "operations": [{"op": "delete_line", "hash": h("two 2")}]}
    reply = daemon.ask("edit", args)
    assert reply["ok"]
    assert reply["warnings"][0]["type"] == "deprecated"
    assert "`path`" in reply["warnings"][0]["message"]
    daemon.now_ns += WEEKS_4_NS
    late = daemon.ask("edit", {**args, "operations": [{"op": "delete_line", "hash": h("one 1")}]})
    assert late["error"] == "schema_invalid"
    assert "`path`" in late["message"]


def test_path_takes_precedence_over_file_path() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE, "g.txt": FIVE})
    reply = daemon.ask("edit", replace("two 2", "TWO", file_path="g.txt"))
    assert (reply["ok"], reply["warnings"][0]["type"]) == (True, "deprecated")
    assert daemon.read("g.txt") == FIVE


def test_a_setting_gives_the_last_day_of_file_path() -> None:
    ends = Settings(dialects=Dialects(edit=EditDialect(file_path_until="2023-11-14")))
    daemon = MemoryDaemon({"f.txt": FIVE}, ends)
    args = {"file_path": "f.txt", "operations": [{"op": "delete_line", "hash": h("two 2")}]}
    assert daemon.ask("edit", args)["ok"]
    daemon.now_ns += 24 * 3600 * 10**9
    assert daemon.ask("edit", args)["error"] == "schema_invalid"


def test_neither_path_nor_file_path_is_refused_naming_path() -> None:
    reply = MemoryDaemon().ask("edit", {"operations": []})
    assert reply["error"] == "schema_invalid"
    assert "`path`" in reply["message"]


def test_an_absolute_path_goes_to_the_app_as_it_was_given() -> None:
    params = msgspec.convert({"path": "/app/foo.ts", "operations": []}, EditParams)
    assert edit_tool(EDIT).paths(params) == ("/app/foo.ts",)


# ── dialects that take their text as proof ──


def _append(params: EditParams, sight: Sight, settings: Settings) -> Plan:
    from quire_journal.text.splice import Splice

    if not len(sight.text):
        raise Refusal("not_found", "nothing there")
    return Plan((Splice(len(sight.text), len(sight.text), (b"end",)),), 1)


def test_a_dialect_that_takes_its_text_as_proof_only_reports() -> None:
    tool = edit_tool(Dialect("append", EditParams, _append, stale="stale_base", proof=own_text))
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon)
    daemon.save("f.txt", "zero\n" + FIVE)
    decision = daemon.decide(tool, daemon.who("ann"), {"path": "f.txt", "operations": []})
    assert decision.reply["ok"]
    assert len(decision.reply["changed_since_your_read"]) == 1
    (write,) = decision.writes
    assert isinstance(write, Put)
    assert write.data.decode() == "zero\n" + FIVE + "end\n"


def test_a_line_that_others_moved_meanwhile_is_not_taken_for_removed() -> None:
    daemon = MemoryDaemon({"f.txt": "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\nsix 6\n"})
    daemon.ask("read_file", {"path": "f.txt", "hashes": True}, by="ann")
    moved = "one 1\nthree 3\nfour 4\nfive 5\nsix 6\ntwo 2\n"
    daemon.save("f.txt", moved)
    operations = [{"op": "delete_line", "hash": hash8(b"two 2")[:6]}]
    reply = daemon.ask("edit", {"path": "f.txt", "operations": operations, "on_stale": "rebase"}, by="ann")
    assert (reply["error"], daemon.read("f.txt")) == ("anchor_stale", moved)
    assert reply["conflict"]


# ── what was copied along ──


def test_a_new_line_that_begins_as_reads_show_lines_is_written_and_warned_of() -> None:
    for format_ in ("hashed", "hashline", "numbered"):
        daemon = MemoryDaemon({"f.txt": FIVE})
        tool, path = (
            ("read_file", {"format": format_}) if format_ != "numbered" else ("text_editor", {"command": "view"})
        )
        row = daemon.ask(tool, {"path": "f.txt", **path})["lines"][1]
        new = f"TWO\n{row}\n    {row}"
        reply = daemon.ask("edit_replace", {"path": "f.txt", "old_text": "two 2", "new_text": new})
        assert [(w["type"], w["line"]) for w in reply["warnings"]] == [("echoed_prefix", 3)]
        assert repr(row.removesuffix("two 2")) in reply["warnings"][0]["message"]
        assert daemon.read("f.txt") == FIVE.replace("two 2", new)


@pytest.mark.parametrize(
    "said", ["+1 for this", "- item", "# 3", "1\tx", "12 3\tx", "#abcd|x", "3#ab|x", "| 3#abcd |", "      \tx"]
)
def test_what_only_looks_a_little_like_a_read_is_no_warning(said: str) -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    reply = daemon.ask("edit_replace", {"path": "f.txt", "old_text": "two 2", "new_text": said})
    assert (reply["ok"], reply["warnings"]) == (True, [])


def test_lines_that_began_so_before_are_no_warning() -> None:
    daemon = MemoryDaemon({"f.txt": "1#abcd|one\n2#abcd|two\n"})
    reply = daemon.ask("edit_replace", {"path": "f.txt", "old_text": "two", "new_text": "2"})
    assert (reply["ok"], reply["warnings"]) == (True, [])


# ── paths ──


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("a/src/f.txt", "src/f.txt"),
        ("checkout/src/f.txt", "src/f.txt"),
        ('"src/f.txt"', "src/f.txt"),
        ("`b/src/f.txt`", "src/f.txt"),
        ("src/src/g.txt", "g.txt"),
        ("a/src", ""),
        ("a/gone.txt", ""),
        ("src/h.txt", ""),
    ],
)
def test_a_path_with_too_much_in_front_is_told_the_file_that_it_ends_with(path: str, there: str) -> None:
    daemon = MemoryDaemon({"src/f.txt": FIVE, "g.txt": FIVE, "gone.txt": FIVE})
    daemon.watch()
    del daemon.files["gone.txt"]
    daemon.watch()
    reply = daemon.ask("edit_replace", {"path": path, "old_text": "one", "new_text": "1"})
    told = f" There is {there}." if there else ""
    assert (reply["error"], reply["message"]) == ("not_found", f"{path} does not exist.{told}")
