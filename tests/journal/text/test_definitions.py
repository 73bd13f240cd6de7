"""The definition that a line stands in."""

from __future__ import annotations

import pytest

from quire_journal.text.definitions import definitions_at

PYTHON = b"""import os

class Clock:
    \"\"\"Time.\"\"\"

    def now_ns(self) -> int:
        if self.set:
            return 1

        return 2

    async def later(self): pass

LIMIT = 3

def alone(
    a, b,
):
    return a

def typed(
    a,
) -> int:
    return a

called(
    a,
)
""".split(b"\n")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (0, ""),
        (2, "Clock"),
        (3, "Clock"),
        (5, "Clock.now_ns"),
        (7, "Clock.now_ns"),
        (9, "Clock.now_ns"),
        (11, "Clock.later"),
        (13, ""),
        (15, "alone"),
        (18, "alone"),
        (22, "typed"),
        (23, "typed"),
        (25, ""),
        (27, ""),
    ],
)
def test_a_line_of_python_stands_in_the_function_and_the_class_around_it(line: int, name: str) -> None:
    assert definitions_at("a.py", PYTHON, [line]) == ([name] if name else [])


@pytest.mark.parametrize(
    ("path", "text", "line", "name"),
    [
        ("a.ts", "export class Cart {\n  total(items: Item[]): number {\n    return 0;\n  }\n}", 2, "Cart.total"),
        ("a.ts", "export const sum = (a, b) => {\n  return a + b;\n};", 1, "sum"),
        ("a.ts", "export function total(\n  items: Item[],\n): number {\n  return 0;\n}", 2, "total"),
        ("a.ts", "export class Cart {\n  total(items: Item[]): number {\n    return 0;\n  }\n}", 3, "Cart.total"),
        ("a.js", "async function load() {\n  if (x) {\n    go();\n  }\n}", 2, "load"),
        ("a.go", "func (s *Server) Run(ctx context.Context) error {\n\treturn nil\n}", 1, "Run"),
        ("a.rs", "impl Clock {\n    pub fn now(&self) -> u64 {\n        7\n    }\n}", 2, "Clock.now"),
        ("a.c", "static int add(int a, int b) {\n    return a + b;\n}", 1, "add"),
        ("pyproject.toml", "[project]\nname = 1", 1, "project"),
    ],
)
def test_languages_with_braces_are_read_by_their_indentation_too(path: str, text: str, line: int, name: str) -> None:
    assert definitions_at(path, text.encode().split(b"\n"), [line]) == [name]


def test_several_places_in_one_definition_name_it_once() -> None:
    assert definitions_at("a.py", PYTHON, [6, 7, 17, 18]) == ["Clock.now_ns", "alone"]


def test_prose_and_an_empty_file_have_no_definitions() -> None:
    assert definitions_at("a.md", PYTHON, [7]) == []
    assert definitions_at("a.py", [], [0]) == []


def test_an_empty_line_among_others_names_nothing() -> None:
    assert definitions_at("a.py", PYTHON, [7, 10]) == ["Clock.now_ns"]
    assert definitions_at("a.py", PYTHON, [10]) == ["Clock.later"]
