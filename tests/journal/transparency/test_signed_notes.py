"""Signed notes and checkpoints as c2sp.org has them; `tlog-scales`, a package of others, reads them as well."""

from __future__ import annotations

import hashlib
from base64 import b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, strategies as st
from tlog_scales import signing, tlog

from quire_journal.transparency import ed25519
from quire_journal.transparency.checkpoint import (
    TreeHead,
    checkpoints_in,
    keys_of,
    proof_text,
    read_head,
    signed,
    witness_text,
)
from quire_journal.transparency.note import (
    SECURITY_KEY,
    BadNote,
    Note,
    NoteSignature,
    VerifierKey,
    read_note,
    read_notes,
    read_vkey,
)

GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = """\
If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
"""
"""The example of Go's `note`, which wrote the format first."""

PRIVATE = bytes(range(32))
HEAD = TreeHead("journal.quire.invalid/0123", 20852163, hashlib.sha256(b"root").digest())
PUBLIC = ed25519.public_of(PRIVATE)
KEYS = keys_of(HEAD.origin, PUBLIC)
CHECKPOINT = signed(HEAD, PRIVATE, 1_679_315_147)


def test_the_note_that_another_program_signed_is_read_and_verified() -> None:
    key, note = read_vkey(GO_KEY), read_note(GO_NOTE)
    assert key.vkey == GO_KEY
    assert note.signed_by([key]) == {key: 0}
    assert note.encoded() == GO_NOTE


def test_a_changed_text_is_not_signed() -> None:
    with pytest.raises(BadNote, match="PeterNeumann"):
        read_note(GO_NOTE.replace("answer", "question")).signed_by([read_vkey(GO_KEY)])


def test_the_signature_of_an_unknown_key_counts_for_nothing() -> None:
    assert read_note(GO_NOTE).signed_by(KEYS) == {}
    another = keys_of(HEAD.origin, ed25519.public_of(bytes(32)))
    assert CHECKPOINT.signed_by(another) == {}


def test_a_checkpoint_says_its_tree_and_the_time_of_its_signature() -> None:
    text = CHECKPOINT.encoded()
    assert text.startswith(f"journal.quire.invalid/0123\n20852163\n{b64encode(HEAD.root).decode()}\n\n— ")
    read = read_note(text)
    assert read_head(read.text) == HEAD
    assert read.signed_by(KEYS) == dict(zip(KEYS, (0, 1_679_315_147), strict=True))


def test_another_package_verifies_a_checkpoint_and_its_time() -> None:
    theirs = tlog.Checkpoint.from_text(CHECKPOINT.encoded())
    assert (theirs.origin, theirs.size, theirs.root_hash) == HEAD
    for key in KEYS:
        theirs.verify(signing.Vkey.from_string(key.vkey))
    forged = tlog.Checkpoint.from_text(signed(HEAD, bytes(32), 1).encoded())
    with pytest.raises(RuntimeError):
        forged.verify(signing.Vkey.from_string(KEYS[0].vkey))


def test_a_checkpoint_that_another_package_signed_is_verified() -> None:
    signer = signing.PlainEd25519Signer(HEAD.origin, PRIVATE)
    theirs = tlog.Checkpoint.make_signed(*HEAD, [signer])
    assert read_note(theirs.serialize()).signed_by(KEYS) == {KEYS[0]: 0}


def test_a_security_key_signs_what_openssh_says() -> None:
    """The signature is over the application, the touch, a count, and the text, each hashed."""
    private, application = Ed25519PrivateKey.from_private_bytes(PRIVATE), b"ssh:"
    touch_and_count = b"\x01" + (7).to_bytes(4, "big")
    message = hashlib.sha256(application).digest() + touch_and_count + hashlib.sha256(HEAD.text.encode()).digest()
    key = VerifierKey("a/key", SECURITY_KEY, PUBLIC + application)
    line = NoteSignature("a/key", key.id, touch_and_count + private.sign(message))
    assert read_vkey(key.vkey) == key
    assert Note(HEAD.text, (line,)).signed_by([key]) == {key: 0}
    with pytest.raises(BadNote):
        Note("another\n", (line,)).signed_by([key])


def test_a_file_may_have_several_notes() -> None:
    assert [note.text for note in read_notes(GO_NOTE + CHECKPOINT.encoded() + "\n" + GO_NOTE)] == [
        read_note(GO_NOTE).text,
        HEAD.text,
        read_note(GO_NOTE).text,
    ]


def test_the_checkpoint_of_a_proof_is_its_last_part() -> None:
    checkpoint = CHECKPOINT.encoded()
    proof = proof_text(3, [bytes(32)], checkpoint, b"record")
    assert proof.splitlines()[:4] == [
        "c2sp.org/tlog-proof@v1",
        "extra cmVjb3Jk",
        "index 3",
        b64encode(bytes(32)).decode(),
    ]
    assert checkpoints_in(proof) == checkpoints_in(checkpoint) == checkpoint
    asked = witness_text(5, [], checkpoint)
    assert asked == "old 5\n\n" + checkpoint
    assert checkpoints_in(asked) == checkpoint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no signature\n",
        GO_NOTE[:-1],
        GO_NOTE.replace("x08", "x=8"),
        GO_NOTE.replace("PeterNeumann ", "Peter+Neumann "),
        GO_NOTE + "and more\n",
        "a\x07\n\n" + GO_NOTE,
    ],
)
def test_what_is_no_note_is_told(text: str) -> None:
    with pytest.raises(BadNote):
        read_note(text)


@pytest.mark.parametrize("text", ["", "a\n", "a\n1\n", "a\n01\nAAAA\n", f"a\n-1\n{b64encode(bytes(32)).decode()}\n"])
def test_what_is_no_head_is_told(text: str) -> None:
    with pytest.raises(BadNote):
        read_head(text)


@pytest.mark.parametrize("text", ["", "a+b", GO_KEY[:-4], GO_KEY.replace("c74f20a3", "c74f20a4"), "a+00000000+AgAA"])
def test_what_is_no_key_is_told(text: str) -> None:
    with pytest.raises(BadNote):
        read_vkey(text)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_any_text_is_a_note_or_is_refused(text: str) -> None:
    for damaged in (text, CHECKPOINT.encoded().replace("\n", f"\n{text}", 1), CHECKPOINT.encoded() + text):
        try:
            notes = list(read_notes(damaged))
        except BadNote:
            continue
        assert all(isinstance(note, Note) for note in notes)
