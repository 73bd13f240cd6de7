"""`native`: what an agent's own editing tools are answered, and whose their writes are. Ann and Ben share a desk."""

from __future__ import annotations

from typing import Any

import pytest
from desk import Desk, OnDesk, lines

from quire_daemon.config import Hooks, Settings
from quire_daemon.handlers import TOOLS
from quire_daemon.handlers.base import Who
from quire_daemon.handlers.bursts import BURST_TOOL
from quire_daemon.handlers.leases import CLAIM_TOOL
from quire_daemon.handlers.native import NATIVE_TOOL
from quire_daemon.handlers.read import READ_TOOL
from quire_journal.events import BurstBegun, BurstEnded, CaptureFailed
from quire_journal.ids import blob_id

OLD = lines("one", "two", "three", "four", "five", "six", "seven", "eight")


def read(desk: Desk, who: Who, path: str = "f") -> None:
    assert desk.call(READ_TOOL, who, path=path)["ok"]


def before(desk: Desk, who: Who, *paths: str, **args: Any) -> dict[str, Any]:
    return desk.call(NATIVE_TOOL, who, moment="before", tool="Edit", paths=[*paths], **args)


def after(desk: Desk, who: Who, *paths: str, **args: Any) -> dict[str, Any]:
    return desk.call(NATIVE_TOOL, who, moment="after", tool="Edit", paths=[*paths], **args)


def edits(desk: Desk, who: Who, path: str, data: bytes, **args: Any) -> dict[str, Any]:
    """A native edit from its beginning to its end; what the end was answered."""
    begun = before(desk, who, path, **args)
    assert begun["ok"], begun
    desk.outside(path, data)
    return after(desk, who, path, **args)


def told(reply: dict[str, Any]) -> list[str]:
    return [entry["path"] for entry in reply["news"]]


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.outside("f", OLD)
    read(desk, desk.ann)
    read(desk, desk.ben)
    return desk


def test_a_native_edit_is_a_burst_that_takes_the_write_to_the_file_that_it_named(desk: Desk) -> None:
    begun = before(desk, desk.ann, "f")
    mine = desk.outside("f", OLD + b"nine\n")
    desk.outside("g", b"somebody else's\n")
    ended = after(desk, desk.ann, "f")
    assert (ended["burst"], ended["state"], ended["paths"]) == (begun["burst"], "ended", ["f"])
    assert ended["label"] == "Edit f"
    shown = desk.call(BURST_TOOL, desk.ben, action="show", burst=begun["burst"])
    assert [(b["batch"], b["evidence"]) for b in shown["contents"]] == [(mine, "named")]
    assert shown["owner"]["agent"] == "ann"


def test_two_agents_edit_two_files_at_the_same_time_and_each_write_has_its_burst(desk: Desk) -> None:
    one, two = before(desk, desk.ann, "f"), before(desk, desk.ben, "g")
    command = desk.call(NATIVE_TOOL, desk.introduce("cid", "s3"), moment="before", tool="Bash")
    batches = [desk.outside(path, b"new\n") for path in ("f", "g", "h")]
    with desk.history() as history:
        owned = [history.burst_batches(reply["burst"]) for reply in (one, two, command)]
    assert owned == [[batch] for batch in batches]


def test_an_agent_knows_what_it_wrote_itself(desk: Desk) -> None:
    assert edits(desk, desk.ann, "f", OLD + b"nine\n")["news"] == []
    assert edits(desk, desk.ann, "f", OLD + b"nine\nten\n", whole=True)["news"] == []
    assert before(desk, desk.ann, "f", whole=True)["ok"]


def test_an_edit_of_a_file_that_another_agent_changed_since_is_refused_with_what_happened(desk: Desk) -> None:
    edits(desk, desk.ben, "f", OLD.replace(b"two", b"TWO"))
    refused = before(desk, desk.ann, "f", replaces=["two"])
    assert (refused["error"], refused["suggested_action"], refused["touches"]) == (
        "stale_file",
        "read_again",
        "conflicting",
    )
    assert [(c["writer"]["type"], c["lines"]) for c in refused["changes"]] == [("outside", [[2, 2]])]
    assert any("TWO" in line for line in refused["lines"])
    assert before(desk, desk.ann, "f")["error"] == "stale_file"  # to be refused is not to have read
    read(desk, desk.ann)
    assert before(desk, desk.ann, "f")["ok"]


def test_what_a_refusal_shows_counts_as_read_by_an_agent_whose_reads_nobody_tells(desk: Desk) -> None:
    edits(desk, desk.ben, "f", OLD.replace(b"two", b"TWO"))
    assert before(desk, desk.ann, "f", rereads=False)["error"] == "stale_file"
    assert before(desk, desk.ann, "f", rereads=False)["ok"]


