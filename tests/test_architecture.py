"""The picture in docs/architecture.md, kept true: rooms, which way imports run, and who may touch the world.

Read as documentation; each test is one invariant of the architecture. Imports inside functions count (a lazy import
is still a dependency), except for cycles, where only what runs at import time can hurt. An import from a room's face
counts as one of the module that defines the name.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeGuard

import pytest

import faces
from quire_client.cli.wording import step
from quire_journal.model.refusals import CODES

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"quire_journal": ROOT / "journal", "quire_daemon": ROOT / "daemon", "quire_client": ROOT / "client"}

MAY_IMPORT = {
    "quire_journal": set(),
    "quire_daemon": {"quire_journal"},
    "quire_client": {"quire_journal"},
}

ONLY_IN = {
    "cryptography": {"quire_journal.shipment.cipher", "quire_journal.transparency.ed25519"},
    "lmdb": {f"quire_journal.storage.lmdb.{part}" for part in ("environment", "store", "transaction")},
    "textual": {"quire_client.ui.app", "quire_client.ui.pane"},  # slow to load, and in most places not installed
    "tree_sitter": {"quire_daemon.checks.syntax_worker"},
    "watchdog": {"quire_daemon.watch.inotify"},
    "zmq": {"quire_daemon.server.socket", "quire_client.transport.connection"},
}

CLOCK_AND_CHANCE = {"random", "secrets", "time", "uuid"}
DISK = {"fcntl", "mmap", "os", "pathlib", "shutil", "tempfile"}
OTHERS = {"_thread", "asyncio", "multiprocessing", "select", "selectors", "signal", "socket", "subprocess", "threading"}
OTHERS |= {"urllib.request"}  # `urllib.parse` is pure
WORLD = CLOCK_AND_CHANCE | DISK | OTHERS
"""Modules through which code could see the clock, the disk, a socket, another process, or chance."""

EDGES = {"quire_journal.storage", "quire_journal.workspaces", "quire_journal.integrity.lmdb_pages"}
"""The parts of the journal that touch the world: the stores, and where things lie on disk."""

DECISIONS = (
    "quire_daemon.core",
    "quire_daemon.config.globs",
    "quire_daemon.dialects",
    "quire_daemon.manuals",
    "quire_daemon.tools",
    "quire_daemon.checks.safety",
    "quire_daemon.workers.regex.job",
)
"""The parts of the daemon that decide: values in, values out."""


@cache
def modules() -> dict[str, Path]:
    """Every module of the three packages, by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in sorted((folder / package).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where statements hold statements. Expressions are most of a tree, and hold none."""


def statements(node: ast.AST, runs: bool = True) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements below `node`, each with whether it runs at import time: not those in the body of a
    function or below `if TYPE_CHECKING`."""
    for child in (child for block in BLOCKS for child in getattr(node, block, ())):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, runs
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or faces.is_type_checking(child):
            yield from statements(child, runs=False)
        else:
            yield from statements(child, runs)


class Source(NamedTuple):
    """What is asked of a module's text. Its tree is not kept: with all of them in memory, every test after is slow."""

    empty: bool
    documented: bool
    imports: list[tuple[ast.Import | ast.ImportFrom, bool]]  # as `statements` has them
    words: frozenset[str]  # the codes, reasons and next steps of its refusals
    steps: frozenset[str]  # the next steps alone, those within an expression too


@cache
def source(path: Path) -> Source:
    """A module, read once for all tests."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    words, steps = refusals(tree, text)
    return Source(not text.strip(), bool(ast.get_docstring(tree)), list(statements(tree)), words, steps)


@cache
def imports(module: str, at_import_time: bool = False) -> frozenset[str]:
    """The dotted names that `module` imports; `from a import b` names `a.b` where that is a module, else `a`."""
    path = modules()[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    for statement, runs in source(path).imports:
        if at_import_time and not runs:
            continue
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
            continue
        base = statement.module or ""
        if statement.level:
            above = package.split(".")[: len(package.split(".")) - statement.level + 1]
            base = ".".join([*above, base] if base else above)
        for alias in statement.names:
            whole = f"{base}.{alias.name}"
            offered = face_of(base) if base in rooms() and has_face(base) and base != module else {}
            found.add(whole if whole in modules() else offered.get(alias.name, base))
    return frozenset(found)


def within(module: str, parts: tuple[str, ...] | set[str]) -> bool:
    """Is `module` one of `parts`, or below one?"""
    return any(module == part or module.startswith(part + ".") for part in parts)


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_run_from_daemon_and_client_to_the_journal_and_never_otherwise(package: str) -> None:
    """Daemon and client meet only in the journal's vocabulary, so either can be replaced."""
    ours = {m for m in modules() if within(m, {package})}
    crossing = {
        (m, i)
        for m in ours
        for i in imports(m)
        if (top := i.partition(".")[0]) in PACKAGES and top not in {package, *MAY_IMPORT[package]}
    }
    assert not crossing


FLOORS = {
    "quire_journal": (
        ("faces",),
        ("model",),
        ("text",),
        ("storage",),
        ("workspaces", "views"),
        ("history", "maintenance", "transparency"),
        ("journal", "shipment"),
        ("integrity",),
        ("export",),
    ),
    "quire_daemon": (
        ("clock", "manuals"),
        ("config", "heads"),
        ("workers",),
        ("checks", "integrity", "ops"),
        ("core",),
        ("dialects", "workspace"),
        ("commit", "tools"),
        ("watch",),
        ("family", "server"),
        ("maintenance",),
        ("engine",),
        ("startup",),
        ("app",),
        ("__main__",),
    ),
    "quire_client": (
        ("transport", "cli", "export", "isolation", "loopback", "service", "setup", "ship"),
        ("calls", "hooks", "hub", "journals"),
        ("api", "mcp", "page"),
        ("ui",),
        ("commands",),
        ("__main__",),
    ),
}
"""The rooms and flat modules of each package, the lowest floor first. Imports run downwards only."""

MOST_MODULES = 20
"""Modules of a room."""

MOST_FLAT = 3
"""Modules of a package beside its rooms."""


def rooms() -> dict[str, Path]:
    """Every room: a package below one of the three."""
    return {m: path for m, path in modules().items() if path.name == "__init__.py" and m not in PACKAGES}


def room_of(module: str) -> str:
    """The room that a module is in; a face is in its own."""
    return module if modules()[module].name == "__init__.py" else module.rpartition(".")[0]


def in_package(module: str) -> tuple[str, str]:
    """The package of a module, and which of its rooms or flat modules that is."""
    package, _, rest = module.partition(".")
    return package, rest.partition(".")[0]


@cache
def face_of(room: str) -> dict[str, str]:
    """Name → the module that defines it."""
    return faces.offered(ast.parse(rooms()[room].read_text()), room)


def has_face(room: str) -> bool:
    """Does a room offer anything? One whose modules are loaded by a table does not."""
    return "face(" in rooms()[room].read_text()


@pytest.mark.parametrize("package", FLOORS)
def test_imports_run_down_the_floors_of_a_package(package: str) -> None:
    """A room can be read when the rooms below it are known."""
    floors = {name: floor for floor, names in enumerate(FLOORS[package]) for name in names}
    inside = {m for m in modules() if within(m, {package}) and m != package}
    assert {in_package(m)[1] for m in inside} == {*floors}
    assert not {
        (m, i)
        for m in inside
        for i in imports(m)
        if within(i, {package}) and i != package and in_package(m) != in_package(i)
        if floors[in_package(i)[1]] >= floors[in_package(m)[1]]
    }


def test_nobody_imports_past_a_face() -> None:
    """What is not in a room's face can be changed by whoever has read that room."""
    past = set()
    for module, path in modules().items():
        for statement, _ in source(path).imports:
            named = statement.module if isinstance(statement, ast.ImportFrom) else ""
            if not named or named.partition(".")[0] not in PACKAGES or named in PACKAGES:
                continue
            for alias in statement.names:
                whole = f"{named}.{alias.name}"
                target = whole if whole in modules() else named
                if target not in rooms() and room_of(target) in rooms() and room_of(target) != room_of(module):
                    shown = target == whole and face_of(room_of(target)).get(alias.name) == room_of(target)
                    past |= set() if shown else {(module, target)}
    assert not past


def test_a_face_tells_the_type_checker_the_modules_that_it_loads() -> None:
    """By `import *`, or by name where modules of a room have public names in common."""
    for room in filter(has_face, rooms()):
        loaded = {(home, name) for name, home in face_of(room).items()}
        told = faces.told(ast.parse(rooms()[room].read_text()))
        by_name = {(one.module, alias.name) for one in told for alias in one.names if alias.name != "*"}
        whole = {one.module for one in told for alias in one.names if alias.name == "*"}
        assert by_name <= loaded
        assert whole == {home for home, name in loaded - by_name}


def test_a_face_names_the_module_that_defines_a_name() -> None:
    """A second way to it, through a module that only imports it, would have to be kept true."""
    passed_on = set()
    for room in filter(has_face, rooms()):
        for name, home in face_of(room).items():
            if home != room:
                imported = [s for s, _ in source(modules()[home]).imports if isinstance(s, ast.ImportFrom)]
                passed_on |= {
                    (home, name) for s in imported for alias in s.names if (alias.asname or alias.name) == name
                }
    assert not passed_on


def test_everything_that_a_face_offers_is_used_by_another_room() -> None:
    modules_alone = [path for path in modules().values() if path.name != "__init__.py"]
    used = {name for path in modules_alone for name in faces.named(ast.parse(path.read_text()))}
    assert not {f"{room}.{name}" for room in filter(has_face, rooms()) for name in face_of(room)} - used


def test_rooms_are_small_enough_to_be_read() -> None:
    sizes = Counter(room_of(m) for m, path in modules().items() if path.name != "__init__.py")
    assert {
        room: size for room, size in sizes.items() if size > (MOST_FLAT if room in PACKAGES else MOST_MODULES)
    } == {}


def test_a_room_says_in_one_sentence_what_it_is_for() -> None:
    assert not [room for room, path in rooms().items() if not source(path).documented]


def classes() -> list[tuple[str, str, str]]:
    """Every public class: its package, its module, its name."""
    return [
        (m.partition(".")[0], m, node.name)
        for m, path in modules().items()
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def test_no_public_class_name_stands_twice_in_a_package() -> None:
    count = Counter((package, name) for package, _, name in classes())
    assert {one: times for one, times in count.items() if times > 1} == {}


def test_no_class_is_named_by_a_participle() -> None:
    """A class is a thing. Events are in the past tense: their names tell what happened."""
    words = {name for _, module, name in classes() if module != "quire_journal.model.events"}
    assert not {name for name in words if re.fullmatch(r"[A-Z][a-z]+(?:ing|ed)", name)} - {
        "Finding",
        "Purged",
        "Sighting",
    }


def test_no_module_is_named_by_a_preposition_an_adverb_or_a_participle() -> None:
    small = {"above", "ahead", "apart", "aside", "astray", "before", "behind", "beside", "in", "now", "over", "without"}
    nouns = {"phrasing", "wording", "writing"}  # `writing` is the name of a manual, as agents ask for it
    stems = {m.rpartition(".")[2] for m in modules()}
    assert not stems & small
    assert not {stem for stem in stems if stem.endswith("ing")} - nouns


@pytest.mark.parametrize("library", ONLY_IN)
def test_each_library_with_sharp_edges_is_imported_where_its_traps_are_handled_and_nowhere_else(library: str) -> None:
    """A second importer of lmdb, watchdog or zmq would have to know every trap that the first one avoids.

    tree-sitter can crash the process that it runs in, so that one holds nothing else.
    """
    importers = {m for m in modules() if any(i.partition(".")[0] == library for i in imports(m))}
    assert importers == ONLY_IN[library]


def test_the_mcp_sdk_is_loaded_by_its_command_and_by_nothing_else() -> None:
    """It takes a second and brings a web server along; hooks and the other commands have a tenth of one."""
    door = {"quire_client.mcp", "quire_client.loopback", "quire_client.commands.agents.mcp"}
    door |= {"quire_client.page", "quire_client.commands.everyday.page"}
    sdk = {"anyio", "mcp", "mcp_types", "pydantic", "starlette", "uvicorn"}
    assert not {m for m in modules() if not within(m, door) and any(i.partition(".")[0] in sdk for i in imports(m))}
    inside = ("quire_client.mcp",)
    users = {m for m in modules() if not within(m, inside) and any(within(i, inside) for i in imports(m))}
    assert users == {"quire_client.commands.agents.mcp"}
    users = {
        m
        for m in modules()
        if not within(m, {"quire_client.page"}) and any(within(i, ("quire_client.page",)) for i in imports(m))
    }
    assert users == {"quire_client.commands.everyday.page"}


def test_the_journal_is_pure_apart_from_its_adapters() -> None:
    """Events, texts, views and replay can be tested without a disk or a clock because they have none."""
    pure = {m for m in modules() if within(m, {"quire_journal"}) and not within(m, EDGES)}
    assert not {(m, i) for m in pure for i in imports(m) if i.partition(".")[0] in WORLD}


def test_decisions_read_no_clock_no_disk_and_no_socket() -> None:
    """A handler that needs something of the world gets it in its `World`."""
    deciding = {m for m in modules() if within(m, DECISIONS)}
    assert not {(m, i) for m in deciding for i in imports(m) if i.partition(".")[0] in WORLD}


def test_decisions_do_not_import_the_edges_of_the_daemon() -> None:
    """They can be understood, and run, without the loop that performs them."""
    inner = (*DECISIONS, "quire_daemon.config", "quire_daemon.workers.fiber")
    deciding = {m for m in modules() if within(m, DECISIONS)}
    assert not {(m, i) for m in deciding for i in imports(m) if within(i, {"quire_daemon"}) and not within(i, inner)}


def test_nothing_that_the_daemon_runs_imports_the_parser() -> None:
    """It is a program of its own: what crashes it must not take the journal's keeper along."""
    assert not {m for m in modules() if "quire_daemon.checks.syntax_worker" in imports(m)}


def test_no_import_cycles() -> None:
    """A cycle means that two modules are one module, or that a third is missing."""
    graph = {m: {i for i in imports(m, at_import_time=True) if i in modules() and i != m} for m in modules()}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " → ".join([*above[above.index(module) :], module])
        if module not in done:
            for imported in sorted(graph[module]):
                visit(imported, (*above, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_every_module_and_package_says_what_it_is() -> None:
    """The first line of a module answers "what is in here"; only empty package files need none."""
    said = {m: source(path) for m, path in modules().items()}
    assert not [m for m, one in said.items() if not one.empty and not one.documented]


def test_no_module_is_a_bag() -> None:
    """A function that has no home names a missing module."""
    bags = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}
    assert not [m for m in modules() if m.rpartition(".")[2] in bags]


def test_the_tests_use_fakes_and_real_things_but_no_mocks() -> None:
    """A mock repeats what the code does; a fake that passes the contract suite, or the real thing, can disagree."""
    this = Path(__file__)
    mocking = [
        p
        for p in this.parent.rglob("*.py")
        if p != this and any(word in p.read_text() for word in ("unittest.mock", "MagicMock", "mocker"))
    ]
    assert not mocking


def test_codes_reasons_and_next_steps_are_machine_words() -> None:
    """A program compares them. What is read by people stands in the message."""
    word = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
    said = {*CODES, *(code.next for code in CODES.values())}.union(*(source(path).words for path in modules().values()))
    assert len(said) > 60
    assert [one for one in sorted(said) if not word.fullmatch(one)] == []


def test_every_next_step_is_more_than_a_word_on_a_command_line() -> None:
    """A tool's name, or an argument's, is no hint to who has commands and options."""
    found = {code.next for code in CODES.values()}.union(*(source(path).steps for path in modules().values())) - {""}
    assert len(found) > 40
    assert [action for action in sorted(found) if " " not in step(action) and not step(action).startswith("--")] == []


REFUSES = re.compile(r"\bRefusal\b|[\"'](?:error|suggested_action)[\"']")


def refusals(tree: ast.Module, text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words for programs in a module's refusals, and its next steps."""
    words: set[str] = set()
    steps: set[str] = set()
    lines = [number for number, line in enumerate(text.split("\n"), 1) if REFUSES.search(line)]
    for node in below_statements(tree, lines) if lines else ():
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refusal":
            named = [keyword.value for keyword in node.keywords if keyword.arg in ("action", "reason", "why")]
            words |= {one.value for one in (*node.args[:1], *node.args[2:3], *named) if is_text(one)}
            steps |= {part.value for arg in node.args[2:3] for part in ast.walk(arg) if is_text(part)}
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            words |= {
                value.value for key, value in pairs if is_text(key, "error", "suggested_action") and is_text(value)
            }
    return frozenset(words), frozenset(steps)


def below_statements(node: ast.AST, lines: list[int]) -> Iterator[ast.AST]:
    """What stands below `node`, without the statements that have none of these lines: most of a tree."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            at = bisect_left(lines, child.lineno)
            if at == len(lines) or lines[at] > (child.end_lineno or child.lineno):
                continue
        yield child
        yield from below_statements(child, lines)


def is_text(node: ast.AST | None, *texts: str) -> TypeGuard[ast.Constant]:
    """Is it a string as it stands in the source, and one of `texts` where there are any?"""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and (not texts or node.value in texts)


def test_no_property_is_computed_under_a_lock() -> None:
    """Python 3.11 holds one for `functools.cached_property`: work that pauses within it stops the daemon."""
    locked = {
        module
        for module in modules()
        for statement, _ in source(modules()[module]).imports
        if isinstance(statement, ast.ImportFrom) and statement.module == "functools"
        if not module.startswith("quire_client") and "cached_property" in {one.name for one in statement.names}
    }
    assert locked == set()
