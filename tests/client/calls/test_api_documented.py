"""What the client's methods say of themselves is so: every argument is one of the tool's, every source is there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from fake_line import FakeDoor, FakeLine

from quire_client import api
from quire_client.api import Choice, Client, WriteArguments
from quire_client.calls import base as calls_base
from quire_daemon.maintenance.table import SERVICES
from quire_daemon.tools.table import TOOLS
from quire_journal.model.messages import Caller
from quire_journal.model.refusals import CODES
from quire_journal.workspaces.layout import Place
from shapes import REPLIES

METHODS = [name for part in Client.__bases__ for name, value in vars(part).items() if inspect.isfunction(value)]
NO_ARGUMENTS = {"timeout_s", "write", "told"}  # the client's own
SECTIONS = re.compile(r"\n\nReply: (?P<reply>.+?)\nRefused: (?P<refused>.+?)\nSource: (?P<source>.+)", re.DOTALL)


def said(name: str) -> re.Match[str]:
    found = SECTIONS.search(inspect.getdoc(getattr(Client, name)) or "")
    assert found, f"{name} does not say what it replies, when it is refused, and where that is decided"
    return found


def test_every_tool_of_the_daemon_that_has_a_method_is_named_as_the_method() -> None:
    assert set(METHODS) <= {*TOOLS, *SERVICES}


@pytest.mark.parametrize("part", ["reply", "refused", "source"])
def test_every_method_says_what_it_replies_when_it_is_refused_and_where_that_is_decided(part: str) -> None:
    assert all(said(name)[part].strip() for name in METHODS)


def test_every_code_that_is_named_is_one() -> None:
    """In parentheses stands what a refusal brings; outside of them are codes, and the name of another method."""
    named = {
        (name, code)
        for name in METHODS
        for code in re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", said(name)["refused"]))
    }
    assert not {(name, code) for name, code in named if code not in CODES and code not in METHODS}


def fields(shape: Any) -> set[str]:
    """The names of the fields of a reply, however deep."""
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        own = msgspec.structs.fields(shape)
        return {field.encode_name for field in own}.union(*(fields(field.type) for field in own))
    return set().union(*map(fields, get_args(shape)))


@pytest.mark.parametrize("name", sorted({*METHODS} & {*REPLIES} - {"gc"}))  # its reply is told by figures of any name
def test_every_field_that_is_named_is_one_of_the_reply(name: str) -> None:
    text = said(name)["reply"]
    named = {
        *re.findall(r"`(\w+)`", text),
        *re.findall(r"[a-z]\w+", " ".join(re.findall(r"`\{(.+?)\}`", text, re.DOTALL))),
    }
    assert named <= fields(REPLIES[name]) | {*REPLIES} | {*inspect.signature(getattr(Client, name)).parameters}


def test_every_source_is_a_module_of_the_daemon_that_knows_the_tool() -> None:
    for name in METHODS:
        modules = re.findall(r"quire_\w+(?:\.\w+)+", said(name)["source"])
        assert modules, name
        for module in modules:
            import_module(module)


def test_what_all_replies_share_is_said_once() -> None:
    text = api.__doc__ or ""
    for word in ("a refusal", "an edit", "a writer", "a point", "units", "NoDaemon", 'outcome: "unknown"'):
        assert word in text


def test_the_page_about_python_has_every_method_in_its_own_words() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "api.md").read_text()
    rows = [f"| `{name}` | {(inspect.getdoc(getattr(Client, name)) or '').splitlines()[0]} |" for name in METHODS]
    assert page.endswith("\n" + "\n".join(rows) + "\n")


def sample(hint: Any) -> Any:
    """Any value of that type; what it is does not matter here."""
    kind = str(hint)
    if "Callable" in kind:
        return lambda *_: None
    if "Sequence[collections.abc.Mapping" in kind:
        return [{}]
    if "Mapping" in kind:
        return {"a": "b"}
    if "Sequence" in kind:
        return ["x"]
    plain = next(one for one in (*get_args(hint), hint) if one in (bool, int, float, str, bytes))
    return plain() if plain is bytes else plain("1")


def arguments(name: str) -> dict[str, Any]:
    """Every argument that the method takes, with a value."""
    method: Callable[..., Any] = getattr(Client, name)
    hints = get_type_hints(method)
    given: dict[str, Any] = {}
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            more = {"common": WriteArguments, "choice": Choice}.get(parameter.name)
            given |= {key: sample(hint) for key, hint in get_type_hints(more).items()} if more else {}
        elif parameter.name != "self":
            given[parameter.name] = sample(hints[parameter.name])
    if name == "show":
        del given["version"]  # or `at`
    return given


@pytest.mark.parametrize("name", METHODS)
def test_every_argument_of_a_method_is_one_of_the_tool(name: str, place: Place) -> None:
    line = FakeLine({"export": {"ok": False}})
    getattr(Client(FakeDoor(place, line), Caller()), name)(**arguments(name))
    request = line.requests[-1] if name != "export" else next(r for r in line.requests if r.tool == "export")
    assert request.tool == name
    tool = TOOLS[name] if name in TOOLS else SERVICES[name].tool()
    known = {field.encode_name for field in msgspec.structs.fields(tool.params)}
    assert set(msgspec.msgpack.decode(request.args)) <= known


def test_a_version_is_shown_or_a_path_at_a_point(place: Place) -> None:
    line = FakeLine({})
    client = Client(FakeDoor(place, line), Caller())
    client.show("v3")
    client.show(path="a.py", at="lunch")
    assert [msgspec.msgpack.decode(request.args) for request in line.requests] == [
        {"version": "v3"},
        {"version": "lunch", "path": "a.py"},
    ]
    for wrong in ({}, {"version": "v3", "at": "lunch"}):
        with pytest.raises(TypeError, match="takes a version"):
            client.show(**wrong)


def test_old_import_paths_still_work() -> None:
    assert all(getattr(api, name) is getattr(calls_base, name) for name in ("Line", "Opens", "Answer", "TIMEOUT_S"))
