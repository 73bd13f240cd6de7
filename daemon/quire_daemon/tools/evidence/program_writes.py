"""Files that a program writes, by its name and arguments; one function for each kind of program. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Final

from quire_daemon.tools.evidence.effects import Append, Overwrite, ScriptEdit, of_sed
from quire_daemon.tools.evidence.programs import (
    CHANGES,
    DOES,
    FORMATS,
    INTERPRETERS,
    LANGUAGES,
    LAST,
    OPERANDS,
    OUTPUT,
    QUIET,
    READERS,
    RUNNERS,
    SHELLS,
    UNPACKERS,
    WRAPPERS,
    WRITES,
    CallForm,
)
from quire_daemon.tools.evidence.shell_commands import LISTED, OF_NAMES, Invocation, invocations, joined
from quire_daemon.tools.evidence.shell_lexer import OPEN
from quire_daemon.tools.evidence.targets import Layout, Write
from quire_daemon.tools.evidence.trace import EDITORS

_LISTERS: Final = frozenset({"ack", "ag", "egrep", "fd", "fdfind", "fgrep", "find", "git", "grep", "ls", "rg", "tree"})

_SEARCHERS: Final = frozenset({"ack", "ag", "egrep", "fd", "fdfind", "fgrep", "grep", "rg"})

_NAME_OPTIONS: Final = frozenset({"-g", "--glob", "--include", "-iname", "-name"})

_SEARCH_VALUES: Final = frozenset(
    {
        "-A",
        "-B",
        "-C",
        "-e",
        "-f",
        "-g",
        "-m",
        "-t",
        "-T",
        "--glob",
        "--include",
        "--exclude",
        "--exclude-dir",
        "--type",
    }
)

_SCRIPT_EDITORS: Final[dict[str, tuple[re.Pattern[str], frozenset[str]]]] = {
    "awk": (re.compile(r"-i$|--include=inplace"), frozenset({"-v", "-F", "-f", "-i"})),
    "gawk": (re.compile(r"-i$|--include=inplace"), frozenset({"-v", "-F", "-f", "-i"})),
    "gsed": (re.compile(r"-[nErsz]*i|--in-place"), frozenset({"-e", "-f"})),
    "perl": (re.compile(r"-[0planweE]*i"), frozenset({"-e", "-E"})),
    "ruby": (re.compile(r"-[0plane]*i"), frozenset({"-e"})),
    "sd": (re.compile(r"(?!-p)"), frozenset({"-n", "-f"})),
    "sed": (re.compile(r"-[nErsz]*i|--in-place"), frozenset({"-e", "-f"})),
    "yq": (re.compile(r"-[a-zA-Z]*i|--inplace"), frozenset({"-o", "-p", "-I"})),
}
"""Stream editors: program → (its option to edit in place, its options with values). Files follow the script."""

_SED_OPEN: Final = frozenset({"--quiet", "--silent", "--null-data"})
"""Options with which `sed` does not work line by line, or does not write each line."""

_OUTPUT: Final = re.compile(r"(-o|--?(?:out|output|out-?file|output-?file|dest|destination))(?:$|=(.+))|-o(.+)")

_TEXT_NAMES: Final = re.compile(
    r"^(?:\+\+\+ (?:b/)?|--- (?:a/)?|\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |rename (?:from|to) )"
    r"([^\t\n]+)",
    re.MULTILINE,
)

_LITERAL: Final = re.compile(r"'''|\"\"\"|`([^`\n]{1,300})`|\"((?:[^\"\\\n]|\\.){1,300})\"|'((?:[^'\\\n]|\\.){1,300})'")

_PATHLIKE: Final = re.compile(r"[\w.@~*?{}\[\]-]*[/.][\w./@~*?{}\[\]+-]*|[\w-]{2,}")

_VERSION: Final = re.compile(r"(?<=[a-z])-?\d+(?:\.\d+)*$")

_GLOB: Final = frozenset("*?[")

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")

MOST_INNER: Final = 4
"""Maximum depth of programs that run other programs."""


def called_programs(command: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (name, words) of each program that a command line runs, without wrappers such as `env`."""
    for run in invocations(command, listing):
        argv = _unwrapped(run.argv)
        if argv:
            yield _name(argv), tuple(argv)


