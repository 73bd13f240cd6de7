"""`native`: what an agent's own editing tools are answered, and whose their writes are. Ann and Ben share a
daemon."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from memory_daemon import MemoryDaemon, lines
from quire_daemon.config.settings import Hooks, Settings
from quire_daemon.core.decision import Who
from quire_daemon.tools.agent_hooks import MOST_CHANGES, NATIVE_TOOL
from quire_daemon.tools.bursts import BURST_TOOL
from quire_daemon.tools.leases.tool import CLAIM_TOOL
from quire_daemon.tools.read import READ_TOOL
from quire_daemon.tools.table import TOOLS
from quire_journal.model.events import BurstBegun, BurstEnded, CaptureFailed, TurnBegan, WriteAttributed
from quire_journal.model.ids import blob_id

OLD = lines("one", "two", "three", "four", "five", "six", "seven", "eight")


def read(daemon: MemoryDaemon, who: Who, path: str = "f") -> None:
    assert daemon.call(READ_TOOL, who, path=path)["ok"]


def before(daemon: MemoryDaemon, who: Who, *paths: str, **args: Any) -> dict[str, Any]:
    return daemon.call(NATIVE_TOOL, who, moment="before", tool="Edit", paths=[*paths], **args)


def after(daemon: MemoryDaemon, who: Who, *paths: str, **args: Any) -> dict[str, Any]:
    return daemon.call(NATIVE_TOOL, who, moment="after", tool="Edit", paths=[*paths], **args)


def holding(path: str, data: bytes) -> dict[str, Any]:
    """What a call announces that comes to these bytes."""
    return {"kind": "content", "path": path, "text": data.decode()}


def edits(daemon: MemoryDaemon, who: Who, path: str, data: bytes, **args: Any) -> dict[str, Any]:
    """A native edit from its beginning to its end; what the end was answered."""
    begun = before(daemon, who, path, payloads=[holding(path, data)], **args)
    assert begun["ok"], begun
    daemon.outside(path, data)
    return after(daemon, who, path, **args)


def told(reply: dict[str, Any]) -> list[str]:
    return [entry["path"] for entry in reply["news"]]


@pytest.fixture
def daemon() -> MemoryDaemon:
    daemon = MemoryDaemon()
    daemon.outside("f", OLD)
    read(daemon, daemon.ann)
    read(daemon, daemon.ben)
    return daemon


def test_a_native_edit_is_a_burst_that_takes_the_write_to_the_file_that_it_named(daemon: MemoryDaemon) -> None:
    begun = before(daemon, daemon.ann, "f")
    mine = daemon.outside("f", OLD + b"nine\n")
    daemon.outside("g", b"somebody else's\n")
    ended = after(daemon, daemon.ann, "f")
    assert (ended["burst"], ended["state"], ended["paths"]) == (begun["burst"], "ended", ["f"])
    assert ended["label"] == "Edit f"
    shown = daemon.call(BURST_TOOL, daemon.ben, action="show", burst=begun["burst"])
    assert [(b["batch"], b["evidence"]) for b in shown["contents"]] == [(mine, "named")]
    assert shown["owner"]["agent"] == "ann"


def test_two_agents_edit_two_files_at_the_same_time_and_each_write_has_its_burst(daemon: MemoryDaemon) -> None:
    one = before(daemon, daemon.ann, "f", payloads=[holding("f", b"new\n")])
    two = before(daemon, daemon.ben, "g", payloads=[holding("g", b"new\n")])
    cid = daemon.introduce("cid", "s3")
    command = daemon.call(NATIVE_TOOL, cid, moment="before", tool="Bash", command="touch h")
    batches = [daemon.outside(path, b"new\n") for path in ("f", "g", "h")]
    daemon.call(NATIVE_TOOL, cid, moment="after", tool="Bash", command="touch h")
    with daemon.history() as history:
        owned = [list(history.burst_evidence(reply["burst"])) for reply in (one, two, command)]
    words = ("exact", "exact", "during")
    assert owned == [[(batch, word)] for batch, word in zip(batches, words, strict=True)]


def test_an_agent_knows_what_it_wrote_itself(daemon: MemoryDaemon) -> None:
    assert edits(daemon, daemon.ann, "f", OLD + b"nine\n")["news"] == []
    assert edits(daemon, daemon.ann, "f", OLD + b"nine\nten\n", whole=True)["news"] == []
    assert before(daemon, daemon.ann, "f", whole=True)["ok"]


def test_an_edit_of_a_file_that_another_agent_changed_since_is_refused_with_what_happened(daemon: MemoryDaemon) -> None:
    edits(daemon, daemon.ben, "f", OLD.replace(b"two", b"TWO"))
    refused = before(daemon, daemon.ann, "f", replaces=["two"])
    assert (refused["error"], refused["suggested_action"], refused["touches"]) == (
        "stale_file",
        "read_again",
        "conflicting",
    )
    assert [(c["writer"]["type"], c["lines"]) for c in refused["changes"]] == [("outside", [[2, 2]])]
    assert any("TWO" in line for line in refused["lines"])
    assert before(daemon, daemon.ann, "f")["error"] == "stale_file"  # to be refused is not to have read
    read(daemon, daemon.ann)
    assert before(daemon, daemon.ann, "f")["ok"]


def test_what_a_refusal_shows_counts_as_read_by_an_agent_whose_reads_nobody_tells(daemon: MemoryDaemon) -> None:
    edits(daemon, daemon.ben, "f", OLD.replace(b"two", b"TWO"))
    assert before(daemon, daemon.ann, "f", rereads=False)["error"] == "stale_file"
    assert before(daemon, daemon.ann, "f", rereads=False)["ok"]


def test_a_person_or_an_unknown_program_makes_a_read_stale_like_an_agent(daemon: MemoryDaemon) -> None:
    daemon.outside("f", OLD + b"by hand\n")
    assert before(daemon, daemon.ann, "f")["error"] == "stale_file"
    daemon.outside("f", OLD)  # and took it back
    assert before(daemon, daemon.ann, "f")["ok"]


def test_a_file_that_the_agent_never_read_or_that_is_new_is_not_refused(daemon: MemoryDaemon) -> None:
    daemon.outside("g", b"1\n")
    daemon.outside("g", b"2\n")
    assert before(daemon, daemon.ann, "g")["ok"]
    assert before(daemon, daemon.ann, "new", whole=True)["ok"]


def test_what_others_wrote_during_the_call_is_not_taken_for_read(daemon: MemoryDaemon) -> None:
    before(daemon, daemon.ann, "f", call="t1")
    daemon.outside("f", OLD + b"ann\n")
    daemon.write("f", OLD + b"ann\nben\n", daemon.ben)
    ended = after(daemon, daemon.ann, "f", call="")
    assert told(ended) == ["f"]
    assert before(daemon, daemon.ann, "f")["error"] == "stale_file"


def test_a_command_of_the_agents_own_makes_nothing_stale(daemon: MemoryDaemon) -> None:
    command = "tr a-z A-Z < f | sponge f"
    begun = daemon.call(NATIVE_TOOL, daemon.ann, moment="before", tool="Bash", command=command)
    daemon.outside("f", OLD.upper())
    ended = daemon.call(NATIVE_TOOL, daemon.ann, moment="after", tool="Bash", command=command)
    assert (ended["burst"], ended["unclear"], ended["news"]) == (begun["burst"], 1, [])
    assert before(daemon, daemon.ann, "f")["ok"]
    assert before(daemon, daemon.ben, "f")["error"] == "stale_file"


def test_news_is_told_once_and_at_each_new_turn_until_the_agent_reads(daemon: MemoryDaemon) -> None:
    edits(daemon, daemon.ann, "g", b"g\n")
    daemon.write("f", OLD + b"nine\n", daemon.ben)
    ended = edits(daemon, daemon.ann, "g", b"gg\n")
    (entry,) = ended["news"]
    assert (entry["path"], entry["writer"]["agent"], entry["lines"]) == ("f", "ben", [[9, 9]])
    assert told(edits(daemon, daemon.ann, "g", b"ggg\n")) == []
    assert told(daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")) == ["f"]
    read(daemon, daemon.ann)
    assert told(daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")) == []


def test_news_that_a_prompt_told_is_not_told_again_by_the_first_call_of_its_turn(daemon: MemoryDaemon) -> None:
    daemon.write("f", OLD + b"nine\n", daemon.ben)
    ann = daemon.introduce("ann", "s1", "t1")
    assert told(daemon.call(NATIVE_TOOL, ann, moment="turn", prompt="go on")) == ["f"]
    assert told(edits(daemon, ann, "g", b"g\n")) == []
    daemon.write("f", OLD + b"nine\nten\n", daemon.ben)
    assert told(edits(daemon, ann, "g", b"gg\n")) == ["f"]


def test_news_of_a_file_has_several_changes_of_one_writer(daemon: MemoryDaemon) -> None:
    """Of two saves an agent was told the lines of the last one alone."""
    daemon.outside("f", OLD.replace(b"two", b"TWO"))
    daemon.outside("f", OLD.replace(b"two", b"TWO").replace(b"seven", b"SEVEN"))
    news = daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")["news"]
    assert [(one["path"], one["lines"]) for one in news] == [("f", [[2, 2]]), ("f", [[7, 7]])]
    for number in range(9):
        daemon.outside("f", OLD + lines(str(number)))
    assert len(daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")["news"]) == MOST_CHANGES


def test_news_of_a_renamed_file_has_the_name_that_it_has_now(daemon: MemoryDaemon) -> None:
    daemon.outside_moves("f", "g", "git mv")
    daemon.outside_moves("g", "h")
    (entry,) = daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")["news"]
    assert (entry["path"], entry["gone"], entry["moved_to"]) == ("f", True, "h")
    (entry,) = daemon.ask("status", {})["changed_since_your_read"]
    assert (entry["path"], entry["gone"], entry["moved_to"]) == ("f", True, "h")
    daemon.outside_deletes("h")
    (entry,) = daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")["news"]
    assert (entry["gone"], entry.get("moved_to")) == (True, None)


def test_an_exclusive_lease_of_another_refuses_and_ones_own_does_not(daemon: MemoryDaemon) -> None:
    assert daemon.call(CLAIM_TOOL, daemon.ben, path="f", kind="exclusive", reason="big move")["ok"]
    refused = before(daemon, daemon.ann, "f")
    assert refused["error"] == "lease_held"
    assert "big move" in refused["message"]
    assert before(daemon, daemon.ben, "f")["ok"]


@pytest.mark.parametrize(
    ("strict", "replaces", "allowed"),
    [("tell", "two", True), ("conflicts", "eight", True), ("conflicts", "two", False), ("deny", "eight", False)],
)
def test_the_settings_say_how_strictly(daemon: MemoryDaemon, strict: str, replaces: str, allowed: bool) -> None:
    daemon.settings = Settings(hooks=Hooks(stale=strict))
    edits(daemon, daemon.ben, "f", OLD.replace(b"two", b"TWO"))
    assert before(daemon, daemon.ann, "f", replaces=[replaces])["ok"] is allowed


def test_a_text_that_the_agent_wrote_itself_is_not_in_the_way_of_what_others_did_far_off(
    daemon: MemoryDaemon,
) -> None:
    daemon.settings = Settings(hooks=Hooks(stale="conflicts"))
    before(daemon, daemon.ann, "f")
    daemon.outside("f", OLD.replace(b"two", b"ann's"))
    daemon.write("f", OLD.replace(b"two", b"ann's").replace(b"eight", b"ben's"), daemon.ben)
    ended = after(daemon, daemon.ann, "f")
    assert [entry["touches"] for entry in ended["news"]] == ["none"]  # of the lines that this call has written
    assert before(daemon, daemon.ann, "f", replaces=["ann's"])["ok"]
    refused = before(daemon, daemon.ann, "f", replaces=["ann's", "ben's"])
    assert (refused["error"], refused["touches"]) == ("stale_file", "conflicting")
    assert before(daemon, daemon.ann, "f", replaces=["seven"])["touches"] == "touching"


def test_every_place_of_a_text_counts(daemon: MemoryDaemon) -> None:
    daemon.settings = Settings(hooks=Hooks(stale="conflicts"))
    daemon.outside("f", OLD + OLD)
    read(daemon, daemon.ann)
    daemon.write("f", OLD + OLD.replace(b"eight", b"ben's"), daemon.ben)
    assert before(daemon, daemon.ann, "f", replaces=["three"])["ok"]
    assert before(daemon, daemon.ann, "f", replaces=["seven\n"])["touches"] == "touching"
    assert before(daemon, daemon.ann, "f", replaces=["nowhere"])["touches"] == "conflicting"


def test_a_text_of_another_file_of_the_call_is_none_of_this_one(daemon: MemoryDaemon) -> None:
    daemon.settings = Settings(hooks=Hooks(stale="conflicts"))
    daemon.outside("g", b"other\n")
    read(daemon, daemon.ann, "g")
    edits(daemon, daemon.ben, "f", OLD.replace(b"two", b"TWO"))
    assert before(daemon, daemon.ann, "f", "g", replaces=["eight", "other"])["ok"]
    for replaces in (["eight", "nowhere"], ["two", "other"], ["other"]):
        assert before(daemon, daemon.ann, "f", "g", replaces=replaces)["error"] == "stale_file"


def test_after_ends_the_burst_of_its_own_call_and_a_new_turn_those_that_were_left(daemon: MemoryDaemon) -> None:
    ann1 = daemon.introduce("ann", "s1", call="t1")
    ann2 = daemon.introduce("ann", "s1", call="t2")
    first, second = before(daemon, ann1, "f", call="t1"), before(daemon, ann2, "g", call="t2")
    assert after(daemon, daemon.ann, "f", call="t1")["burst"] == first["burst"]
    assert after(daemon, daemon.ann, "g", call="t9")["burst"] is None
    daemon.call(NATIVE_TOOL, daemon.ann, moment="end")
    with daemon.history() as history:
        last = history.record(history.head())
        assert last is not None
        assert last.event() == BurstEnded(second["burst"], "unreported"), "it may have been denied"
        assert history.open_bursts() == []


def test_a_call_that_is_told_twice_has_one_burst(daemon: MemoryDaemon) -> None:
    ann = daemon.introduce("ann", "s1", call="t1")
    payload = holding("f", OLD + b"nine\n")
    first, second = (before(daemon, ann, "f", call="t1", payloads=[payload]) for _ in range(2))
    assert first["burst"] == second["burst"]
    mine = daemon.outside("f", OLD + b"nine\n")
    assert (after(daemon, ann, "f", call="t1")["batches"], after(daemon, ann, "f", call="t1")["burst"]) == (1, None)
    with daemon.history() as history:
        assert history.burst_batches(first["burst"]) == [mine]


def test_a_failed_edit_teaches_the_agent_nothing(daemon: MemoryDaemon) -> None:
    begun = before(daemon, daemon.ann, "new", whole=True)
    ended = after(daemon, daemon.ann, "new", ok=False, whole=True)
    assert (ended["burst"], ended["batches"]) == (begun["burst"], 0)
    with daemon.history() as history:
        assert history.shown(daemon.ann.key, "new") is None


def test_the_files_that_a_call_names_stand_in_the_journal(daemon: MemoryDaemon) -> None:
    begun = before(daemon, daemon.ann, "f", "g")
    with daemon.history() as history:
        record = history.record(begun["burst"])
        assert record is not None
        event = record.event()
    assert isinstance(event, BurstBegun)
    assert (event.form, event.paths, event.outside) == ("native", ("f", "g"), True)


def lies(daemon: MemoryDaemon, data: bytes) -> None:
    """Another program writes a secret file: the journal gets its hash."""
    daemon.files[".env"] = data
    daemon.note(CaptureFailed(".env", "secret", len(data), blob_id(data), 0o644, "watched"))


def test_an_agent_knows_what_it_wrote_itself_also_of_a_file_whose_bytes_the_journal_does_not_hold(
    daemon: MemoryDaemon,
) -> None:
    lies(daemon, b"A=1\n")
    read(daemon, daemon.ann, ".env")
    read(daemon, daemon.ben, ".env")
    assert before(daemon, daemon.ann, ".env")["ok"]
    lies(daemon, b"A=2\n")
    assert told(after(daemon, daemon.ann, ".env")) == []
    assert before(daemon, daemon.ann, ".env", whole=True)["ok"], "its own write is no news to it"
    after(daemon, daemon.ann, ".env", whole=True)
    assert before(daemon, daemon.ben, ".env")["error"] == "stale_file"
    edited = daemon.call(
        TOOLS["insert_lines"], daemon.ann, file=".env", line_number=1, text="B=1", allow_uncaptured=True
    )
    assert edited["ok"], edited
    lies(daemon, b"A=3\n")
    assert before(daemon, daemon.ann, ".env")["error"] == "stale_file"


def test_an_agent_that_tells_of_a_call_afterwards_only_made_what_its_payload_makes(daemon: MemoryDaemon) -> None:
    edits(daemon, daemon.ben, "f", OLD + b"ben\n")
    daemon.outside("f", OLD + b"ben\nann\n")
    payload = {"kind": "replace", "path": "f", "edits": [{"old": "ben\n", "new": "ben\nann\n"}]}
    told = daemon.call(NATIVE_TOOL, daemon.ann, moment="after", tool="Edit", paths=["f"], payloads=[payload])
    assert told["ok"]
    with daemon.history() as history:
        writers = [(history.named(v.writer), v.evidence) for v in history.versions("f", reverse=True)]
    assert writers[:2] == [("ann/s1", "exact"), ("ben/s2", "exact")]


def test_a_patch_that_does_not_fit_because_others_changed_its_lines_is_refused_with_who_did(
    daemon: MemoryDaemon,
) -> None:
    """Codex reads by its shell: what it knows of the file is what its patch says."""
    cid = daemon.introduce("codex", "c1")
    edits(daemon, daemon.ben, "f", OLD.replace(b"two", b"TWO"))
    refused = before(daemon, cid, "f", replaces=["one\ntwo\nthree"], rereads=False)
    assert (refused["error"], refused["changes"][0]["writer"]["agent"]) == ("stale_file", "ben")
    assert before(daemon, cid, "f", replaces=["seven\neight"], rereads=False)["ok"]
    assert before(daemon, cid, "f", replaces=["nowhere"], rereads=False)["ok"], "its own tool says so"


def test_an_agent_is_told_once_which_of_its_files_its_own_command_changed(daemon: MemoryDaemon) -> None:
    daemon.call(NATIVE_TOOL, daemon.ann, moment="before", tool="Bash", command="sed -i s/one/1/ f")
    daemon.outside("f", OLD.replace(b"one", b"1"))
    ended = daemon.call(NATIVE_TOOL, daemon.ann, moment="after", tool="Bash", command="sed -i s/one/1/ f")
    assert (ended["changed_by_command"], ended["news"]) == (["f"], [])
    assert "changed_by_command" not in edits(daemon, daemon.ann, "f", OLD)


@pytest.mark.parametrize(
    ("command", "traced", "refused"),
    [("make test", False, True), ("sed -i 1d f", False, False), ("sed -i 1d f", True, True)],
)
def test_a_save_while_a_call_is_open_is_not_the_calls_unless_its_command_line_accounts_for_it(
    daemon: MemoryDaemon, command: str, traced: bool, refused: bool
) -> None:
    """A person declined the call and saved: the agent's next write took the lines away, and nobody was told."""
    assert daemon.call(NATIVE_TOOL, daemon.ann, moment="before", tool="Bash", call="c1", command=command)["ok"]
    saved = daemon.outside("f", OLD + b"a person's\n")
    if traced:  # to another process
        daemon.note(WriteAttributed((saved,), 0, "traced"))
    reply = before(daemon, daemon.ann, "f", whole=True)
    assert reply["ok"] is not refused
    assert reply.get("error", "") == ("stale_file" if refused else "")


