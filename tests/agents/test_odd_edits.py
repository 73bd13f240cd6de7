"""Edits in which an agent does something else than its arguments say, or says it in another way."""

from __future__ import annotations

import json
import os
from pathlib import Path

import agent_binaries
import agent_runs
import pytest
from scripted_model import Call, Model, steps

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "id": "c1", "metadata": {}, "execution_count": 1, "outputs": [], "source": ["1\n"]}
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
CLASS = """\
class Greeter:
    def greet(self):
        name = 'you'
        return name

    def leave(self):
        return ''
"""
CRLF = "one\r\ntwo\r\nthree\r\n"
QUOTED = "she said \u201chello\u201d to him\nand left\n"


def quotes(root: Path) -> list[Call]:
    """Claude Code takes straight quotes for curly ones."""
    edit = {"old_string": 'said "hello"', "new_string": 'said "goodbye"'}
    return [Call("Edit", {"file_path": os.fspath(root / "quoted.txt"), **edit})]


def line_ends(root: Path) -> list[Call]:
    """It reads and writes lines without CR."""
    return [Call("Edit", {"file_path": os.fspath(root / "crlf.txt"), "old_string": "two\n", "new_string": "2\n"})]


def cells(root: Path) -> list[Call]:
    """A notebook is written anew as a whole."""
    path = os.fspath(root / "n.ipynb")
    return [
        Call("NotebookEdit", {"notebook_path": path, "cell_id": "c1", "new_source": "2\n", "edit_mode": "replace"}),
        Call(
            "NotebookEdit",
            {
                "notebook_path": path,
                "cell_id": "c1",
                "new_source": "# 3",
                "cell_type": "markdown",
                "edit_mode": "insert",
            },
        ),
    ]


def everywhere(root: Path) -> list[Call]:
    """A text is replaced wherever it stands."""
    edit = {"old_string": "name", "new_string": "whom", "replace_all": True}
    return [Call("Edit", {"file_path": os.fspath(root / "greet.py"), **edit})]


def here_document(root: Path) -> list[Call]:
    """A patch is given to the program of that name in a shell."""
    hunk = "*** Update File: greet.py\n@@\n-        return name\n+        return name.title()\n"
    return [agent_runs.shell("codex", f"apply_patch <<'EOF'\n*** Begin Patch\n{hunk}*** End Patch\nEOF\n")]


def several_files(root: Path) -> list[Call]:
    """One patch changes, adds and removes files."""
    patch = (
        "*** Begin Patch\n*** Update File: greet.py\n@@ class Greeter:\n     def greet(self):\n-        name = 'you'\n"
        "+        name = 'all'\n         return name\n"
        "*** Add File: made.txt\n+made\n*** Delete File: crlf.txt\n*** End Patch\n"
    )
    return [Call("apply_patch", text=patch)]


def indented(tool: str, path: str, old: str, new: str, **more: str) -> list[Call]:
    """The text is found although it is not indented as the arguments say."""
    replaced = "def leave(self):\n    return ''"
    return [Call(tool, {path: "greet.py", old: replaced, new: replaced.replace("''", "'bye'"), **more})]


def of_gemini(root: Path) -> list[Call]:
    """See `indented`."""
    path = {"file_path": os.fspath(root / "greet.py"), "instruction": "change it"}
    (call,) = indented("replace", "file_path", "old_string", "new_string")
    return [call._replace(arguments={**call.arguments, **path})]


def of_opencode(root: Path) -> list[Call]:
    """See `indented`."""
    (call,) = indented("edit", "filePath", "oldString", "newString")
    return [call._replace(arguments={**call.arguments, "filePath": os.fspath(root / "greet.py")})]


@pytest.mark.parametrize(
    ("agent", "edits", "path"),
    [
        ("claude-code", quotes, "quoted.txt"),
        ("claude-code", line_ends, "crlf.txt"),
        ("claude-code", cells, "n.ipynb"),
        ("claude-code", everywhere, "greet.py"),
        ("codex", here_document, "greet.py"),
        ("codex", several_files, "greet.py made.txt crlf.txt"),
        ("gemini", of_gemini, "greet.py"),
        ("opencode", of_opencode, "greet.py"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_an_edit_is_known_by_what_came_of_it(agent: str, edits: object, path: str, at: agent_runs.Checkout) -> None:
    agent_binaries.require(agent)
    at.run("quire", "setup", agent)
    before = {"n.ipynb": json.dumps(NOTEBOOK, indent=1), "greet.py": CLASS, "crlf.txt": CRLF, "quoted.txt": QUOTED}
    for name, text in before.items():
        (at.root / name).write_bytes(text.encode())
    assert callable(edits)
    calls = edits(at.root)
    reads = [agent_runs.read(agent, at.root, name) for name in path.split() if name in before]
    with Model(steps(*reads, *calls)) as model:
        at.agent(agent, model)
    for name in path.split():
        found = [(one["writer"]["agent"], one["evidence"]) for one in at.quire("log", "--records", name)["records"]]
        written = [kind for kind in found if kind[0]]
        assert written == [(agent, "exact")] * (len(calls) if name == "n.ipynb" else 1), (name, model.results)
    at.quire("undo", "--writer", agent)
    for name in path.split():
        file = at.root / name
        assert (file.read_bytes().decode() if file.exists() else None) == before.get(name), name
