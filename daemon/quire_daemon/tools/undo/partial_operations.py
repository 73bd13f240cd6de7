"""Operations of which the log says that some writes were rolled back or never made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quire_journal.history import History
from quire_journal.model import counted, paths_of
from quire_journal.views import TOOL_WRITES

MOST_FILES: Final = 20
"""Maximum number of files that a reply lists."""


def taken_back(batch: int, history: History) -> list[str]:
    """Return the paths at which a partly applied batch is not in force; [] for any other batch."""
    standing = {*history.batch_writes(batch)}
    writes = [record for record in history.batch(batch) if isinstance(record.event(), TOOL_WRITES)]
    if not standing or len(standing) == len(writes):
        return []
    return [*dict.fromkeys(path for one in writes if one.seq not in standing for path in paths_of(one.event()))]


def but_for(paths: Sequence[str]) -> dict[str, Any]:
    """Return the reply fields that tell that an operation is not in force at `paths`."""
    more = f" and {counted(len(paths) - 1, 'more file')}" if len(paths) > 1 else ""
    said = f" It was taken back, or never made, at {paths[0]}{more}."
    return {"message": said, "taken_back": [*paths[:MOST_FILES]]}
