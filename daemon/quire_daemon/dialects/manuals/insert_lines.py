"""The manual of `insert_lines`: the notes of seed 001."""

from __future__ import annotations

from typing import Final

INSERT_LINES_MANUAL: Final = """\
# `insert_lines`: insert text at a line number

`line_number` is the line to insert BEFORE (1-based).

- `line_number: 0` prepends at the start of the file.
- `line_number: -1` appends at the end of the file.
- `text` can be multiple lines. A trailing newline is automatically added if missing.

```python
print(os.name)
```
```json
{"path": "main.py", "line_number": 1, "text": "import os\\nimport sys"}
```
```json
{"path": "main.py", "line_number": -1, "text": "# End of file"}
```
```json
{"path": "main.py", "line_number": 0, "text": "#!/usr/bin/env python3"}
```

Line numbers are those of the file as you last saw it. Your own edits move them: use `changed` in the reply, or read \
the file again.
`stale_base`: another writer changed the file since you read it. Read it again.
"""