@pytest.mark.parametrize("command", ["(sleep 9; sed -i s/three/3/ f) &", "nohup sed -i s/three/3/ f"])
def test_what_a_command_left_running_refuses_nothing_to_its_own_session(daemon: MemoryDaemon, command: str) -> None:
    for moment in ("before", "after"):
        daemon.call(NATIVE_TOOL, daemon.ann, moment=moment, tool="Bash", command=command)
    found = OLD.replace(b"three", b"3")
    daemon.outside("f", found)
    assert before(daemon, daemon.ben, "f", replaces=["two"])["error"] == "stale_file"
    assert before(daemon, daemon.ann, "f", replaces=["two"])["ok"]
    daemon.outside("f", found.replace(b"two", b"2"))
    ended = after(daemon, daemon.ann, "f")
    assert (ended["changed_by_command"], ended["news"]) == (["f"], []), "it is told that the file is another"
    assert "changed_by_command" not in edits(daemon, daemon.ann, "f", OLD)


@pytest.mark.parametrize(("command", "path"), [("sed -i s/three/3/ f && ls", "f"), ("sed -i s/three/3/ g &", "f")])
def test_a_change_that_no_command_left_running_names_is_another_programs(
    daemon: MemoryDaemon, command: str, path: str
) -> None:
    for moment in ("before", "after"):
        daemon.call(NATIVE_TOOL, daemon.ann, moment=moment, tool="Bash", command=command)
    daemon.outside(path, OLD.replace(b"three", b"3"))
    assert before(daemon, daemon.ann, path, replaces=["two"])["error"] == "stale_file"


