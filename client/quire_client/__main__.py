"""`quire`: finds the command, reads its options, and turns what goes wrong into a sentence and an exit status.

`getopt` reads the options: it costs a millisecond where the larger parsers cost twenty to sixty, which an agent
would pay with every call. Only the module of the command that is called is imported.
"""

from __future__ import annotations

import getopt
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from quire_client import render
from quire_client.commands import COMMANDS
from quire_client.commands.base import (
    COMMON,
    DONE,
    FAULT,
    INTERRUPTED,
    NO_DAEMON,
    REFUSED,
    USAGE,
    Command,
    Invocation,
    Opener,
    Option,
    Usage,
    open_client,
)
from quire_journal import VERSION

VERSION_OPTION = Option("version", "", "show the version")


def main(argv: Sequence[str] | None = None, opener: Opener = open_client) -> int:
    """Run one command line (`sys.argv` if none is given) and return its exit status."""
    _accept_every_character()
    words = list(sys.argv[1:] if argv is None else argv)
    json = "--json" in words  # also for what goes wrong before the options are read
    try:
        status = _dispatch(words, opener)
        sys.stdout.flush()
        return status
    except Usage as wrong:
        return _fail(USAGE, "usage", str(wrong), json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough. stdout must not be flushed again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:  # noqa: BLE001  (the last fence before a person)
        return _explain(error, json)


def _dispatch(words: list[str], opener: Opener) -> int:
    before, rest = _read(words, (*COMMON, VERSION_OPTION), anywhere=False)
    if "version" in before:
        print(f"quire {VERSION}")
        return DONE
    if not rest or rest[0] == "help":
        name = rest[1] if len(rest) > 1 else ""
        print(_command_help(name, _load(name)) if name else _help())
        return DONE
    name, command = rest[0], _load(rest[0])
    options, arguments = _read(rest[1:], (*COMMON, *command.options), anywhere=True)
    options = {**before, **options}
    if "help" in options:
        print(_command_help(name, command))
        return DONE
    return command.run(Invocation(arguments, options, os.environ, opener))


def _load(name: str) -> Command:
    """The command called `name`. Raises Usage."""
    if name not in COMMANDS:
        raise Usage(f"There is no command {name!r}; `quire help` lists them.")
    command: Command = import_module(f"quire_client.commands.{name.replace('-', '_')}").COMMAND
    return command


def _read(words: list[str], known: Sequence[Option], *, anywhere: bool) -> tuple[dict[str, str], list[str]]:
    """(options by long name, the other words). Options end at the first other word unless `anywhere`."""
    short = "".join(option.short + (":" if option.value else "") for option in known if option.short)
    long = [option.name + ("=" if option.value else "") for option in known]
    try:
        found, rest = (getopt.gnu_getopt if anywhere else getopt.getopt)(words, short, long)
    except getopt.GetoptError as error:
        raise Usage(f"{error.msg[:1].upper()}{error.msg[1:]}.") from error
    names = {f"-{option.short}": option.name for option in known if option.short}
    return {names.get(key, key.lstrip("-")): value for key, value in found}, rest


def _explain(error: Exception, json: bool) -> int:
    """The sentence and the exit status of what was raised."""
    from quire_journal.places import WorkspaceRefused

    if isinstance(error, WorkspaceRefused):
        return _fail(REFUSED, "workspace_refused", str(error), json)
    start = sys.modules.get("quire_client.start")  # not loaded: then nothing of it was raised
    if start is not None and isinstance(error, start.NoDaemon):
        return _fail(NO_DAEMON, "no_daemon", str(error), json)
    if os.environ.get("QUIRE_TRACEBACK"):
        raise error
    sentence = f"Something unexpected happened: {type(error).__name__}: {error}. QUIRE_TRACEBACK=1 shows where."
    return _fail(FAULT, "fault", sentence, json)


def _fail(status: int, code: str, sentence: str, json: bool) -> int:
    if json:
        print(render.as_json({"ok": False, "error": code, "message": sentence}))
    else:
        print(f"quire: {render.clean_text(sentence)}", file=sys.stderr)
    return status


def _help() -> str:
    lines = [
        "Quire keeps every version of every file of a workspace, who wrote it, and from which base.",
        "",
        "Usage: quire [options] COMMAND [arguments]",
        "",
        *render.columns((f"  {name}", summary) for name, summary in COMMANDS.items()),
        "",
        "`quire help COMMAND` explains one. Options of every command:",
        "",
        *_option_lines((*COMMON, VERSION_OPTION)),
        "",
        "Exit status: 0 done, 1 refused, 2 usage, 3 not found, 4 no daemon or time-out, 5 denied by policy,",
        "6 lease held by another, 7 journal damaged, 70 fault.",
    ]
    return "\n".join(lines)


def _command_help(name: str, command: Command) -> str:
    usage = f"Usage: quire {name} {command.arguments}".rstrip()
    lines = [f"{COMMANDS[name]}.", "", usage + " [options]", "", command.about.strip(), "", "Example:", ""]
    lines += [f"  {line}" for line in command.example.strip().splitlines()]
    lines += ["", "Options:", "", *_option_lines((*command.options, *COMMON))]
    return "\n".join(lines)


def _option_lines(options: Sequence[Option]) -> list[str]:
    def spelled(option: Option) -> str:
        return f"  {f'-{option.short}, ' if option.short else '    '}--{option.name} {option.value}".rstrip()

    return render.columns((spelled(option), option.meaning) for option in options)


def _accept_every_character() -> None:
    """File names and contents may hold what the terminal's encoding lacks; that must not end the output."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
