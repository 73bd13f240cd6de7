"""The manual of `move_file`."""

from __future__ import annotations

from typing import Final

MOVE_FILE_MANUAL: Final = """\
# `move_file`: rename a file

It needs `path` and `to`; folders are made. Nothing is ever overwritten: `already_exists` says that `to` is taken.
`stale_base`: another writer changed the file since you read it. Read it again before you decide.
To change the content as well, use `hashline_edit` with `rename`, or `apply_patch` with `*** Move to:`.

```text
content
```
```json
{"path": "old.txt", "to": "archive/new.txt"}
```
"""