def test_a_command_of_an_earlier_turn_has_left_nothing_running(daemon: MemoryDaemon) -> None:
    cid, later = (daemon.introduce("codex", "c1", turn) for turn in ("t1", "t2"))
    read(daemon, cid)
    for moment in ("before", "after"):
        daemon.call(NATIVE_TOOL, cid, moment=moment, tool="Bash", command="sed -i s/three/3/ f &")
    daemon.outside("f", OLD.replace(b"three", b"3"))
    assert before(daemon, later, "f", replaces=["two"])["error"] == "stale_file"


def test_a_hook_of_another_process_tree_announces_nothing(daemon: MemoryDaemon) -> None:
    call = {"moment": "before", "tool": "Bash", "command": "make"}
    assert daemon.decide(NATIVE_TOOL, daemon.ann, call).announced is not None
    assert daemon.decide(NATIVE_TOOL, replace(daemon.ann, outsider=True), call).announced is None


def test_me_is_a_person_with_what_nobody_claims_and_an_undo_of_it_has_to_be_asked_for(daemon: MemoryDaemon) -> None:
    by_hand = daemon.outside("f", OLD + b"by hand\n")
    read(daemon, daemon.ann)
    edits(daemon, daemon.ann, "f", OLD + b"by hand\nann's\n")
    daemon.call(NATIVE_TOOL, daemon.ben, moment="before", tool="Bash", command="make")
    daemon.outside("g", b"while a call is open\n")
    listed = daemon.call(TOOLS["log"], daemon.ben, writer="me", kind=["outside_written"])["records"]
    assert [(record["seq"], record["unclaimed"]) for record in listed] == [(by_hand, True), (1, True)]
    refused = daemon.call(TOOLS["undo"], daemon.ben, writer="me", path="f")
    assert (refused["error"], refused["left_out"]) == ("not_found", [by_hand, 1])
    undone = daemon.call(TOOLS["undo"], daemon.ben, writer="me", path="f", last=1, probable=True)
    assert undone["ok"]
    assert daemon.text("f") == OLD + b"ann's\n"


