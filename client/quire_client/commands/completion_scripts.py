"""Completion for shells, written from the tables: what stands after what is known when the script is made.

Only names that live in a journal are asked for while somebody types: of a daemon that runs, and within a fraction of a
second; otherwise there are none. What an option or argument can be follows from how the help calls its value (`KINDS`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from quire_client.cli import render
from quire_client.commands.base import COMMON, VERSION_OPTION, Option
from quire_client.commands.table import COMMANDS, offered

FILES, FOLDERS, AT, RECORDS = "files", "folders", "at", "records"

KINDS: Final = {
    "PATH@POINT": AT,
    "PATH[@POINT]": AT,
    "PATH": FILES,
    "FILE": FILES,
    "DIR": FOLDERS,
    "POINT": "points",
    "CURSOR": "points",
    "NAME": "points",
    "A..B": "points",
    "WHO": "writers",
    "WRITER": "writers",
    "TOOL": "tools",
    "DIALECT": "tools",
    "KIND": RECORDS,
}
"""What completes a value, by what usage lines and the help call it; what is not here is completed by nothing."""

_OWN: Final = {"workspace": FOLDERS, "state-dir": FOLDERS, "agent": "", "session": ""}
"""Common options whose value is called by a wider name."""

_VALUE: Final = re.compile("|".join(re.escape(word) for word in sorted(KINDS, key=len, reverse=True)))


class Slot(NamedTuple):
    """What can stand at one place of a command line."""

    words: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class KnownCommand(NamedTuple):
    """A command as completion sees it."""

    name: str
    summary: str
    options: tuple[Option, ...]  # its own
    first: Slot  # of its arguments
    rest: Slot


def known() -> list[KnownCommand]:
    """All commands, and `help`."""
    table = [KnownCommand("help", "Explain a command", (), Slot(tuple(COMMANDS)), Slot())]
    for name, summary in COMMANDS.items():
        command = offered(name)
        first, _, rest = command.arguments.partition(" ")
        if " | " in command.arguments and not command.words:  # one of two
            first, rest = command.arguments, ""
        words = command.words or _literal(first)
        table.append(KnownCommand(name, summary, command.options, Slot(words, _kinds(first)), Slot((), _kinds(rest))))
    return table


def value(option: Option) -> Slot:
    """What the value of an option can be."""
    if option.choices or option in COMMON:
        return Slot(option.choices, tuple(filter(None, [_OWN.get(option.name)])))
    return Slot(_records() if KINDS.get(option.value) == RECORDS else (), _kinds(option.value))


def _literal(usage: str) -> tuple[str, ...]:
    """The words that a usage line has as they are typed: `install`, `uninstall`, `status`."""
    return tuple(word for word in re.split(r"[\[\]|\s]+", usage) if re.fullmatch("[a-z][a-z-]+", word))


def _kinds(usage: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(KINDS[found] for found in _VALUE.findall(usage) if KINDS[found] != RECORDS))


def _records() -> tuple[str, ...]:
    from quire_journal.model import BY_KIND

    return tuple(sorted(BY_KIND))


# -- bash --------------------------------------------------------------------------------------------------------


def bash() -> str:
    """The script for bash."""
    return _BASH.format(
        values="\n".join(_bash_values()),
        commands=" ".join(["help", *COMMANDS]),
        common=" ".join(_spelled(COMMON)),
        options="\n".join(
            f"        {one.name}) words={_quoted(_spelled(one.options))} ;;" for one in known() if one.options
        ),
        places="\n".join(_bash_places()),
    )


def _bash_values() -> Iterator[str]:
    """A branch for each set of values, of all options that have it; last those which nothing completes."""
    branches: dict[Slot, list[str]] = {}
    for one in known():
        for option in one.options:
            if option.value:
                branches.setdefault(value(option), []).extend(f'"{one.name} {word}"' for word in _spelled((option,)))
    for option in COMMON:
        if option.value:
            branches.setdefault(value(option), []).extend(f'*" {word}"' for word in _spelled((option,)))
    for slot, patterns in branches.items():
        yield f"        {'|'.join(patterns)}) {_bash_slot(slot)} ;;"


def _bash_places() -> Iterator[str]:
    for one in known():
        if one.first != Slot():
            yield f'        "{one.name} 0") {_bash_slot(one.first)} ;;'
        if one.rest != Slot():
            yield f'        "{one.name} "*) {_bash_slot(one.rest)} ;;'


def _bash_slot(slot: Slot) -> str:
    return f"words={_quoted(slot.words)} kinds={_quoted(slot.kinds)}"


_BASH: Final = """\
# Completion of quire for bash, made by `quire completion bash`.

