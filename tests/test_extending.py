"""docs/extending.md is true: what it tells how to add is added to a copy of the sources, and used there for real.

The table in that page says which files each addition touches beside its tests. `<NAME>` stands for the name of what is
added; its tests are the vectors and the page of commands here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
DAEMON, JOURNAL, CLIENT = "daemon/quire_daemon", "journal/quire_journal", "client/quire_client"


class Addition(NamedTuple):
    """Something that is added: its name, its files, and a program that uses it."""

    name: str
    new: dict[str, str]  # file → its text
    lines: dict[str, tuple[tuple[str, str], ...]]  # file → (text that stands there, text in its place) …
    used: str


def before(there: str, new: str) -> tuple[str, str]:
    """New text in front of the one that stands there."""
    return there, new + there


DIALECT = Addition(
    "append_lines",
    {
        f"{DAEMON}/dialects/append_lines.py": '''\
"""The `append_lines` dialect: lines come behind the last one."""

from typing import Final

from quire_daemon.config import Settings
from quire_daemon.dialects.base import Dialect, NamedFile, Plan, Sight, own_text
from quire_journal.text import Splice, content_lines


class AppendParams(NamedFile, frozen=True, kw_only=True):
    """Arguments of `append_lines`."""

    appended: str


def plan(params: AppendParams, sight: Sight, settings: Settings) -> Plan:
    """The lines, behind the last one."""
    end = len(sight.text)
    return Plan((Splice(end, end, tuple(content_lines(params.appended))),), 1, True)


APPEND_LINES: Final = Dialect("append_lines", AppendParams, plan, stale="stale_base", proof=own_text)
''',
        f"{DAEMON}/manuals/append_lines.md": """\
+++
title = "Append lines"
aliases = ["file"]
changed = "the change is only reported"

[arguments]
appended = "The lines that come behind the last one."
+++
# `append_lines`: put lines at the end of a file

It needs `path` and `appended`.

```python
x = 1
```
```json
{"path": "main.py", "appended": "y = 2"}
```
""",
    },
    {
        f"{DAEMON}/dialects/table.py": (
            before("from quire_daemon.dialects.base", "from quire_daemon.dialects.append_lines import APPEND_LINES\n"),
            before("    EDIT.name: EDIT,", "    APPEND_LINES.name: APPEND_LINES,\n"),
        )
    },
    """
from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import load

daemon = MemoryDaemon({"a.txt": "one\\n"}, load('[mcp]\\ntools = ["append_lines"]', None))
daemon.ask("read_file", {"path": "a.txt"})
daemon.save("a.txt", "one\\ntwo\\n")
reply = daemon.ask("append_lines", {"path": "a.txt", "appended": "three"})
assert reply["ok"] and reply["changed_since_your_read"], reply
assert daemon.read("a.txt") == "one\\ntwo\\nthree\\n"
assert daemon.ask("undo", {})["ok"]
assert daemon.read("a.txt") == "one\\ntwo\\n"
(tool,) = daemon.ask("describe", {"offered": True})["tools"]
assert tool["description"].startswith("Put lines at the end of a file.")
assert tool["schema"]["properties"]["appended"]["description"] == "The lines that come behind the last one."
assert "| `append_lines` | the change is only reported |" in daemon.ask("manual", {})["manual"]
""",
)

COMMAND = Addition(
    "count",
    {
        f"{CLIENT}/commands/everyday/count.py": '''\
"""`quire count`: how many lines a file has."""

from quire_client.commands import Command, Invocation


def run(call: Invocation) -> int:
    """Ask for the number."""
    reply = call.ask("count", {"path": call.in_workspace(call.one_argument("PATH"))})
    return call.answer(reply, lambda reply: f"{reply['lines']} lines")


COMMAND = Command(arguments="PATH", about="Counts the lines of a file.", example="quire count src/app.py", run=run)
''',
        f"{DAEMON}/tools/count.py": '''\
"""`count`: how many lines a file has."""

from typing import Final

import msgspec

from quire_daemon.core import Decision, Tool, World
from quire_daemon.core.replies import Reply


class CountParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `count`."""

    path: str


class CountReply(Reply, frozen=True, kw_only=True):
    """`count`."""

    lines: int


def decide(params: CountParams, world: World) -> Decision:
    """The number of lines."""
    lines = len((world.files[params.path].data or b"").splitlines())
    return Decision({"ok": True, "message": f"{lines} lines.", "lines": lines})


