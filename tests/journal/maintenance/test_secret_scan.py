"""Texts that hold a secret: what has the form of a key or a token, and what only looks like one."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import live
import quire_journal
from quire_journal.maintenance.secret_scan import KINDS, find, find_new, redacted

BODY = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6"  # 36 letters and digits, issued by nobody


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("a private key", "-----BEGIN " + "RSA PRIVATE KEY-----"),
        ("a private key", "-----BEGIN " + "PRIVATE KEY-----"),
        ("a private key", "-----BEGIN " + "OPENSSH PRIVATE KEY-----"),
        ("a private key", "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----"),
        ("a GitHub token", "ghp_" + BODY),
        ("a GitHub token", "github_pat_" + BODY + "_" + BODY),
        ("an API key", "sk-ant-" + "api03-" + BODY),
        ("an API key", "sk-" + "proj-" + BODY),
        ("an API key", "sk-" + BODY + "aB3dE6gH9jK2"),
        ("a Slack token", "xoxb-" + "123456789012-123456789012-" + BODY[:24]),
        ("an AWS key id", "AKIA" + "JX3N5QWE7ZTP2LMK"),
        ("a Google API key", "AIza" + BODY[:35]),
        ("a GitLab token", "glpat-" + BODY[:20]),
        ("an npm token", "npm_" + BODY),
        ("a Stripe key", "sk_" + "live_" + BODY[:24]),
    ],
)
@pytest.mark.parametrize("around", ['KEY = "%s"\n', "%s", "export TOKEN=%s\nmore\n", '{"token": "%s"}'])
def test_a_secret_of_a_known_form_is_found_where_it_stands(kind: str, text: str, around: str) -> None:
    data = (around % text).encode()
    found = find(data)
    assert found is not None
    assert (found.kind, data[found.at :].startswith(text.encode())) == (kind, True)


_parts = ("ghp_", "my_", BODY[:20], BODY[20:], " ", "\n", "\r", "\r\n")
_harmless = st.lists(st.sampled_from(_parts), max_size=4).map("".join)
_any = st.lists(st.sampled_from((*_parts, f" npm_{BODY}", "EXAMPLE")), max_size=4).map("".join)


@given(_harmless, _harmless, _any, _harmless)
def test_in_what_has_changed_since_there_was_none_as_much_is_found_as_in_all(
    start: str, old: str, new: str, end: str
) -> None:
    before, after = (start + old + end).encode(), (start + new + end).encode()
    if find(before) is None:
        assert find_new(after, before) == find(after)


def test_no_secret_reaches_over_a_line_break() -> None:
    for _, pattern in KINDS:
        assert not any(part in pattern for part in (rb"\s", rb"\W", rb"[^", b"."))  # all that stands for many
        assert not any(re.search(group, b"\r\n") for group in re.findall(rb"\[[^]]*\]", pattern))


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN " + "PUBLIC KEY-----",
        "-----BEGIN " + "CERTIFICATE-----",
        "task-risk-disk-" + BODY,
        "ghp_short",
        "my_ghp_" + BODY,
        "AKIA" + "IOSFODNN7EXAMPLE",
        "sk-learn-is-a-name-of-something-that-is-longer-than-forty-letters",
        "npm_config_registry",
        "xoxb-your-token",
        "AIza",
        BODY * 3,
        "sha256: " + "0123456789abcdef" * 4,
    ],
)
def test_what_only_looks_like_a_secret_is_none(text: str) -> None:
    assert find(text.encode()) is None


def test_nothing_in_the_source_of_quire_is_taken_for_a_secret() -> None:
    top = Path(quire_journal.__path__[0]).parents[1]
    sources = [path for name in ("journal", "daemon", "client", "tests") for path in (top / name).rglob("*.py")]
    assert len(sources) > 200
    assert {path.name: found.kind for path in sources if (found := find(path.read_bytes()))} == {}


@settings(max_examples=live.length(6, 600))  # of each of the kinds
@given(st.tuples(*(st.from_regex(re.compile(pattern), fullmatch=True) for _, pattern in KINDS)))
def test_secrets_of_every_form_are_found_at_the_start_in_the_middle_and_at_the_end(
    secrets: tuple[bytes, ...],
) -> None:
    for secret in secrets:
        if b"EXAMPLE" not in secret.upper():
            for text in (secret, b"x = '" + secret + b"'\n", b"\xff\n" + secret):
                found = find(text)
                assert found is not None
                assert text[found.at :].startswith(secret[:4])


_told = st.lists(
    st.sampled_from((*_parts, f"npm_{BODY}", f"AKIA{BODY[:16].upper()}", "-----BEGIN " + "RSA PRIVATE KEY-----")),
    max_size=8,
).map("".join)


@given(_told)
def test_a_text_that_is_told_holds_no_secret_and_else_what_it_held(text: str) -> None:
    told = redacted(text)
    assert find(told.encode()) is None
    if find(text.encode()) is None:
        assert told == text


def test_of_a_private_key_all_is_masked_to_its_end() -> None:
    key = "-----BEGIN " + f"RSA PRIVATE KEY-----\nnpm_{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----"
    assert redacted(f"a {key} b npm_{BODY} c") == "a [a private key] b [an npm token] c"


def test_a_text_full_of_secrets_is_masked_in_one_pass() -> None:
    """Each was looked for from the beginning: 16 KB of them kept the daemon 40 ms."""
    many = 100_000
    began_s = time.process_time()
    assert redacted(f"npm_{BODY} " * many) == "[an npm token] " * many
    assert time.process_time() - began_s < 5.0
