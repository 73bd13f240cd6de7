"""Other tools that edit files, measured beside Quire where they are installed.

None of them is asked for: a peer that is missing is skipped with a word that says how to get it. `QUIRE_PEERS` names
the Python that has them, and `QUIRE_PEERS_NPM` the folder into which npm put them, so that what they depend on stays
out of Quire's own environment:

    python -m venv peers && peers/bin/pip install supyagent==0.5.12 agentfs-sdk openhands-aci
    npm install --prefix peers bun @oh-my-pi/hashline
    QUIRE_PEERS=peers/bin/python QUIRE_PEERS_NPM=peers scripts/bench edit read

Each runs in a process of its own, times its own calls, and prints the milliseconds: what it takes to get there (a wire,
a model's tool call) is not counted, which favours the peer. openhands-aci wants Python 3.12.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from table import Line, compared, skipped


class Peer(NamedTuple):
    """A peer: what it does, where it comes from, and a program that times it on the file that it is given."""

    name: str
    what: str
    source: str  # of `INSTALL`
    package: str
    program: str
    file: str = "big.py"


INSTALL: Final = {
    "python": "{package} is not installed: pip install {package}, and QUIRE_PEERS=the Python that has it",
    "npm": "{package} is not installed: npm install --prefix peers bun {package}, and QUIRE_PEERS_NPM=peers",
}
"""How to get a package, by where it comes from."""

_MISSING: Final = ("ModuleNotFoundError", "Cannot find package", "Cannot find module")

_PYTHON: Final = """
import json, sys, time
path, rounds = sys.argv[1], int(sys.argv[2])
{prepare}
took = []
for n in range(rounds + 5):
    old, new = f"function_{{n}}(value)", f"renamed_{{n}}(value)"
    begun = time.perf_counter()
    {act}
    took.append((time.perf_counter() - begun) * 1000)
print(json.dumps(took[5:]))
"""

_BUN: Final = """
import {{ Patch, Patcher, InMemorySnapshotStore, NodeFilesystem, formatNumberedLines }} from "@oh-my-pi/hashline";
const path = process.argv.at(-2), rounds = Number(process.argv.at(-1)), took = [];
const fs = new NodeFilesystem(), snapshots = new InMemorySnapshotStore();
{prepare}
for (let n = 0; n < rounds + 5; n++) {{
  const begun = performance.now();
  {act}
  took.push(performance.now() - begun);
}}
console.log(JSON.stringify(took.slice(5)));
"""

_HASHLINE_EDIT: Final = _BUN.format(
    prepare="const patcher = new Patcher({ fs, snapshots, enforceSeenLines: false });\n"
    "let tag = snapshots.record(path, await fs.readText(path));",
    act="const at = 4 * n + 1, text = `+def renamed_${n}(value):`;\n"
    "  const done = await patcher.apply(Patch.parse(`[${path}#${tag}]\\nPUT ${at}.=${at}:\\n${text}`));\n"
    '  if (done.sections[0].op !== "update") throw new Error(done.sections[0].op);\n'
    "  tag = done.sections[0].fileHash;",
)

_HASHLINE: Final = ("npm", "@oh-my-pi/hashline")

EDITS: Final[tuple[Peer, ...]] = (
    Peer(
        "supyagent 0.5.12",
        "edit_replace: reads, replaces, truncates and writes; no fsync, no check, no journal",
        "python",
        "supyagent==0.5.12",
        _PYTHON.format(
            prepare="from supyagent.default_tools.edit import EditReplaceInput, edit_replace",
            act="assert edit_replace(EditReplaceInput(file=path, old_text=old, new_text=new)).ok",
        ),
    ),
    Peer(
        "openhands-aci",
        "str_replace: reads, replaces, writes; keeps the last versions in a cache, no fsync",
        "python",
        "openhands-aci",
        _PYTHON.format(
            prepare="from openhands_aci.editor import OHEditor\neditor = OHEditor()",
            act='editor(command="str_replace", path=path, old_str=old, new_str=new)',
        ),
    ),
    Peer(
        "agentfs-sdk",
        "write_file: the whole file into a database beside it, the version before is gone",
        "python",
        "agentfs-sdk",
        _PYTHON.format(
            prepare="import asyncio\nfrom agentfs_sdk import AgentFS, AgentFSOptions\n"
            "run = asyncio.new_event_loop().run_until_complete\n"
            "files = run(AgentFS.open(AgentFSOptions(path=path + '.db'))).fs\ntext = open(path).read()",
            act='run(files.write_file("/big.py", text.replace(old, new)))',
        ),
    ),
    Peer(
        "hashline, text",
        "checks the file's 16-bit hash, replaces, writes; no fsync, no journal",
        *_HASHLINE,
        _HASHLINE_EDIT,
        "big.txt",
    ),
    Peer("hashline, Python, parsed", "the same, and parses the file before and after", *_HASHLINE, _HASHLINE_EDIT),
)

READS: Final[tuple[Peer, ...]] = (
    Peer(
        "hashline",
        "reads, makes one 16-bit hash of the file, numbers the lines; in the process, nothing sent",
        *_HASHLINE,
        _BUN.format(
            prepare="let shown = 0;",
            act="const text = await fs.readText(path);\n"
            "  shown += snapshots.record(path, text).length + formatNumberedLines(text).length;",
        ),
        "big.txt",
    ),
)


def edits_of_peers(text: str, rounds: int) -> Iterator[Line]:
    """A one-line edit of `text` by each peer that is there."""
    return _lines("an edit of the same file", EDITS, text, rounds)


def reads_of_peers(text: str, rounds: int) -> Iterator[Line]:
    """A read of `text` with hashes by each peer that is there."""
    return _lines("a read of the same file with hashes", READS, text, rounds)


def _lines(doing: str, peers: Sequence[Peer], text: str, rounds: int) -> Iterator[Line]:
    for peer in peers:
        took = _timed(peer, text, min(rounds, text.count("def ") - 10))
        if took is None:
            yield skipped(f"{peer.name}: {doing}", INSTALL[peer.source].format(package=peer.package))
        else:
            yield compared(f"{peer.name}: {doing}", took, note=peer.what)


def _timed(peer: Peer, text: str, rounds: int) -> list[float] | None:
    """The milliseconds that the peer tells; None when it is not installed. Raises `RuntimeError` when it fails."""
    folder = Path(os.environ.get("QUIRE_PEERS_NPM", ".")).absolute()
    if peer.source == "npm":
        run, cwd = [str(folder / "node_modules/.bin/bun"), "-e", peer.program], folder
        if not Path(run[0]).exists():
            return None
    else:
        run, cwd = [os.environ.get("QUIRE_PEERS", sys.executable), "-c", peer.program], Path.cwd()
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as scratch:
        path = Path(scratch) / peer.file
        path.write_text(text)
        ran = subprocess.run([*run, str(path), str(rounds)], capture_output=True, text=True, check=False, cwd=cwd)
        changed = path.read_text() != text or path.with_name(f"{path.name}.db").exists()
    if ran.returncode:
        if any(word in ran.stderr for word in _MISSING):
            return None
        raise RuntimeError(f"{peer.name} failed: {ran.stderr[-500:]}")
    if changed is (peer in READS):
        raise RuntimeError(f"{peer.name} {'changed the file that it read' if changed else 'changed nothing'}")
    took: list[float] = json.loads(ran.stdout.splitlines()[-1])
    return took
