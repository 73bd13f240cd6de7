"""`quire import`: creates a journal from an export."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

from quire_client.cli import Progress
from quire_client.commands import Command, Invocation, Usage
from quire_journal.workspaces import Place, checked, place_of

_UNHEARD = "The outcome of the import is unknown"
_ALL_OR_NOTHING = "all of its journal is there, or nothing: `quire log` in that folder shows which."


def run(call: Invocation) -> int:
    name = call.one_argument("FILE")
    if "workspace" not in call.options:
        raise Usage("Name the folder that gets the journal: -C PATH.")
    # Exactly this folder, not a workspace above it.
    place = checked(place_of(call.named, call.state_dir))
    with _opened(name) as file, Progress("Importing", call.person_watches) as bar:
        reply = _imported(place, file, bar)
    if reply.get("ok"):
        call.say(f"Its files are as they were: `quire restore PATH@seq:{reply['seq']}` brings one into the folder.")
    return call.answer(reply, lambda reply: str(reply["message"]))


def _opened(name: str) -> BinaryIO:
    try:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb") if name == "-" else Path(name).open("rb")
    except OSError as error:
        raise Usage(f"{name} cannot be read: {error.strerror}.") from error


def _imported(place: Place, file: BinaryIO, bar: Progress) -> dict[str, Any]:
    folders = ["--workspace", os.fspath(place.root), "--state-dir", os.fspath(place.state)]
    words = [sys.executable, "-m", "quire_daemon.maintenance.import_worker", *folders]
    # `-m` puts the current folder first on the path: no module of a workspace may be found there.
    with subprocess.Popen(words, stdin=file, stdout=subprocess.PIPE, cwd="/") as child:
        assert child.stdout is not None
        try:
            for line in child.stdout:
                told: dict[str, Any] = json.loads(line)
                if "ok" in told:
                    return told
                bar.update(told["done"], told["of"])
        except OSError as error:
            child.kill()
            return {"ok": False, "error": "fault", "message": f"{_UNHEARD} ({error.strerror}); {_ALL_OR_NOTHING}"}
    return {"ok": False, "error": "fault", "message": "The import ended without a reply; see above."}


COMMAND = Command(
    arguments="FILE",
    about="Makes a journal of what `quire export jsonl` wrote (- is stdin): the same records, under the same\n"
    "numbers and hashes, and the bytes of every version. The folder is named by -C and must have no journal with\n"
    "records. Its files are not touched; what they differ in is recorded on top when a daemon starts.",
    example="quire import -C ~/audit/site site.jsonl",
    run=run,
)