def test_a_person_or_an_unknown_program_makes_a_read_stale_like_an_agent(desk: Desk) -> None:
    desk.outside("f", OLD + b"by hand\n")
    assert before(desk, desk.ann, "f")["error"] == "stale_file"
    desk.outside("f", OLD)  # and took it back
    assert before(desk, desk.ann, "f")["ok"]


def test_a_file_that_the_agent_never_read_or_that_is_new_is_not_refused(desk: Desk) -> None:
    desk.outside("g", b"1\n")
    desk.outside("g", b"2\n")
    assert before(desk, desk.ann, "g")["ok"]
    assert before(desk, desk.ann, "new", whole=True)["ok"]


def test_what_others_wrote_during_the_call_is_not_taken_for_read(desk: Desk) -> None:
    before(desk, desk.ann, "f", call="t1")
    desk.outside("f", OLD + b"ann\n")
    desk.write("f", OLD + b"ann\nben\n", desk.ben)
    ended = after(desk, desk.ann, "f", call="")
    assert told(ended) == ["f"]
    assert before(desk, desk.ann, "f")["error"] == "stale_file"


def test_a_command_of_the_agents_own_makes_nothing_stale(desk: Desk) -> None:
    begun = desk.call(NATIVE_TOOL, desk.ann, moment="before", tool="Bash")
    desk.outside("f", OLD.upper())
    ended = desk.call(NATIVE_TOOL, desk.ann, moment="after", tool="Bash")
    assert (ended["burst"], ended["batches"], ended["news"]) == (begun["burst"], 1, [])
    assert before(desk, desk.ann, "f")["ok"]
    assert before(desk, desk.ben, "f")["error"] == "stale_file"


def test_news_is_told_once_and_at_each_new_turn_until_the_agent_reads(desk: Desk) -> None:
    edits(desk, desk.ann, "g", b"g\n")
    desk.write("f", OLD + b"nine\n", desk.ben)
    ended = edits(desk, desk.ann, "g", b"gg\n")
    (entry,) = ended["news"]
    assert (entry["path"], entry["writer"]["agent"], entry["lines"]) == ("f", "ben", [[9, 9]])
    assert told(edits(desk, desk.ann, "g", b"ggg\n")) == []
    assert told(desk.call(NATIVE_TOOL, desk.ann, moment="turn")) == ["f"]
    read(desk, desk.ann)
    assert told(desk.call(NATIVE_TOOL, desk.ann, moment="turn")) == []


def test_an_exclusive_lease_of_another_refuses_and_ones_own_does_not(desk: Desk) -> None:
    assert desk.call(CLAIM_TOOL, desk.ben, path="f", kind="exclusive", reason="big move")["ok"]
    refused = before(desk, desk.ann, "f")
    assert refused["error"] == "lease_held"
    assert "big move" in refused["message"]
    assert before(desk, desk.ben, "f")["ok"]


@pytest.mark.parametrize(
    ("strict", "replaces", "allowed"),
    [("tell", "two", True), ("conflicts", "eight", True), ("conflicts", "two", False), ("deny", "eight", False)],
)
def test_the_settings_say_how_strictly(desk: Desk, strict: str, replaces: str, allowed: bool) -> None:
    desk.settings = Settings(hooks=Hooks(stale=strict))
    edits(desk, desk.ben, "f", OLD.replace(b"two", b"TWO"))
    assert before(desk, desk.ann, "f", replaces=[replaces])["ok"] is allowed


def test_a_text_that_the_agent_wrote_itself_is_not_in_the_way_of_what_others_did_far_off(
    desk: Desk,
) -> None:
    desk.settings = Settings(hooks=Hooks(stale="conflicts"))
    before(desk, desk.ann, "f")
    desk.outside("f", OLD.replace(b"two", b"ann's"))
    desk.write("f", OLD.replace(b"two", b"ann's").replace(b"eight", b"ben's"), desk.ben)
    ended = after(desk, desk.ann, "f")
    assert [entry["touches"] for entry in ended["news"]] == ["none"]  # of the lines that this call has written
    assert before(desk, desk.ann, "f", replaces=["ann's"])["ok"]
    refused = before(desk, desk.ann, "f", replaces=["ann's", "ben's"])
    assert (refused["error"], refused["touches"]) == ("stale_file", "conflicting")
    assert before(desk, desk.ann, "f", replaces=["seven"])["touches"] == "touching"


