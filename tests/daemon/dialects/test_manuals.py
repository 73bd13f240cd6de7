"""The manuals say what the seeds demand, and what they show works: each example is played and lands."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Dialects, HashlineDialect, Settings
from quire_daemon.core.arguments import WriteArguments
from quire_daemon.dialects.table import DIALECTS
from quire_daemon.manuals.pages import page
from quire_daemon.tools.admin.manual import EDITING
from quire_daemon.tools.admin.placeholders import filled
from quire_daemon.tools.table import TOOLS
from quire_journal.model.refusals import CODES
from quire_journal.text.line_hash import LineHashes
from quire_journal.text.text import Text

ROWS = json.loads((Path(__file__).parents[2] / "vectors" / "manual_sentences.json").read_text(encoding="utf-8"))
REPLACING_TEXT = Settings(dialects=Dialects(hashline_edit=HashlineDialect(allow_replace_text=True)))


def manual(name: str, settings: Settings | None = None) -> str:
    """What a caller of `manual` gets for one tool."""
    return str(MemoryDaemon(settings=settings).ask("manual", {"dialect": name})["manual"])


def folded(text: str) -> str:
    """The text with single blanks only: where a line ends is not what it says."""
    return " ".join(text.split())


# ── the seeds ──


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_the_manuals_have_every_sentence_that_the_seeds_demand(row: dict[str, Any]) -> None:
    settings = REPLACING_TEXT if row["id"].startswith("hashline.replace-text") else None
    told = folded(manual(row["manual"], settings))
    assert row["words"]
    assert row["phrases"]
    assert not [phrase for phrase in row["phrases"] if folded(phrase) not in told]


def test_no_sentence_is_listed_twice() -> None:
    ids = [row["id"] for row in ROWS]
    assert len(ids) == len({*ids})


def test_the_disclaimer_about_line_numbers_stands_before_all_guidance() -> None:
    told = folded(manual("edit"))
    disclaimer = told.index("authoritative identity")
    guidance = [p for row in ROWS if row["manual"] == "edit" and row["id"] != "identity" for p in row["phrases"]]
    assert disclaimer < min(told.index(folded(phrase)) for phrase in guidance)


def test_text_replacement_is_told_only_where_the_settings_allow_it() -> None:
    assert "old_text" not in manual("hashline_edit")
    assert manual("hashline_edit", REPLACING_TEXT).count("old_text") == 2


# ── the tool ──


def test_every_dialect_has_a_manual_and_so_has_every_tool_that_edits() -> None:
    assert {*DIALECTS, "apply_patch", "read_file", "write_file", "delete_file", "move_file"} == {*EDITING} <= {*TOOLS}
    assert {name for name in TOOLS if page(name).about} == {*EDITING}


@pytest.mark.parametrize("name", EDITING)
def test_a_manual_begins_with_a_line_that_says_what_the_tool_does(name: str) -> None:
    text = manual(name)
    assert text.startswith(f"# `{name}`: ")
    assert text.endswith("\n")
    assert 10 < len(page(name).about) <= 90


def test_without_a_name_there_is_a_list_and_all_of_it() -> None:
    reply = MemoryDaemon().ask("manual", {})
    assert reply["ok"]
    assert [row["name"] for row in reply["dialects"]] == list(EDITING)
    told = reply["manual"]
    for name in EDITING:
        assert filled(page(name).text, Settings()) in told
    for row in reply["dialects"]:
        assert f"- `{row['name']}`: {row['about']}\n" in told


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    reply = MemoryDaemon().ask("manual", {"dialect": "sed"})
    assert (reply["ok"], reply["error"]) == (False, "not_found")
    assert all(name in reply["message"] for name in EDITING)
    assert [row["name"] for row in reply["dialects"]] == list(EDITING)


def test_to_read_a_manual_leaves_nothing_in_the_journal() -> None:
    daemon = MemoryDaemon()
    daemon.who("ann")
    before = daemon.journal.head
    daemon.ask("manual", {"dialect": "edit"})
    assert daemon.journal.head == before


# ── what all writing tools have in common ──


def test_what_all_writing_tools_take_is_told_alone_and_before_all_manuals() -> None:
    alone, told = manual("writing"), MemoryDaemon().ask("manual", {})["manual"]
    assert alone.startswith("# `writing`: what every writing tool takes")
    assert told.count(alone) == 1
    assert told.index(alone) < told.index("# `edit`: ")
    assert f"- `writing`: {page('writing').about}\n" in told


@pytest.mark.parametrize("name", EDITING)
def test_the_manual_of_a_tool_that_writes_ends_with_every_argument_of_all_that_do(name: str) -> None:
    own, common, told = manual(name).partition("\n## What every writing tool takes\n")
    assert own.startswith(f"# `{name}`: ")
    assert bool(common) == TOOLS[name].writes == bool(page(name).changed)
    if common:
        arguments = {field.name for field in msgspec.structs.fields(WriteArguments)} - {"path"}
        assert {*re.findall(r"^- `([a-z_]+)`: ", told, re.MULTILINE)} == arguments
        for word in ["`reject` | `rebase`", "`strict` | `warn` | `off`", "`clean`, `suspicious`", "`op_status`"]:
            assert word in told
        assert page(name).changed in told


def test_the_common_part_tells_every_argument_and_names_every_tool() -> None:
    told = manual("writing")
    for field in msgspec.structs.fields(WriteArguments):
        assert field.name == "path" or f"- `{field.name}`: " in told
    rows = [row.split(" | ")[0] for row in told.splitlines() if row.startswith("| `")]
    named = re.findall(r"`([a-z_]+)`", " ".join(rows))
    assert sorted(named) == sorted(name for name in EDITING if TOOLS[name].writes)


def test_the_defaults_of_the_safety_check_are_as_they_are_told() -> None:
    assert {name for name, dialect in DIALECTS.items() if dialect.safety == "strict"} == {"edit"}
    assert {dialect.safety for dialect in DIALECTS.values()} == {"strict", "warn"}


LINES = "one\ntwo\nthree\nfour\nfive\n"
SHA256 = hashlib.sha256(LINES.encode()).hexdigest()
HASHES = LineHashes.of(Text.of(LINES.encode()))
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch\n"

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("edit", {"operations": [{"op": "replace_line", "hash": HASHES.anchor(1), "content": "2"}]}, "anchor_stale"),
    ("edit_file", {"expectedSha256": SHA256, "edits": [{"oldText": "two", "newText": "2"}]}, "stale_file"),
    ("replace_lines", {"start_line": 2, "end_line": 2, "new_text": "2"}, "stale_base"),
    ("insert_lines", {"line_number": 2, "text": "2"}, "stale_base"),
    ("insert_lines", {"line_number": 0, "text": "2"}, ""),
    ("insert_lines", {"line_number": -1, "text": "2"}, ""),
    ("text_editor", {"command": "insert", "insert_line": 2, "insert_text": "2"}, "stale_base"),
    ("text_editor", {"command": "insert", "insert_line": 0, "insert_text": "2"}, ""),
    ("text_editor", {"command": "str_replace", "old_str": "two", "new_str": "2"}, ""),
    ("hashline_edit", {"edits": [{"target": HASHES.reference(1), "new_content": ["2"]}]}, ""),
    ("hashline_edit", {"rename": "b.txt", "edits": []}, "stale_base"),
    ("hashline_edit", {"delete": True, "edits": []}, "stale_base"),
    ("edit_replace", {"old_text": "two", "new_text": "2"}, ""),
    ("multi_edit", {"edits": [{"old_text": "two", "new_text": "2"}]}, ""),
    ("regex_replace", {"pattern": "two", "replacement": "2"}, ""),
    ("apply_patch", {"patch": PATCH}, ""),
    ("apply_patch", {"patch": PATCH, "expectedSha256ByPath": {"a.txt": SHA256}}, "stale_file"),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"}, "stale_file"),
    ("write_file", {"content": "2\n", "expectedSha256": SHA256}, "stale_file"),
    ("delete_file", {}, "stale_base"),
    ("move_file", {"to": "b.txt"}, "stale_base"),
]


@pytest.mark.parametrize(("tool", "call", "code"), CALLS)
def test_a_change_by_others_elsewhere_in_the_file_is_reported_correctly(
    tool: str, call: dict[str, Any], code: str
) -> None:
    daemon = MemoryDaemon({"a.txt": LINES})
    daemon.ask("read_file", {"path": "a.txt", "hashes": True})
    daemon.save("a.txt", LINES.replace("five", "5"))
    reply = daemon.ask(tool, {**call, "path": "a.txt"})
    assert (reply["ok"], reply.get("error", "")) == (not code, code), reply
    assert f"`{code}`" in page(tool).changed if code else reply["changed_since_your_read"]


@pytest.mark.parametrize(
    ("tool", "call"),
    [(tool, call) for tool, call, _ in CALLS if tool in ("edit_replace", "multi_edit", "regex_replace")],
)
def test_a_changed_line_that_still_has_the_text_is_edited_unless_it_is_to_be_checked(
    tool: str, call: dict[str, Any]
) -> None:
    daemon = MemoryDaemon({"a.txt": LINES})
    for reader in ("ann", "bob"):
        daemon.ask("read_file", {"path": "a.txt"}, by=reader)
    daemon.save("a.txt", LINES.replace("two", "two and more"))
    assert daemon.ask(tool, {**call, "path": "a.txt", "on_stale": "rebase"}, by="bob")["error"] == "stale_base"
    reply = daemon.ask(tool, {**call, "path": "a.txt"})
    assert [warning["type"] for warning in reply["warnings"]] == ["changed_since_your_read"]
    assert daemon.read("a.txt") == LINES.replace("two", "2 and more")


@pytest.mark.parametrize("tool", ["delete_file", "move_file"])
def test_rebase_does_not_let_a_whole_file_go_that_others_changed(tool: str) -> None:
    daemon = MemoryDaemon({"a.txt": LINES})
    daemon.ask("read_file", {"path": "a.txt"})
    daemon.save("a.txt", LINES.replace("five", "5"))
    call = {"path": "a.txt", "on_stale": "rebase", **({"to": "b.txt"} if tool == "move_file" else {})}
    assert daemon.ask(tool, call)["error"] == "stale_base"


def test_what_a_refusal_shows_counts_as_shown_as_it_is_told() -> None:
    daemon = MemoryDaemon({"a.txt": LINES})
    daemon.ask("read_file", {"path": "a.txt"})
    daemon.save("a.txt", LINES.replace("five", "5"))
    call = {"path": "a.txt", "start_line": 2, "end_line": 2, "new_text": "2"}
    assert daemon.ask("replace_lines", call)["error"] == "stale_base"
    assert daemon.ask("replace_lines", call)["ok"]


# ── what they show is true ──


@pytest.mark.parametrize("name", EDITING)
def test_a_manual_names_only_error_codes_that_exist(name: str) -> None:
    """A word in backquotes before a colon, or in the table of errors, is a code."""
    text = manual(name)
    rows = re.findall(r"^\| `([a-z_0-9]+)` \| .* \| .* \|$", text, re.MULTILINE)
    heads = re.findall(r"^(?:- )?((?:`[a-z_0-9]+`(?:, )?)+): ", text, re.MULTILINE)
    words = {word for head in heads for word in re.findall(r"`([a-z_0-9]+)`", head)} | {*rows}
    arguments = {field.name for field in msgspec.structs.fields(TOOLS[name].params)}
    commands = {"view", "create", "str_replace", "insert", "undo_edit"}
    assert words - arguments - commands <= set(CODES)


def test_anchors_are_those_of_the_lines_that_are_shown() -> None:
    template = (
        '{{hlinefull 2 "  x = 1"}}\n{{hlineref 2 "  x = 1"}}\n{{hashedfull 2 "  x = 1"}}\n{{hashedref 2 "  x = 1"}}'
    )
    hashes = LineHashes.of(Text.of(b"first\n  x = 1\n"))
    whole, reference, hashed, anchor = filled(template, Settings()).split("\n")
    assert (whole, hashed, anchor) == (hashes.reference(1), hashes.row(1), hashes.anchor(1))
    assert whole.startswith(f"{reference}|")


@pytest.mark.parametrize("name", EDITING)
def test_no_placeholder_is_left_in_a_manual(name: str) -> None:
    assert "{{" not in manual(name, REPLACING_TEXT)
    assert "{{" not in manual(name)


@dataclass(frozen=True)
class Example:
    """A call as a manual shows it, and the text that the manual shows above it."""

    tool: str
    shown: str | None
    call: dict[str, Any]
    good: bool


BLOCK = re.compile(r"^(Bad:\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(name: str) -> Iterator[Example]:
    """The examples of one manual, in order."""
    shown = None
    for bad, language, text in BLOCK.findall(filled(page(name).text, REPLACING_TEXT)):
        if language == "json":
            yield Example(name, shown, json.loads(text), not bad)
        else:
            shown = text


EXAMPLES = [(f"{name}-{i}", example) for name in EDITING for i, example in enumerate(examples(name), 1)]


def file_with(shown: str) -> str:
    """The whole file of which a manual shows a part: as it is, or numbered lines with others around them."""
    rows = [re.fullmatch(r"([0-9]+)#\w+(?: \[\w+\])?\|(.*)", row) for row in shown.splitlines()]
    numbered = [(int(row[1]), row[2]) for row in rows if row is not None]
    if not numbered:
        return shown
    assert len(numbered) == len(rows)
    above = [f"// line {n}" for n in range(1, numbered[0][0])]
    return "\n".join([*above, *(text for _, text in numbered)]) + "\n"


def play(example: Example) -> tuple[dict[str, bytes], dict[str, Any], MemoryDaemon]:
    """The files before the call, the reply, and the workspace afterwards."""
    call = {"path": "src/example.ts", "edits": [example.call]} if example.tool == "hashline_edit" else example.call
    path = str(call.get("path", "greet.py"))
    daemon = MemoryDaemon({} if example.shown is None else {path: file_with(example.shown)}, REPLACING_TEXT)
    before = dict(daemon.files)
    if example.shown is not None:
        form = {"edit": "hashed", "hashline_edit": "hashline"}.get(example.tool, "plain")
        read = daemon.ask("read_file", {"path": path, "format": form})
        assert form == "plain" or set(example.shown.splitlines()) <= set(read["lines"])
    return before, daemon.ask(example.tool, call), daemon


@pytest.mark.parametrize("example", [e for _, e in EXAMPLES if e.good], ids=[i for i, e in EXAMPLES if e.good])
def test_an_example_of_a_manual_lands(example: Example) -> None:
    before, reply, daemon = play(example)
    assert reply["ok"], reply
    assert not reply.get("warnings"), reply
    assert (daemon.files == before) == (example.call.get("command") == "view")


def test_the_manuals_of_all_editing_tools_have_examples() -> None:
    assert {e.tool for _, e in EXAMPLES if e.good} == set(EDITING) - {"read_file"}


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (1, ["// line 40", "  return record != null && record?.status === 'fulfilled';"]),
        (
            2,
            [
                "export function useX(...): boolean {",
                "  const [isVisible, setIsVisible] = useState(true);",
                "  useEffect",
            ],
        ),
        (3, ["      doFirst();", "      doSecond();", "      doThird();"]),
        (4, ["      chunkCache.set(chunkId, thenable);", "      thenable.then(resolve, ignoreReject);"]),
        (
            5,
            [
                "",
                "          if (targetFiber) {",
                "            targetInst = targetFiber;",
                "          }",
                "          //",
            ],
        ),
        (7, ["  },", '  { id: "nanogpt", available: true },', "];"]),
        (8, ["// last existing line", "// end marker"]),
        (9, ["x = 99"]),
    ],
)
def test_an_example_of_the_hashline_manual_does_what_its_name_says(number: int, wanted: list[str]) -> None:
    (example,) = [e for i, e in EXAMPLES if i == f"hashline_edit-{number}"]
    _, _, daemon = play(example)
    assert "\n" + "\n".join(wanted) in daemon.files["src/example.ts"].decode()


def test_the_bad_example_puts_the_line_into_its_neighbour() -> None:
    """It is legal; that is why the manual warns of it."""
    (example,) = [e for _, e in EXAMPLES if not e.good]
    _, reply, daemon = play(example)
    assert reply["ok"]
    assert (
        '    available: false,\n  { id: "nanogpt", available: true },\n  },\n'
        in daemon.files["src/example.ts"].decode()
    )