def test_a_prompt_is_kept_without_its_secrets_and_no_word_of_it_is_cut(daemon: MemoryDaemon) -> None:
    kind = "OPENSSH" + " PRIVATE KEY"
    key = f"-----BEGIN {kind}-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END {kind}-----"
    daemon.call(NATIVE_TOOL, daemon.ann, moment="turn", prompt=f"use {key} " + "word " * 97 + "passphrase")
    with daemon.history() as history:
        turn = next(event for r in history.records(reverse=True) if isinstance(event := r.event(), TurnBegan))
    assert "b3Blbn" not in turn.prompt
    assert (turn.prompt.startswith("use [a private key]"), turn.prompt.endswith("word"), turn.prompt_hash) == (
        True,
        True,
        b"",
    )


def test_a_text_that_is_everywhere_is_looked_for_a_bounded_number_of_times(daemon: MemoryDaemon) -> None:
    daemon.outside("f", b"a" * 300_000 + b"\n")
    read(daemon, daemon.ann)
    daemon.outside("f", b"a" * 300_001 + b"\n")
    assert before(daemon, daemon.ann, "f", replaces=["a" * 150_000])["error"] == "stale_file"


def test_a_setup_is_never_refused_for_what_others_changed_since_the_last_one(daemon: MemoryDaemon) -> None:
    setup = daemon.introduce("quire", "")
    edits(daemon, setup, "f", OLD + b"nine\n")
    daemon.outside("f", OLD + b"nine\nmine\n")
    edits(daemon, setup, "f", OLD + b"mine\n")
    assert daemon.call(TOOLS["blame"], daemon.ann, path="f", start_line=9)["lines"][0]["writer"]["agent"] == ""
    listed = daemon.call(TOOLS["log"], daemon.ann, path="f", limit=1)["records"]
    assert listed[0]["writer"]["agent"] == "quire"


