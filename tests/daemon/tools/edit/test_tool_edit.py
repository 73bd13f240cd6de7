"""The engine: base, staleness, rebase, safety, records and replies of every edit."""

from __future__ import annotations

import msgspec
import pytest
from line_edits import FIVE, TWENTY, h, read, replace

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Dialects, EditDialect, Safety, Settings
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
def test_the_refusal_of_a_path_with_a_surplus_prefix_names_the_existing_file(path: str, there: str) -> None:
    daemon = MemoryDaemon({"src/f.txt": FIVE, "g.txt": FIVE, "gone.txt": FIVE})
    daemon.watch()
    del daemon.files["gone.txt"]
    daemon.watch()
    reply = daemon.ask("edit_replace", {"path": path, "old_text": "one", "new_text": "1"})
    told = f" There is {there}." if there else ""
    assert (reply["error"], reply["message"]) == ("not_found", f"{path} does not exist.{told}")