# Does the word that follows belong to this option of this command? Then words and kinds say what it can be.
_quire_takes_value() {{
    case "$1 $2" in
{values}
        *) return 1 ;;
    esac
}}

# Paths, which may have blanks.
_quire_paths() {{
    local path
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$current")
}}

_quire() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= words= kinds= number=0 at word name
    if [[ $current == [=@] ]]; then
        before=$current current=
    fi
    if [[ $before == = ]]; then
        before=${{COMP_WORDS[COMP_CWORD-2]}}
        [[ $before == -* ]] || before=${{COMP_WORDS[COMP_CWORD-1]}}
    fi
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${{COMP_WORDS[at]}}
        if _quire_takes_value "$command" "$word"; then
            ((at++))
        elif [[ $word != -* ]]; then
            if [[ -z $command ]]; then command=$word; else ((number++)); fi
        fi
    done
    words= kinds=
    COMPREPLY=()
    if [[ $before == @ ]]; then
        kinds=points
    elif _quire_takes_value "$command" "$before"; then
        :
    elif [[ $current == -* ]]; then
        case $command in
        "") words="--version" ;;
{options}
        esac
        words+=" {common}"
    elif [[ -z $command ]]; then
        words="{commands}"
    else
        case "$command $number" in
{places}
        esac
    fi
    for name in $kinds; do
        case $name in
            files|at) _quire_paths -f ;;
            folders) _quire_paths -d ;;
            *) words+=" $(quire completion names "$name" 2>/dev/null)" ;;
        esac
    done
    [[ -n $words ]] && COMPREPLY+=($(compgen -W "$words" -- "$current"))
}}

complete -F _quire quire
"""


# -- zsh ---------------------------------------------------------------------------------------------------------


def zsh() -> str:
    """The script for zsh."""
    return _ZSH.format(
        common="\n".join(_zsh_options(COMMON)),
        version="\n".join(_zsh_options([VERSION_OPTION])),
        commands="\n".join(f"        {_quoted_one(f'{one.name}:{one.summary}')}" for one in known()),
        cases="\n".join(line for one in known() for line in _zsh_case(one)),
    )


def _zsh_case(one: KnownCommand) -> Iterator[str]:
    yield f"            {one.name})"
    yield "                _arguments -S -s $common \\"
    yield from (f"{line} \\" for line in _zsh_options(one.options))
    for slot, position in ((one.first, "1"), (one.rest, "*")):
        if slot != Slot():
            yield f"                    {_quoted_one(f'{position}: :{_zsh_action(slot)}')} \\"
    yield "                    && return"
    yield "                ;;"


def _zsh_options(options: Sequence[Option]) -> Iterator[str]:
    for option in options:
        spelled = _spelled((option,))
        meaning = re.sub(r"([\[\]:\\])", r"\\\1", option.meaning)
        taken = f":{option.value.replace(':', chr(92) + ':')}:{_zsh_action(value(option))}" if option.value else ""
        for word in spelled:
            sign = "=" if option.value and word.startswith("--") else ""
            yield f"                    {_quoted_one(f'({chr(32).join(spelled)}){word}{sign}[{meaning}]{taken}')}"


def _zsh_action(slot: Slot) -> str:
    """What `_arguments` is to do there."""
    if slot.words and not slot.kinds:
        return f"({' '.join(slot.words)})"
    if not slot.words and not slot.kinds:
        return " "
    return f"{{_quire_place {_quoted_one(' '.join(slot.words))} {' '.join(slot.kinds)}}}"


_ZSH: Final = """\
#compdef quire
# Completion of quire for zsh, made by `quire completion zsh`.

