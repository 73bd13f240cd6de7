"""The built page: what the sources make, small, and all of it from this machine."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from quire_client.page.app import static_files

ROOT = Path(__file__).resolve().parents[2]

MOST_BYTES = 64 * 1024
"""Of all that a first view loads, by gzip."""


def test_a_first_view_is_three_requests_and_at_most_64_kilobytes() -> None:
    static = static_files()
    asked = re.findall(r'(?:src|href)="(/[^"]*)"', static["/"][0].decode())
    assert len(asked) == 2
    assert sum(len(gzip.compress(static[one][0], 9)) for one in ("/", *asked)) <= MOST_BYTES


def test_the_page_asks_nobody_else_and_needs_nothing_that_its_policy_forbids() -> None:
    static = static_files()
    html = static["/"][0].decode()
    assert "<style" not in html
    assert not re.findall(r"<script(?![^>]* src=)|\son\w+=|javascript:", html)
    for name, (data, _) in static.items():
        if name.endswith((".js", ".css", ".html")):
            known = {b"http://www.w3.org/2000/svg", b"http://www.w3.org/1998/Math/MathML"}
            known |= {b"http://www.w3.org/1999/xhtml"}
            assert {*re.findall(rb"https?://[\w./-]+", data)} <= known, name
            assert not re.search(rb"\beval\(|new Function\(|sourceMappingURL", data), name


def test_the_licences_of_what_it_contains_come_with_it() -> None:
    text = static_files()["/LICENSES.txt"][0].decode()
    assert [name for name in ("preact 11", "@preact/signals 2", "@preact/signals-core 1") if name not in text] == []
    assert text.count("Permission is hereby granted") == 3


@pytest.mark.timeout(120)
def test_what_is_committed_is_what_the_sources_build() -> None:
    if not shutil.which("node") or not (ROOT / "client" / "page" / "node_modules").is_dir():
        pytest.skip("there is no Node here, or its packages are not installed; scripts/check installs and compares")
    ran = subprocess.run([ROOT / "scripts" / "page", "--check"], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
