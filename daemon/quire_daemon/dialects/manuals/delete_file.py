"""The manual of `delete_file`."""

from __future__ import annotations

from typing import Final

DELETE_FILE_MANUAL: Final = """\
# `delete_file`: remove a file

It needs `path`. `stale_base`: another writer changed the file since you read it. Read it again before you decide.
The bytes stay in the journal: `undo` brings the file back.

```text
obsolete
```
```json
{"path": "old.txt"}
```
"""
