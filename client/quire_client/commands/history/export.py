"""`quire export`: writes the history in an exchange format."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from quire_client.cli import Output, OutputFailure, Progress, render
from quire_client.commands import DONE, Command, Invocation, Option, Usage, chosen, git_commit, stretch, work_in
from quire_journal.export import FORMATS

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.export import Table

TRACE: Final = "agent-trace"
"""Format that exists both for the whole history and for a commit."""

MADE: Final = {name: made.about for name, made in FORMATS.items()} | {
    TRACE: "Agent Trace records, one a line: which lines who wrote; with a COMMIT or A..B one record of it",
    "parquet": "a table of the events; needs pyarrow (the extra parquet)",
    "schema": "the JSON Schema of the lines of jsonl and events",
    "git-ai": "git-ai's note for a COMMIT: `quire export git-ai HEAD | git notes --ref=ai add -F - HEAD`",
    "in-toto": "an in-toto statement about a COMMIT or A..B: whose lines, how known, and what is not proven",
}
"""Format → description. This module makes the last four, and the Agent Trace record of a commit; the daemon makes the
others.
"""

OF_COMMITS: Final = ("git-ai", "in-toto")

TIMEOUT_S: Final = 120.0


def run(call: Invocation) -> int:
    if call.arguments[:1] == [TRACE] and len(call.arguments) > 1:
        return _of_commit(call)
    if call.arguments and call.arguments[0] in OF_COMMITS:
        return _of_commit(call)
    format = call.one_argument("FORMAT")
    if chosen("FORMAT", format, (*MADE,)) == "schema":
        return _schema()
    table_of = _parquet() if format == "parquet" else None
    call.options = {"timeout": str(TIMEOUT_S), **call.options}
    asked = {"start": call.options.get("since"), "end": call.options.get("until"), "by": call.options.get("by")}
    private = "with-prompts" in call.options or None
    out = call.options.get("out", "")
    if call.json and not out:
        raise Usage("--json tells about a file; it goes with --out.")

    def written(client: Client, bar: Progress, output: _Output) -> Mapping[str, Any]:
        table = None if table_of is None else table_of(output.file)
        write = output.file.write if table is None else table.take
        reply = client.export("events" if table else format, write, told=bar.update, with_prompts=private, **asked)
        if table is not None:
            table.close()
        if reply.get("ok"):
            output.keep()
        return reply

    with call.connect() as client, Progress("Exporting", call.person_watches) as bar:
        try:
            with _Output(out) as output:
                reply = written(client, bar, output)
        except OutputFailure as reason:
            if not out:
                raise
            sentence = f"{out} could not be written: {reason}; nothing is left of it."
            reply = {"ok": False, "error": "not_written", "message": sentence}
    if not reply.get("ok"):
        return call.answer(reply, lambda reply: "")
    if not out:
        return DONE
    told = {"ok": True, "message": f"{out} has {render.counted(reply['of'], 'record')}.", "file": os.path.abspath(out)}
    told["sizeBytes"] = os.stat(out).st_size
    return call.answer(told, lambda told: f"{told['message'][:-1]} ({render.size(told['sizeBytes'])}).")


def _of_commit(call: Invocation) -> int:
    from quire_client.export import CommitAuthor, agent_trace_record, git_ai_note, in_toto_statement

    call.at_most(2)
    if unfit := [f"--{name}" for name in ("since", "until", "by", "out", "with-prompts") if name in call.options]:
        raise Usage(f"{unfit[0]} is about the whole history; {call.arguments[0]} is about one commit.")
    name = call.arguments[1] if len(call.arguments) > 1 else "HEAD"
    commit = git_commit(name, call.place.root, call.environ)
    if commit is None:
        raise Usage(f"git knows no commit {name!r} here.")
    with call.connect() as client:
        work = work_in(commit, client)
        status = client.status()
    if not work["ok"]:
        return call.answer(work, str)
    author = CommitAuthor(commit.id, commit.author, commit.email, commit.at)
    if call.arguments[0] == "git-ai":
        call.put(git_ai_note(author, work["files"]))
    else:
        head = {"epoch": status["epoch"], "seq": status["seq"]}
        made = agent_trace_record if call.arguments[0] == TRACE else in_toto_statement
        call.put(made(author, work["files"], head))
    return DONE


class _Output:
    def __init__(self, out: str) -> None:
        self._path = Path(out) if out else None
        if self._path is not None and self._path.is_file():
            self._path = self._path.resolve()  # a link such as /dev/stdout is not replaced
        self._beside = ""
        self.file: BinaryIO = sys.stdout.buffer

    def __enter__(self) -> _Output:
        if self._path is not None:
            folder = self._path.parent
            if not folder.is_dir():
                raise Usage(f"--out: {folder} is not a folder; make it first.")
            if self._path.is_dir():
                raise Usage(f"--out: {self._path} is a folder; name a file in it.")
            there = self._path.exists() and not self._path.is_file()
            try:
                if there:
                    fd = os.open(self._path, os.O_WRONLY)
                else:
                    fd, self._beside = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=folder)
            except OSError as error:
                where = self._path if there else folder
                raise Usage(f"--out: {where} cannot be written to: {error.strerror}.") from error
            self.file = io.BufferedWriter(Output(fd, "wb"))
        else:
            sys.stdout.flush()
        return self

    def keep(self) -> None:
        """Rename the complete temporary file to the export's name. Raises OutputFailure if the disk fails."""
        self.file.flush()
        if self._beside and self._path is not None:
            try:
                os.fsync(self.file.fileno())
                self.file.close()
                os.replace(self._beside, self._path)
            except OSError as error:
                raise OutputFailure(error.strerror or str(error)) from error
            self._beside = ""

    def __exit__(self, *_: object) -> None:
        if self._beside:
            os.unlink(self._beside)
        if self._path is not None:
            with contextlib.suppress(OutputFailure, BrokenPipeError):
                self.file.close()


def _schema() -> int:
    import json

    from quire_journal.export import schema

    print(json.dumps(schema(), indent=2, ensure_ascii=False))
    return DONE


def _parquet() -> type[Table]:
    try:
        from quire_client.export import Table
    except ImportError as missing:
        from shlex import quote

        install = f"{quote(sys.executable)} -m pip install pyarrow"  # works for every way of installing quire
        raise Usage(f"pyarrow is not installed ({missing}); `{install}` puts it beside quire.") from None
    return Table


COMMAND = Command(
    arguments="FORMAT [COMMIT]",
    about="Writes the history, or a stretch of it, to stdout or into a file. FORMAT is one of\n"
    + "".join(f"  {name:<11}  {about}\n" for name, about in MADE.items())
    + "A commit, mail or trace is made of a batch, a burst, or all between two checkpoints. What was not captured\n"
    "is named in it, and never an empty file.",
    example="quire export git --by burst | git -C ../history fast-import",
    run=run,
    words=(*MADE,),
    options=(
        *stretch("what came after it; without it, everything", "up to it; without it, until now"),
        Option("by", "WHAT", "batch (if not said), burst, or checkpoint", choices=("batch", "burst", "checkpoint")),
        Option("with-prompts", "", "jsonl and events: also what people asked agents for, and agents' command lines"),
        Option("out", "FILE", "write there; the file is whole or not there"),
    ),
)
