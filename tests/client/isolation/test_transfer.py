"""What a command changed in its copy comes into the checkout as a whole, or stays in the copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from quire_client.isolation.transfer import NotLanded, Transfer


def test_where_the_daemon_refuses_nothing_lands(tmp_path: Path) -> None:
    root, upper = tmp_path / "root", tmp_path / "upper"
    (root / "file").parent.mkdir()
    (root / "file").write_text("")
    for name in ("a", "build/b", "file/in"):
        (upper / name).parent.mkdir(parents=True, exist_ok=True)
        (upper / name).write_text("new\n")
    refusal = {"ok": False, "error": "busy", "message": "Later."}
    transfer = Transfer(lambda tool, arguments: refusal, root, upper, 7, 0)
    with pytest.raises(NotLanded, match="Later"):
        transfer.land()
    transfer.clear()
    assert [path.name for path in root.rglob("*")] == ["file"]
