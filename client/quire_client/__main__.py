"""`quire`: finds the command, parses its options, and turns errors into a message and an exit status.

It uses `getopt`, which costs 1 ms; larger parsers cost 20 to 60 ms.
"""

from __future__ import annotations

import getopt
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from quire_client import commands
from quire_client.cli import stdio
from quire_client.commands import (
    COMMANDS,
    COMMON,
    DONE,
    FAULT,
    INTERRUPTED,
    NO_DAEMON,
    NOT_FOUND,
    REFUSED,
    UNWRITTEN,
    USAGE,
    VERSION_OPTION,
    MissingArgument,
    Option,
    Surplus,
    Usage,
    chosen,
    either,
    end_of,
    kind_of,
    offered,
    point_of,
)
from quire_journal import VERSION

if TYPE_CHECKING:
    from quire_client.commands import Command, Opener

READ_AS: Final = {"POINT": point_of, "KIND": kind_of}
ENDS: Final = ("until", "to")


def main(argv: Sequence[str] | None = None, opener: Opener | None = None) -> int:
    """Run one command line (default: `sys.argv`) and return its exit status. `opener` replaces `open_client`."""
    stdio.settle()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _done(words, opener)
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            stdio.silence()
        return status
    except stdio.OutputFailure as reason:
        stdio.silence()
        sentence = f"The output could not be written: {reason}. The output is incomplete; the command's changes stay."
        _fail(UNWRITTEN, "not_written", sentence, json=False)
        return DONE if "hook" in words[:1] else UNWRITTEN