# ── news of several writers and files ────────────────────────────────────────


def test_news_of_a_file_name_the_newest_change_of_each_writer(daemon: MemoryDaemon) -> None:
    person = daemon.outside("f", OLD.replace(b"two", b"a person's"))
    ben = daemon.write("f", OLD.replace(b"two", b"a person's").replace(b"eight", b"ben's"), daemon.ben)
    reply = daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")
    found = [(entry["version"], entry["lines"]) for entry in reply["news"]]
    assert found == [(f"v{person}", [[2, 2]]), (f"v{ben}", [[8, 8]])]


def test_of_many_changed_files_those_are_told_that_changed_last(daemon: MemoryDaemon) -> None:
    names = [f"n{number}" for number in range(8)]
    for name in names:
        daemon.outside(name, OLD)
        read(daemon, daemon.ann, name)
    for name in (*names[4:], *names[:4]):
        daemon.write(name, OLD + lines("ben's"), daemon.ben)
    reply = daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")
    assert (told(reply), reply["news_more"]) == (["n3", "n2", "n1", "n0", "n7"], 3)


def test_a_file_that_is_again_as_it_was_read_is_no_news(daemon: MemoryDaemon) -> None:
    daemon.write("f", OLD + lines("ben's"), daemon.ben)
    daemon.outside("f", OLD)
    assert daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")["news"] == []