# Words, and kinds of names.
_quire_place() {{
    local kind
    local -a names
    [[ -n $1 ]] && compadd -- ${{=1}}
    shift
    for kind; do
        case $kind in
            files) _files ;;
            folders) _files -/ ;;
            at)
                if compset -P '*@'; then
                    _quire_place '' points
                else
                    _files
                fi
                ;;
            *)
                names=(${{(f)"$(_call_program names quire completion names $kind 2>/dev/null)"}})
                compadd -a names
                ;;
        esac
    done
}}

_quire() {{
    local curcontext=$curcontext state line
    local -a commands common
    commands=(
{commands}
    )
    common=(
{common}
    )
    _arguments -C $common \\
{version} \\
                    '1: :->command' '*:: :->arguments' && return
    case $state in
    command) _describe command commands ;;
    arguments)
        curcontext=${{curcontext%:*:*}}:quire-$words[1]:
        case $words[1] in
{cases}
        esac
        ;;
    esac
}}

if [[ $funcstack[1] == _quire ]]; then
    _quire "$@"
else
    compdef _quire quire
fi
"""


# -- fish --------------------------------------------------------------------------------------------------------


def fish() -> str:
    """The script for fish."""
    lines = [_FISH.format(common=" ".join(_spelled(option for option in COMMON if option.value)))]
    lines += (_fish(None, option) for option in (*COMMON, VERSION_OPTION))
    for one in known():
        lines.append(f"complete -c quire -n 'not __quire_command' -a {one.name} -d {_fish_quoted(one.summary)}")
        lines += (_fish(one.name, option) for option in one.options)
        here = f"complete -c quire -n '__quire_command {one.name}"
        for slot, which in ((one.first, "; and __quire_first"), (one.rest, "; and not __quire_first")):
            if slot.words:
                lines.append(f"{here}{which}' -a {_fish_quoted(' '.join(slot.words))}")
            lines += (f"{here}{which}' {_fish_kind(kind)}" for kind in slot.kinds)
    return "\n".join(lines) + "\n"


def _fish(command: str | None, option: Option) -> str:
    """The line for an option."""
    where = f"-n '__quire_command {command}' " if command else ""
    spelled = f"-l {option.name}" + (f" -s {option.short}" if option.short else "")
    taken = ""
    if option.value:
        slot = value(option)
        words = f" -a {_fish_quoted(' '.join(slot.words))}" if slot.words else ""
        kinds = "".join(f" {_fish_kind(kind)}" for kind in slot.kinds)
        taken = f" -r{words}{kinds}" if "-F" in kinds else f" -x{words}{kinds}"
    return f"complete -c quire {where}{spelled}{taken} -d {_fish_quoted(option.meaning)}"


def _fish_kind(kind: str) -> str:
    if kind == FILES:
        return "-F"
    return f"-a '(__quire_names {kind})'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_FISH: Final = """\
# Completion of quire for fish, made by `quire completion fish`.

# The words before the cursor that are neither options nor their values (of common options).
function __quire_words
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word {common}
            set skip 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

# Is there a command, and if one is named, is it that one?
function __quire_command
    set -l words (__quire_words)
    set -q words[1]; or return 1
    set -q argv[1]; or return 0
    test $words[1] = $argv[1]
end

# Does its first argument come?
function __quire_first
    test (count (__quire_words)) -lt 2
end

function __quire_names
    set -l word (commandline -ct)
    switch $argv[1]
        case folders
            __fish_complete_directories $word
        case at
            if set -l path (string match -r '^.*@' -- $word)
                printf '%s\\n' $path(quire completion names points 2>/dev/null)
            else
                __fish_complete_path $word
            end
        case '*'
            quire completion names $argv[1] 2>/dev/null
    end
end

complete -c quire -f"""


# -- all ---------------------------------------------------------------------------------------------------------

SHELLS: Final = {"bash": bash, "zsh": zsh, "fish": fish}
"""The scripts, by shell."""


def _spelled(options: Iterable[Option]) -> list[str]:
    return [word for one in options for word in (*([f"-{one.short}"] if one.short else []), f"--{one.name}")]


def _quoted(words: Iterable[str]) -> str:
    return f'"{" ".join(words)}"'


def _quoted_one(text: str) -> str:
    return shlex.quote(render.one_line(text, 1000))