def _done(words: list[str], opener: Opener | None) -> int:
    json = (
        "--json" in words[: words.index("--") if "--" in words else len(words)]
    )  # also for errors before the options are parsed
    try:
        return _dispatch(words, opener)
    except stdio.OutputFailure:
        raise
    except Usage as wrong:
        return _hook_goes_on(wrong) if "hook" in words[:1] else _fail(USAGE, "usage", str(wrong), json)
    except (OverflowError, UnicodeEncodeError) as error:
        what = "a number of more than 64 bits" if isinstance(error, OverflowError) else "text that is not UTF-8"
        return _fail(USAGE, "usage", f"The arguments hold {what}, which no message can carry.", json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # from a command whose output is endless
        stdio.silence()
        return DONE
    except Exception as error:  # noqa: BLE001  (the last fence before a person)
        return _explain(error, json)


def _dispatch(words: list[str], opener: Opener | None) -> int:
    before, rest = _read(words, (*COMMON, VERSION_OPTION))
    if "version" in before:
        print(f"quire {VERSION}")
        return DONE
    opener = opener or commands.open_client  # only now: the version needs no command
    if not rest or rest[0] == "help":
        options, arguments = _read(rest[1:], COMMON, "help")
        if len(arguments) > 1 and _load(arguments[0]).explain is None:
            raise Usage(f"Unexpected argument {arguments[1]!r}. `quire help COMMAND` explains one command.")
        return _help({**before, **options}, arguments, opener)
    name, command = rest[0], _load(rest[0])
    options, arguments = _read(rest[1:], (*COMMON, *command.options), name, command.passes_on)
    options = {**before, **options}
    if "help" in options:
        return _help(options, [name, *arguments], opener)
    try:
        return command.run(commands.Invocation(arguments, options, os.environ, opener, name))
    except MissingArgument as what:
        first = command.words and command.arguments.startswith(str(what))
        among = f", where {what} is {either(command.words)}" if first else ""
        raise Usage(f"{what} is missing: `quire {name} {command.arguments}`{among}.") from None
    except Surplus as what:
        glob = "; a glob wants quotes" if "quoted glob" in command.about.replace("\n", " ") else ""
        usage = f"quire {name} {command.arguments}".rstrip()
        raise Usage(f"Unexpected argument {str(what)!r}. Usage: `{usage}`{glob}.") from None


def _help(options: dict[str, str], words: list[str], opener: Opener) -> int:
    from quire_client.commands import help

    call = commands.Invocation(words[1:], options, os.environ, opener)
    command = _load(words[0]) if words else None
    if command is None:
        return call.answer(help.table(), lambda _: help.overview(call.colours, help.columns()))
    if command.explain is not None and call.arguments:
        return command.explain(call)
    told = help.told(words[0], command)
    return call.answer(told, lambda _: help.of_command(words[0], command, call.colours, help.columns()))


def _load(name: str) -> Command:
    if name not in COMMANDS:
        from quire_client.calls import Edits, Queries
        from quire_journal.model import did_you_mean

        tools = {tool for tool in (*vars(Queries), *vars(Edits)) if not tool.startswith("_")}
        if name in tools:
            raise Usage(f"{name} is a tool: `quire call {name} JSON` calls it, `quire call {name} --help` explains it.")
        if name in _COMMANDS_OF_GIT:
            raise Usage(f"There is no `quire {name}`: {_COMMANDS_OF_GIT[name]}")
        known = (*COMMANDS, *tools)
        raise Usage(f"There is no command {name!r}; `quire help` lists them.{did_you_mean(name, known)}")
    return offered(name)


def _read(
    words: list[str], known: Sequence[Option], command: str = "", passes_on: bool = False
) -> tuple[dict[str, str], list[str]]:
    words = _counted(words, known)
    short = "".join(option.short + (":" if option.value else "") for option in known if option.short)
    long = [name + ("=" if option.value else "") for option in known for name in (option.name, *option.also)]
    try:
        found, rest = (getopt.gnu_getopt if command and not passes_on else getopt.getopt)(words, short, long)
    except getopt.GetoptError as error:
        raise Usage(_what_is_wrong(error, words, known, command)) from error
    names = {f"-{option.short}": option.name for option in known if option.short}
    names |= {f"--{name}": option.name for option in known for name in option.also}
    options: dict[str, str] = {}
    several = {option.name for option in known if option.several}
    for key, value in found:
        name = names.get(key, key.lstrip("-"))
        if options.get(name, value) != value and name not in several:
            raise Usage(f"--{name} is given twice, once as {options[name][:80]!r} and once as {value[:80]!r}.")
        options[name] = f"{options[name]},{value}" if name in several and name in options else value
    for option in known:
        # An unset shell variable would silently mean the default. Texts may be empty, and the caller may have no name.
        if options.get(option.name) == "" and option.value not in ("", "TEXT") and option not in COMMON:
            raise Usage(_wants(option))
        if option.choices and option.name in options:
            chosen(f"--{option.name}", options[option.name], option.choices)
        if option.value in READ_AS and option.name in options:
            read = end_of if option.name in ENDS else READ_AS[option.value]
            options[option.name] = read(options[option.name])
    return options, rest


def _counted(words: list[str], known: Sequence[Option]) -> list[str]:
    if not any(option.short == "n" and option.value == "N" for option in known):
        return words
    end = words.index("--") if "--" in words else len(words)
    return [f"-n{word[1:]}" if word[1:].isdigit() and word[0] == "-" else word for word in words[:end]] + words[end:]


_BACK: Final = "`quire restore PATH@POINT` brings a file back, `quire rollback POINT` all that came since."
_OF_ITSELF: Final = "each save is recorded by itself; `quire checkpoint create NAME` names this moment."
_COMMANDS_OF_GIT: Final = {
    "add": _OF_ITSELF,
    "annotate": "`quire blame PATH` tells who wrote each line.",
    "branch": "Quire has no branches; git has, and Quire records what it does.",
    "checkout": _BACK,
    "clean": "Quire removes nothing that it does not hold; `quire undo` takes back what somebody made.",
    "commit": _OF_ITSELF,
    **dict.fromkeys(
        ("find", "grep", "search"),
        "`quire log --contains TEXT` finds versions, `quire log -S TEXT` the changes of a text.",
    ),
    "history": "`quire log` tells what happened.",
    "ls-files": "`quire ls` lists the files.",
    "reflog": "`quire log` tells what happened, git's operations among it.",
    "reset": _BACK,
    "revert": "`quire undo VERSION` takes a version back, and keeps what others did.",
    "rm": "the shell's rm removes a file, which is recorded; `quire restore PATH@POINT` brings it back.",
    "save": _OF_ITSELF,
    "stash": "`quire checkpoint create NAME` names this moment, `quire rollback NAME` goes back to it.",
    "switch": _BACK,
    "tag": "`quire checkpoint create NAME` names this moment.",
}
_NO_INDEX: Final = (
    "Quire knows no index: `git diff --cached` shows what is staged, `quire diff` what differs from HEAD."
)
_AT: Final = {
    "log": "`quire log --until POINT` lists what was before it, `quire ls --at POINT` what there was.",
    "diff": "`quire diff POINT PATH` shows what changed since a point, `quire diff A..B PATH` between two.",
    "rollback": "`quire rollback POINT` names it without an option.",
    "export-tree": "`quire export-tree POINT DIR` names it without an option.",
}
"""Answers to --at by commands that name a point in another way."""

_OF_GIT: Final = {
    "source": "--at POINT says as of when: `quire restore PATH --at POINT`.",
    "staged": _NO_INDEX,
    "cached": _NO_INDEX,
    "author": "Who wrote is --writer here: an agent's name, user, me, w3 or outside.",
    "grep": "Prompts and messages are not searched; `-S TEXT` finds the changes of a text, --contains versions.",
    "follow": "Files are followed through renames without --follow.",
    **dict.fromkeys(("color", "no-color"), "A terminal gets colours: NO_COLOR=1 is without, CLICOLOR_FORCE=1 with."),
    **dict.fromkeys(
        ("numstat", "shortstat", "dirstat", "summary", "compact-summary"), "--stat counts lines, --json too."
    ),
    **dict.fromkeys(("b", "ignore-space-change", "ignore-blank-lines"), "-w takes white space for nothing."),
    **dict.fromkeys(("decorate", "first-parent", "no-merges", "merges"), "The log is no list of commits."),
    "reverse": "`quire log --oldest` lists records, oldest first.",
    "hard": "`quire rollback POINT` goes back to a point and keeps what others did; it has no --hard.",
}


def _wants(option: Option) -> str:
    return f"--{option.name} wants {option.value}: {option.meaning}."


def _what_is_wrong(error: getopt.GetoptError, words: Sequence[str], known: Sequence[Option], command: str) -> str:
    if "not recognized" not in error.msg:
        meant = next(
            (option for option in known if error.opt and error.opt in (option.name, option.short, *option.also)), None
        )
        if meant is not None and meant.value:
            cut = [
                word
                for word in words
                if len(word) > 2 and word != f"--{error.opt}" and f"--{error.opt}".startswith(word)
            ]
            if cut and f"--{error.opt}" not in words:  # an abbreviation, perhaps of another command's option
                return f"There is no option {cut[0]} here; --{meant.name}, which begins so, wants {meant.value}."
            return _wants(meant)
        if meant is None:  # own message: that of getopt depends on the version of Python
            long = [name for option in known for name in (option.name, *option.also)]
            *others, last = sorted(f"--{name}" for name in long if name.startswith(error.opt))
            return f"--{error.opt} may be {', '.join(others)} or {last}."
        return f"{error.msg[:1].upper()}{error.msg[1:]}."
    if error.opt == "at" and command in _AT:
        return _AT[command]
    if error.opt in _OF_GIT:
        return _OF_GIT[error.opt]
    if error.opt == "dry-run" and any(option.name == "plan" for option in known):
        return f"`quire {command} --plan` only tells what would be done."
    if error.opt in ("path", "paths") and command and "PATH" in (arguments := offered(command).arguments):
        return f"A path stands without an option here: `quire {command} {arguments}`."
    from quire_journal.model import did_you_mean

    given = f"--{error.opt}" if len(error.opt) > 1 else f"-{error.opt}"
    names = [f"--{option.name}" for option in known]
    own = sorted(f"--{option.name}" for option in known if option not in COMMON) if command else sorted(names)
    whose, also = (f"`quire {command}`", ", beside those of every command") if command else ("`quire`", "")
    listed = f" It has {', '.join(own)}{also}." if own else ""
    return f"{whose} has no option {given}.{did_you_mean(given, names)}{listed}"


def _explain(error: Exception, json: bool) -> int:
    from quire_client.transport import NoDaemon
    from quire_journal.workspaces import NoFolder, WorkspaceRefused

    if isinstance(error, NoFolder):
        return _fail(NOT_FOUND, "not_found", str(error), json)
    if isinstance(error, WorkspaceRefused):
        return _fail(REFUSED, "workspace_refused", str(error), json)
    if isinstance(error, NoDaemon):
        return _fail(NO_DAEMON, "no_daemon", str(error), json)
    if os.environ.get("QUIRE_TRACEBACK"):
        raise error
    sentence = f"Something unexpected happened: {type(error).__name__}: {error}. QUIRE_TRACEBACK=1 shows where."
    return _fail(FAULT, "fault", sentence, json)


def _hook_goes_on(wrong: Usage) -> int:
    _fail(USAGE, "usage", str(wrong), json=False)
    print("{}")
    return DONE


def _fail(status: int, code: str, sentence: str, json: bool) -> int:
    from quire_client.cli import render

    if json:
        print(render.as_json({"ok": False, "error": code, "message": sentence}))
    else:
        print(f"quire: {render.clean_text(sentence)}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
