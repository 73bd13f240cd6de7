"""The manual of `write_file`: when to use it, and its gate."""

from __future__ import annotations

from typing import Final

WRITE_FILE_MANUAL: Final = """\
# `write_file`: write a whole file

Use it for new files, and when the whole file changes. For small changes prefer `edit_replace` or another editing \
tool: it is safer because it only changes what you specify.

- A new file needs only `path` and `content`; folders are made.
- An existing file needs `expectedSha256` (the `sha256` of your last `read_file`) or `expected_file_version` (its \
`version`).
- `stale_file`, `write_conflict`: the file is not what you read, or you did not say which version you replace. Re-read \
and retry.

```json
{"path": "docs/notes.md", "content": "# Notes\\n"}
```
"""