def test_every_place_of_a_text_counts(desk: Desk) -> None:
    desk.settings = Settings(hooks=Hooks(stale="conflicts"))
    desk.outside("f", OLD + OLD)
    read(desk, desk.ann)
    desk.write("f", OLD + OLD.replace(b"eight", b"ben's"), desk.ben)
    assert before(desk, desk.ann, "f", replaces=["three"])["ok"]
    assert before(desk, desk.ann, "f", replaces=["seven\n"])["touches"] == "touching"
    assert before(desk, desk.ann, "f", replaces=["nowhere"])["touches"] == "conflicting"


def test_a_text_of_another_file_of_the_call_is_none_of_this_one(desk: Desk) -> None:
    desk.settings = Settings(hooks=Hooks(stale="conflicts"))
    desk.outside("g", b"other\n")
    read(desk, desk.ann, "g")
    edits(desk, desk.ben, "f", OLD.replace(b"two", b"TWO"))
    assert before(desk, desk.ann, "f", "g", replaces=["eight", "other"])["ok"]
    for replaces in (["eight", "nowhere"], ["two", "other"], ["other"]):
        assert before(desk, desk.ann, "f", "g", replaces=replaces)["error"] == "stale_file"


def test_after_ends_the_burst_of_its_own_call_and_a_new_turn_those_that_were_left(desk: Desk) -> None:
    ann1 = desk.introduce("ann", "s1", call="t1")
    ann2 = desk.introduce("ann", "s1", call="t2")
    first, second = before(desk, ann1, "f", call="t1"), before(desk, ann2, "g", call="t2")
    assert after(desk, desk.ann, "f", call="t1")["burst"] == first["burst"]
    assert after(desk, desk.ann, "g", call="t9")["burst"] is None
    desk.call(NATIVE_TOOL, desk.ann, moment="end")
    with desk.history() as history:
        last = history.record(history.head())
        assert last is not None
        assert last.event() == BurstEnded(second["burst"], "owner")
        assert history.open_bursts() == []


def test_a_call_that_is_told_twice_has_one_burst(desk: Desk) -> None:
    ann = desk.introduce("ann", "s1", call="t1")
    first, second = before(desk, ann, "f", call="t1"), before(desk, ann, "f", call="t1")
    assert first["burst"] == second["burst"]
    mine = desk.outside("f", OLD + b"nine\n")
    assert (after(desk, ann, "f", call="t1")["batches"], after(desk, ann, "f", call="t1")["burst"]) == (1, None)
    with desk.history() as history:
        assert history.burst_batches(first["burst"]) == [mine]


def test_a_failed_edit_teaches_the_agent_nothing(desk: Desk) -> None:
    begun = before(desk, desk.ann, "new", whole=True)
    ended = after(desk, desk.ann, "new", ok=False, whole=True)
    assert (ended["burst"], ended["batches"]) == (begun["burst"], 0)
    with desk.history() as history:
        assert history.shown(desk.ann.key, "new") is None


def test_the_files_that_a_call_names_stand_in_the_journal(desk: Desk) -> None:
    begun = before(desk, desk.ann, "f", "g")
    with desk.history() as history:
        record = history.record(begun["burst"])
        assert record is not None
        event = record.event()
    assert isinstance(event, BurstBegun)
    assert (event.form, event.paths, event.outside) == ("native", ("f", "g"), True)


def lies(desk: Desk, data: bytes) -> None:
    """Another program writes a secret file: the journal gets its hash."""
    desk.files[".env"] = OnDesk(data)
    desk.note(CaptureFailed(".env", "secret", len(data), blob_id(data), 0o644, "watched"))


def test_an_agent_knows_what_it_wrote_itself_also_of_a_file_whose_bytes_the_journal_does_not_hold(desk: Desk) -> None:
    lies(desk, b"A=1\n")
    read(desk, desk.ann, ".env")
    read(desk, desk.ben, ".env")
    assert before(desk, desk.ann, ".env")["ok"]
    lies(desk, b"A=2\n")
    assert told(after(desk, desk.ann, ".env")) == []
    assert before(desk, desk.ann, ".env", whole=True)["ok"], "its own write is no news to it"
    after(desk, desk.ann, ".env", whole=True)
    assert before(desk, desk.ben, ".env")["error"] == "stale_file"
    edited = desk.call(TOOLS["insert_lines"], desk.ann, file=".env", line_number=1, text="B=1", allow_uncaptured=True)
    assert edited["ok"], edited
    lies(desk, b"A=3\n")
    assert before(desk, desk.ann, ".env")["error"] == "stale_file"
