"""Refusals on a command line: what is said can be typed there."""

from __future__ import annotations

import re

import pytest

from quire_client.cli.wording import ARGUMENTS, OTHER_STEPS, STEPS, sentence, step
from quire_client.commands.options import COMMON
from quire_client.commands.table import COMMANDS, offered
from quire_journal.model.refusals import CODES

OPTIONS = {f"--{option.name}" for name in COMMANDS for option in (*COMMON, *offered(name).options)}


def test_every_option_and_command_that_a_refusal_names_is_there() -> None:
    said = [*ARGUMENTS.values(), *STEPS.values(), *OTHER_STEPS.values()]
    assert {option for one in said for option in re.findall(r"--[a-z-]+", one)} <= OPTIONS
    assert {name for one in said for name in re.findall(r"`quire ([a-z-]+)", one)} <= {*COMMANDS, "help"}


@pytest.mark.parametrize(
    "action", sorted({*(code.next for code in CODES.values()), "plan", "list_bursts", "begin_again"})
)
def test_no_next_step_is_a_word_of_the_wire(action: str) -> None:
    assert "_" not in step(action).replace("op_status", "")


def test_arguments_become_options_and_nothing_else_does() -> None:
    assert sentence("f.bin (gone). `allow_uncaptured` goes over it") == "f.bin (gone). --allow-uncaptured goes over it"
    assert sentence("x has it; `force: true` breaks it.") == "x has it; --force breaks it."
    assert sentence("limit: must be at least 1.") == "--limit: must be at least 1."
    for kept in ("`quire log a` tells it", "Makefile: no", "`line` says where", "name with `from_` it", "path is it"):
        assert sentence(kept) == kept


def test_the_help_that_is_named_is_that_of_the_command_that_was_typed() -> None:
    assert step("fix_arguments", command="log") == "`quire help log` tells what it takes"
    assert step("fix_arguments") == "`quire help COMMAND` tells what it takes"


@pytest.mark.parametrize("command", ["undo", "redo", "rollback", "restore"])
@pytest.mark.parametrize("action", ["plan", "narrow_the_choice"])
def test_a_next_step_names_options_of_the_command_that_was_typed(command: str, action: str) -> None:
    own = {f"--{name}" for one in offered(command).options for name in (one.name, *one.also)}
    assert {*re.findall(r"--[a-z-]+", step(action, command=command))} <= own


def test_what_became_of_a_call_is_asked_by_its_number() -> None:
    assert step("op_status", "ab12").endswith("""`quire call op_status '{"op": "ab12"}'`""")