def started_programs(run: Invocation, depth: int = 0) -> Iterator[Invocation]:
    """Yield the program without wrappers such as `env`, and the programs that shells, `xargs` and `find -exec`
    start.
    """
    argv = _unwrapped(run.argv)
    name = _name(argv)
    if not argv or depth > MOST_INNER:
        return
    yield run._replace(argv=(name, *argv[1:]))
    inner: Sequence[Invocation] = ()
    if name in SHELLS:
        inner = [one for text in _texts(run, argv) for one in invocations(text, listing, run.folder, depth + 1)]
    elif name in ("xargs", "parallel"):
        inner = [_of_xargs(run, argv)]
    elif name in ("find", "fd", "fdfind"):
        inner = _of_find(run, name, argv)
    for one in inner:
        yield from started_programs(one, depth + 1)


# ── listings ──


def listing(run: Invocation) -> list[str]:
    """Return the paths, as words, that a program prints for another; [] if its output is no list of paths. A word may
    stand for a folder and a name pattern (`find`).
    """
    argv = _unwrapped(run.argv)
    name = _name(argv)
    if name in ("echo", "printf"):
        return [joined(run.folder, word) for word in argv[1:] if _is_pathlike(word)]
    if name not in _LISTERS or (name == "git" and argv[1:2] not in (("ls-files",), ("diff",), ("grep",))):
        return []
    globs, folders = _globs_and_folders(name, argv)
    found = [LISTED + joined(run.folder, folder) for folder in folders or (".",)]
    return [f"{one}{OF_NAMES}{glob}" if glob else one for one in found for glob in globs or ("",)]


def _globs_and_folders(name: str, argv: Sequence[str]) -> tuple[list[str], list[str]]:
    globs = [value for option, value in _options(argv) if option in _NAME_OPTIONS and value]
    if name == "find":
        return globs, [*takewhile(lambda word: not word.startswith(("-", "(", "!")), argv[1:])]
    plain = _operands(argv, _SEARCH_VALUES if name in _SEARCHERS else ())
    if name in ("fd", "fdfind"):
        return globs + [f"*.{value}" for option, value in _options(argv) if option in ("-e", "--extension")], plain[1:]
    if name in _SEARCHERS and not {"-e", "-f", "--files"} & {*argv}:
        plain = plain[1:]  # the first operand is the pattern
    if name == "git":
        globs += [word for word in plain[1:] if "*" in word]
        plain = [word for word in plain[1:] if "*" not in word]
    return globs, plain


