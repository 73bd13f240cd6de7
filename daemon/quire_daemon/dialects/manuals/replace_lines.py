"""The manual of `replace_lines`: the notes of seed 001."""

from __future__ import annotations

from typing import Final

REPLACE_LINES_MANUAL: Final = """\
# `replace_lines`: replace a range of lines

Read the file first to identify the exact line range.
Use `replace_lines` when you know the exact line range to change (pair with `read_file` line numbers).

- `start_line` and `end_line`: line numbers are 1-based and inclusive on both ends. An `end_line` beyond \
the file is the last line, with a warning; a `start_line` beyond it is refused (`line_out_of_range`).
- `new_text`: the replacement text can span any number of lines; `""` removes the range.

```python
def process(data):
    data = data.strip()
    return data
```
```json
{
  "path": "main.py", "start_line": 1, "end_line": 3,
  "new_text": "def process(data):\\n    return data.strip().lower()"
}
```

Line numbers are those of the file as you last saw it. Your own edits move them: use `changed` in the reply, or read \
the file again.
`stale_base`: another writer changed the file since you read it. Read it again.
"""