COUNT_TOOL: Final[Tool[CountParams]] = Tool(
    "count", CountParams, lambda params: (params.path,), decide, reply=CountReply
)
''',
        f"{DAEMON}/manuals/count.md": """\
+++
title = "Count lines"
+++
Tell how many lines a file has.
""",
    },
    {
        f"{CLIENT}/commands/table.py": (
            before('        "call": "Call any', '        "count": "Tell how many lines a file has",\n'),
        ),
        "docs/guide.md": (before("## Look back", "`quire count PATH` counts lines.\n\n"),),
        f"{DAEMON}/tools/table.py": (
            before("from quire_daemon.tools.edit import", "from quire_daemon.tools.count import COUNT_TOOL\n"),
            before('    "log": LOG_TOOL', '    "count": COUNT_TOOL,\n'),
        ),
    },
    """
import contextlib, io, os, pathlib
from quire_client.__main__ import main

def said(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*words]) == 0
    return out.getvalue()

os.mkdir("site")
os.chdir("site")
pathlib.Path("a.txt").write_text("one\\ntwo\\n")
assert "Tell how many lines a file has" in said("help")
assert "quire count src/app.py" in said("count", "--help")
try:
    said("up", ".", "--yes")
    assert said("count", "a.txt") == "2 lines\\n"
    assert '"lines"' in said("call", "describe", '{"tool": "count"}', "--json")
finally:
    main(["down"])
""",
)

EVENT = Addition(
    "flag_raised",
    {},
    {
        f"{JOURNAL}/model/events.py": (
            before(
                "class CheckpointDropped(",
                'class FlagRaised(Event, frozen=True):\n    """Somebody raised a flag, which is a checkpoint."""\n\n'
                '    kind: ClassVar[str] = "flag_raised"\n    name: str\n\n\n',
            ),
        ),
        f"{JOURNAL}/model/__init__.py": (before(" FileDeleted ", " FlagRaised"),),
        f"{JOURNAL}/views/checkpoints.py": (
            before("    Record,\n", "    FlagRaised,\n"),
            before("CheckpointDropped, CheckpointSaved, CheckpointCommitted", "FlagRaised, "),
            before(
                "        case CheckpointDropped():",
                "        case FlagRaised():\n"
                "            flag = Checkpoint(event.name, record.seq, '', record.seq, record.at_ns, record.writer)\n"
                '            w.put("checkpoints", _key(event.name), _ENCODER.encode(flag))\n',
            ),
        ),
        f"{JOURNAL}/views/table.py": (('View("checkpoints", 2', 'View("checkpoints", 3'),),
    },
    """
from scribe import Scribe
from quire_journal.model.events import FlagRaised
from quire_journal.views.checkpoints import checkpoint

scribe = Scribe().introduce()
seq = scribe.note(FlagRaised("here"))
with scribe.store.reading() as r:
    assert checkpoint(r, "here").cursor == seq
with scribe.history() as history:
    assert history.record(seq).event() == FlagRaised("here")
""",
)

FORMAT = Addition(
    "paths",
    {
        f"{JOURNAL}/export/paths.py": '''\
"""The paths that were written, one a line."""

from collections.abc import Iterator

from quire_journal.export.source import Source
from quire_journal.export.steps import steps


def export(source: Source, by: str) -> Iterator[bytes]:
    """A line for each file of each step."""
    for step in steps(source, by):
        yield b"" if step is None else "".join(f"{change.path}\\\\n" for change in step.changes).encode()
'''.replace("\\\\n", "\\n"),
    },
    {
        f"{JOURNAL}/export/formats.py": (
            before(
                '    "agent-trace": Format',
                '    "paths": Format("paths", "the paths that were written, one a line"),\n',
            ),
        )
    },
    """
from memory_daemon import MemoryDaemon
from quire_client.commands.history.export import COMMAND
from quire_journal.export import FORMATS, Source, Stretch

daemon = MemoryDaemon()
daemon.ask("write_file", {"path": "a.txt", "content": "one\\n"})
chunks = FORMATS["paths"].export(Source(daemon.journal.store, Stretch(0, daemon.journal.head)), "batch")
assert b"".join(chunks) == b"a.txt\\n"
assert "  paths        the paths that were written" in COMMAND.about
""",
)

SETTING = Addition(
    "most_counted",
    {},
    {
        f"{DAEMON}/config/settings.py": (
            before("    regex_ms: int", "    most_counted: int = 7  # lines that are counted\n"),
        ),
        "docs/settings.md": (before("regex_ms = 2000", "most_counted = 7           # lines that are counted\n"),),
    },
    """
import tomllib, pathlib, re
from quire_daemon.config.settings import load

assert load(None, "[limits]\\nmost_counted = 9").limits.most_counted == 9
assert load(None, None).limits.most_counted == 7
""",
)

ADDITIONS = {
    "an edit protocol (dialect)": DIALECT,
    "a command with a new tool": COMMAND,
    "an event": EVENT,
    "an export format": FORMAT,
    "a setting": SETTING,
}


def stated() -> dict[str, tuple[int, set[str]]]:
    """What the table of the page says: how many files an addition touches, and which."""
    rows = re.findall(
        r"^\| ([^|]+) \| (\d+) \| ([^|]+) \|$", (ROOT / "docs" / "extending.md").read_text(), re.MULTILINE
    )
    return {what: (int(count), set(re.findall(r"`([^`]+)`", files))) for what, count, files in rows}


def added(addition: Addition, copy: Path) -> set[str]:
    """The files of the copy that are touched, by name, once it has the addition."""
    for name, text in addition.new.items():
        assert not (copy / name).exists()
        (copy / name).write_text(text)
    for name, lines in addition.lines.items():
        text = (copy / name).read_text()
        for there, instead in lines:
            assert text.count(there) == 1, (name, there)
            text = text.replace(there, instead)
        (copy / name).write_text(text)
    return {*addition.new, *addition.lines}


def test_the_page_tells_of_each_addition() -> None:
    assert stated().keys() == ADDITIONS.keys()


@pytest.mark.real
@pytest.mark.parametrize("what", ADDITIONS)
def test_what_is_added_as_the_page_says_works(what: str, tmp_path: Path) -> None:
    addition = ADDITIONS[what]
    for part in ("daemon", "journal", "client", "docs"):
        shutil.copytree(ROOT / part, tmp_path / part)
    touched = added(addition, tmp_path)
    sources = [os.fspath(tmp_path / part) for part in ("journal", "daemon", "client")]
    tests = [os.fspath(ROOT / part) for part in ("tests", "tests/journal")]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sources + tests), "HOME": os.fspath(tmp_path)}
    environ |= {f"XDG_{one}": os.fspath(tmp_path) for one in ("STATE_HOME", "CONFIG_HOME", "RUNTIME_DIR")}
    ran = subprocess.run(
        [sys.executable, "-c", addition.used], cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    files = {re.sub(rf"\b{addition.name}\b", "<NAME>", name) for name in touched}
    assert (len(touched), files) == stated()[what]
