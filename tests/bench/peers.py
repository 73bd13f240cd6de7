"""Other tools that edit files, measured beside Quire where they are installed.

None of them is asked for: a peer that is missing is skipped with a word. `QUIRE_PEERS` names the Python that has them,
so that what they depend on stays out of Quire's own environment:

    python -m venv peers && peers/bin/pip install supyagent==0.5.12 agentfs-sdk openhands-aci
    QUIRE_PEERS=peers/bin/python scripts/bench edit

Each runs in a process of its own, times its own calls, and prints the milliseconds: what it takes to get there (a wire,
a model's tool call) is not counted, which favours the peer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from table import Line, compared


class Peer(NamedTuple):
    """A peer: the module that it needs, what its edit does, and a program that times edits of a file."""

    name: str
    module: str
    what: str
    program: str


_AROUND: Final = """
import json, sys, time
path, rounds = sys.argv[1], int(sys.argv[2])
{prepare}
took = []
for n in range(rounds + 5):
    old, new = f"function_{{n}}(value)", f"renamed_{{n}}(value)"
    begun = time.perf_counter()
    {edit}
    took.append((time.perf_counter() - begun) * 1000)
print(json.dumps(took[5:]))
"""

PEERS: Final[tuple[Peer, ...]] = (
    Peer(
        "supyagent 0.5.12",
        "supyagent.default_tools.edit",
        "edit_replace: reads, replaces, truncates and writes; no fsync, no check, no journal",
        _AROUND.format(
            prepare="from supyagent.default_tools.edit import EditReplaceInput, edit_replace",
            edit="assert edit_replace(EditReplaceInput(file=path, old_text=old, new_text=new)).ok",
        ),
    ),
    Peer(
        "openhands-aci",
        "openhands_aci",
        "str_replace: reads, replaces, writes; keeps the last versions in a cache, no fsync",
        _AROUND.format(
            prepare="from openhands_aci.editor import OHEditor\neditor = OHEditor()",
            edit='editor(command="str_replace", path=path, old_str=old, new_str=new)',
        ),
    ),
    Peer(
        "agentfs-sdk",
        "agentfs_sdk",
        "write_file: the whole file into a database beside it, the version before is gone",
        _AROUND.format(
            prepare="import asyncio\nfrom agentfs_sdk import AgentFS, AgentFSOptions\n"
            "run = asyncio.new_event_loop().run_until_complete\n"
            "files = run(AgentFS.open(AgentFSOptions(path=path + '.db'))).fs\ntext = open(path).read()",
            edit='run(files.write_file("/big.py", text.replace(old, new)))',
        ),
    ),
)


def edits_of_peers(text: str, rounds: int) -> Iterator[Line]:
    """A one-line edit of `text` by each peer that is there, beside the floor of those who survive a power cut."""
    python = os.environ.get("QUIRE_PEERS", sys.executable)
    for peer in PEERS:
        took = _timed(python, peer, text, min(rounds, text.count("def ") - 10))
        if took is None:
            yield Line(f"{peer.name}: an edit of the same file", "ms", 0.0, note="not installed, skipped")
        else:
            yield compared(f"{peer.name}: an edit of the same file", took, note=peer.what)


def _timed(python: str, peer: Peer, text: str, rounds: int) -> list[float] | None:
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
        path = Path(folder) / "big.py"
        path.write_text(text)
        ran = subprocess.run(
            [python, "-c", peer.program, str(path), str(rounds)], capture_output=True, text=True, check=False
        )
    if ran.returncode:
        if "ModuleNotFoundError" in ran.stderr:
            return None
        raise RuntimeError(f"{peer.name} failed: {ran.stderr[-500:]}")
    took: list[float] = json.loads(ran.stdout.splitlines()[-1])
    return took