def _options(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word, following in zip_longest(argv[1:], argv[2:], fillvalue=""):
        option, equals, value = word.partition("=")
        if option.startswith("-"):
            yield option, value if equals else following


# ── programs ──


def writes(run: Invocation, depth: int = 0) -> Iterator[Write]:
    """Yield the possible writes of a program, including those of programs that it starts."""
    for word in run.writes:
        yield _named(run, word)._replace(layout="never", effect=Overwrite())
    for word in run.appends:
        yield _named(run, word)._replace(layout="never", effect=Append())
    argv = _unwrapped(run.argv)
    name = _name(argv)
    if not argv or depth > MOST_INNER or name in QUIET:
        if name == "git":
            yield from _git(run, argv)
    elif name in SHELLS:
        yield from _shell(run, argv, depth)
    elif name in ("xargs", "parallel"):
        yield from writes(_of_xargs(run, argv), depth + 1)
    elif name in ("find", "fd", "fdfind"):
        yield from _find(run, name, argv, depth)
    elif name in _SCRIPT_EDITORS and any(_SCRIPT_EDITORS[name][0].match(word) for word in argv[1:]):
        effect = _sed(argv) if name in ("sed", "gsed") else None
        yield from (_named(run, word)._replace(effect=effect) for word in _behind_script(name, argv))
    elif name in INTERPRETERS:
        yield from _interpreted(run, name, argv, depth)
    elif name in CHANGES or name in RUNNERS or f"{name} {_first(argv)}" in RUNNERS:
        yield from _known(run, name, argv)
    elif name in UNPACKERS or name in ("curl", "wget", "apply_patch", "applypatch"):
        yield from _unpacked(run, name, argv)
    elif name in OPERANDS:
        goes_behind = Append() if name == "tee" and not {"-a", "--append"}.isdisjoint(argv) else None
        yield from (_named(run, word, below=True)._replace(effect=goes_behind) for word in _operands(argv))
    elif name in OUTPUT:
        yield from _outputs(run, argv)
    elif name in LAST:
        yield from _copied(run, argv)
    elif not any(name in known for known in (READERS, _LISTERS, _SCRIPT_EDITORS, EDITORS)):
        yield from _unknown(run, argv[1:])


def _named(run: Invocation, word: str, below: bool = False, files: tuple[str, ...] = ()) -> Write:
    if word.startswith(LISTED):
        return Write(word, True, files)
    return Write(joined(run.folder, word), below, files)


def _unknown(run: Invocation, words: Sequence[str]) -> Iterator[Write]:
    """Yield the possible writes of a program that no table lists: each file that its words name, and everything below
    each named folder except the top of the checkout.
    """
    for word in words:
        option, equals, value = word.partition("=")
        text = value if equals and (option.startswith("-") or _ASSIGNMENT.match(word)) else word
        if not text.startswith("-") and _is_pathlike(text):
            yield _named(run, text, below=text.strip("./") != "")


def _is_pathlike(word: str) -> bool:
    return 0 < len(word) <= 400 and not any(sign in word for sign in " \n\t;|<>")


def _name(argv: Sequence[str]) -> str:
    name = argv[0].rpartition("/")[2] if argv else ""
    return name if name in INTERPRETERS or name in CHANGES else _VERSION.sub("", name)


def _first(argv: Sequence[str]) -> str:
    return next((word for word in argv[1:] if not word.startswith("-")), "")


def _operands(argv: Sequence[str], valued: Iterable[str] = ()) -> list[str]:
    found: list[str] = []
    words, options = iter(argv[1:]), frozenset(valued)
    for word in words:
        if word == "--":
            found += words
        elif word in options:
            next(words, None)
        elif not word.startswith("-") or word == "-":
            found.append(word)
    return found


def _unwrapped(argv: Sequence[str]) -> tuple[str, ...]:
    words = tuple(argv)
    for _ in range(8):
        name = _name(words)
        called = next((f"{name} {' '.join(words[1:n])}".strip() for n in (3, 2, 1) if _is_wrapper(name, words, n)), "")
        if called:
            valued, left = WRAPPERS[called], list(words[called.count(" ") + 1 :])
            while left and (left[0].startswith("-") or _ASSIGNMENT.match(left[0])):
                option = left.pop(0)
                if option == "--":
                    break
                if option in valued and left:
                    left.pop(0)
            if name == "timeout" and left:
                left.pop(0)
            words = tuple(left)
        elif name in ("python", "pypy") and (module := _module(words)):
            words = module
        else:
            break
    return words


def _is_wrapper(name: str, words: Sequence[str], count: int) -> bool:
    return f"{name} {' '.join(words[1:count])}".strip() in WRAPPERS


def _module(words: Sequence[str]) -> tuple[str, ...]:
    for at, word in enumerate(words[1:], 1):
        if word == "-m":
            return tuple(words[at + 1 :])
        if not word.startswith("-") or word == "-c":
            break
    return ()


def _shell(run: Invocation, argv: Sequence[str], depth: int) -> Iterator[Write]:
    for text in _texts(run, argv):
        for inner in invocations(text, listing, run.folder, depth + 1):
            yield from writes(inner, depth + 1)
    if not _text_option(argv):
        yield from _unknown(run, _operands(argv)[1:])


def _texts(run: Invocation, argv: Sequence[str]) -> list[str]:
    """Return the command lines that a shell runs: the value of `-c`, or its input."""
    option = _text_option(argv)
    return list(argv[option + 1 : option + 2]) if option else [] if _operands(argv) else _given(run)


def _text_option(argv: Sequence[str]) -> int:
    return next((at for at, word in enumerate(argv) if re.fullmatch(r"-[a-z]*c", word)), 0)


def _given(run: Invocation) -> list[str]:
    if run.inputs or not run.upstream:
        return list(run.inputs)
    before = run.upstream[-1]
    if _name(before.argv) in ("echo", "printf"):
        return [" ".join(before.argv[1:])]
    return list(before.inputs) if _name(before.argv) == "cat" else []


def _of_xargs(run: Invocation, argv: Sequence[str]) -> Invocation:
    words = list(argv[1:])
    placeholder = ""
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-I", "-i", "--replace") and words:
            placeholder = words.pop(0)
        elif option in ("-n", "-P", "-L", "-d", "-s", "-a", "-E", "-j") and words:
            words.pop(0)
        elif option.startswith("-I"):
            placeholder = option[2:]
    listed = listing(run.upstream[0]) if run.upstream else []
    if placeholder or "{}" in words:
        words = [one for word in words for one in (listed if word == (placeholder or "{}") else [word])]
    else:
        words += listed
    return run._replace(argv=tuple(words), writes=(), upstream=())


def _find(run: Invocation, name: str, argv: Sequence[str], depth: int) -> Iterator[Write]:
    if "-delete" in argv:
        yield from (_named(run, word) for word in listing(run._replace(argv=_looking(name, argv))))
    for inner in _of_find(run, name, argv):
        yield from writes(inner, depth + 1)


def _looking(name: str, argv: Sequence[str]) -> tuple[str, ...]:
    return name, *argv[1 : _exec_option(argv) or None]


def _exec_option(argv: Sequence[str]) -> int:
    return next((n for n, word in enumerate(argv) if word in ("-exec", "-execdir", "-ok", "-x", "-X", "--exec")), 0)


def _of_find(run: Invocation, name: str, argv: Sequence[str]) -> list[Invocation]:
    """Return the program that `find -exec` runs, with the found paths as arguments; [] without `-exec`."""
    at = _exec_option(argv)
    if not at:
        return []
    listed = listing(run._replace(argv=_looking(name, argv)))
    words = [word for word in argv[at + 1 :] if word not in (";", "+", "\\;")]
    inner = [one for word in words for one in (listed if word == "{}" else [word])]
    if "{}" not in words:
        inner += listed
    return [run._replace(argv=tuple(inner), writes=(), upstream=())]


def _behind_script(name: str, argv: Sequence[str]) -> list[str]:
    valued = _SCRIPT_EDITORS[name][1]
    scripted = name != "sd" and any(word in ("-e", "-E", "-f") or re.match(r"-[a-z0-9]*[eE]$", word) for word in argv)
    clustered = {word for word in argv if re.fullmatch(r"-[a-z0-9]*[eE]", word)}
    found = [word for word in _operands(argv, valued | clustered) if word]
    return found[2 if name == "sd" else 0 if scripted else 1 :]


def _sed(argv: Sequence[str]) -> ScriptEdit | None:
    options = [word for word in argv[1:] if re.match(r"-[a-zA-Z]|--[a-z]", word)]
    clusters = "".join(word[1:].partition("i")[0] for word in options if not word.startswith("--"))
    if "n" in clusters or "f" in clusters or "z" in clusters or any(word in _SED_OPEN for word in options):
        return None
    scripts = [
        argv[at + 1]
        for at, word in enumerate(argv[:-1])
        if word == "--expression" or re.fullmatch(r"-[a-zA-Z]*e", word)
    ]
    scripts += [word.partition("=")[2] for word in options if word.startswith("--expression=")]
    if any(OPEN in word for word in argv):
        return None
    extended = "E" in clusters or "r" in clusters or "--regexp-extended" in options
    return of_sed(scripts or [word for word in _operands(argv) if word][:1], extended)


def _interpreted(run: Invocation, name: str, argv: Sequence[str], depth: int) -> Iterator[Write]:
    del depth
    flags = INTERPRETERS[name]
    texts = [
        argv[at + 1] for at, word in enumerate(argv[:-1]) if word in flags or re.fullmatch(r"-[a-zA-Z]*[ceE]", word)
    ]
    script = [word for word in argv[1:] if not word.startswith("-") and word not in texts]
    if not texts and script and script[0] != "-":
        called = f"{script[0].rpartition('/')[2]} {' '.join(script[1:2])}".strip()
        if any(one.called == called for one in CHANGES.get(called.partition(" ")[0], ())):
            yield from _known(run, called.partition(" ")[0], script)
        yield from _unknown(run, [word for word in argv[1:] if word != script[0]])
        return
    for text in texts or _given(run):
        if WRITES.search(text):
            yield from (_named(run, word, below=word.strip("./*") != "") for word in _literals(text))
    yield from _unknown(run, script)


def _literals(text: str) -> Iterator[str]:
    for found in _LITERAL.finditer(text):
        word = found[1] or found[2] or found[3] or ""
        if _PATHLIKE.fullmatch(word):
            word = re.sub(r"\{[^{}]*\}", OPEN, word)
            yield word if _GLOB.isdisjoint(word) or "/" in word else f"**/{word}"


def _known(run: Invocation, name: str, argv: Sequence[str]) -> Iterator[Write]:
    words = _operands(argv)
    for called in (f"{name} {words[0]}" if words else "", name):
        if called in RUNNERS:
            targets = [word for word in _operands(argv, RUNNERS[called])[called.count(" ") :] if DOES.search(word)]
            language = LANGUAGES.get(name, ())
            yield from (Write(run.folder, True, layout=_layout(word), language=language) for word in targets)
            return
    rows = [row for row in CHANGES.get(name, ()) if _is_called(row, argv, words)]
    for row in rows:
        named = words[row.called.count(" ") :] if row.named else []
        yield from (_named(run, word, True, row.files)._replace(layout=row.layout) for word in named)
        if not named:
            yield Write(run.folder, True, row.files, row.layout)
    if not rows and name in ("yarn", "pnpm", "bun") and words and DOES.search(words[0]):
        yield Write(run.folder, True, layout=_layout(words[0]), language=LANGUAGES[name])
    if rows or not any(row.named or row.needs for row in CHANGES.get(name, ())):
        yield from _outputs(run, argv)


def _layout(word: str) -> Layout:
    return "maybe" if FORMATS.search(word) else "never"


def _outputs(run: Invocation, argv: Sequence[str]) -> Iterator[Write]:
    for at, word in enumerate(argv):
        found = _OUTPUT.fullmatch(word)
        value = (found[2] or found[3] or "".join(argv[at + 1 : at + 2])) if found else ""
        if value and not value.startswith("-"):
            yield _named(run, value)


def _is_called(row: CallForm, argv: Sequence[str], words: Sequence[str]) -> bool:
    parts = row.called.split(" ")[1:]
    options = {word.partition("=")[0] for word in argv} | {*argv}
    return (
        list(words[: len(parts)]) == parts
        and (not row.needs or not options.isdisjoint(row.needs))
        and options.isdisjoint(row.unless)
    )


def _unpacked(run: Invocation, name: str, argv: Sequence[str]) -> Iterator[Write]:
    texts = [one for text in _given(run) for one in _TEXT_NAMES.findall(text)]
    texts += [one for word in argv[1:] if "\n" in word for one in _TEXT_NAMES.findall(word)]
    if texts:
        yield from (_named(run, word) for word in texts)
    elif name in ("curl", "wget"):
        yield from _outputs(run, argv)
        if name == "wget" or "-O" in argv or any(re.fullmatch(r"-[a-zA-Z]*O", word) for word in argv):
            fetched = [re.sub(r"[?#].*", "", word).rstrip("/").rpartition("/")[2] for word in argv[1:] if "://" in word]
            yield from (_named(run, word) for word in fetched if word)
            yield from (
                _named(run, argv[at + 1]) for at, word in enumerate(argv[:-1]) if name == "wget" and word == "-O"
            )
    elif name in ("tar", "bsdtar") and not re.match(r"-?[a-zA-Z]*x|--extract|--get", " ".join(argv[1:2])):
        yield from (_named(run, word) for word in _operands(argv)[:1])
    else:
        into = [argv[at + 1] for at, word in enumerate(argv[:-1]) if word in ("-C", "-d", "--directory", "--exdir")]
        yield from (_named(run, word, below=True) for word in into or ["."])


def _copied(run: Invocation, argv: Sequence[str]) -> Iterator[Write]:
    words = _operands(argv, ("-m", "-o", "-g", "-S", "-e", "--exclude", "--include"))
    at = next((n for n, word in enumerate(argv) if word in ("-t", "--target-directory")), 0)
    if at and at + 1 < len(argv):
        into, others = argv[at + 1], [word for word in words if word != argv[at + 1]]
    elif len(words) > 1:
        into, others = words[-1], words[:-1]
    else:
        return
    yield _named(run, into)
    for other in others:
        listed = other.partition(OF_NAMES)[2] if LISTED in other else other
        last = listed.rstrip("/").rpartition("/")[2]
        whole = LISTED in other or last in ("", ".", "*") or OPEN in last
        yield _named(run, into, True, () if whole else (last, f"{last}/**"))


def _git(run: Invocation, argv: Sequence[str]) -> Iterator[Write]:
    verb = _first(argv)
    if verb in ("mv", "rm", "clean"):
        yield from (_named(run, word, below=True) for word in _operands(argv)[1:])
    elif verb in ("apply", "am"):
        yield from _unpacked(run, "patch", argv)
    elif verb in ("init", "clone", "config", "submodule"):
        yield Write(joined(run.folder, ".gitmodules"))
