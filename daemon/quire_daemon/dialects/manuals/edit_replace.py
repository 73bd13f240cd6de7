"""The manual of `edit_replace`: the notes of seed 001."""

from __future__ import annotations

from typing import Final

EDIT_REPLACE_MANUAL: Final = """\
# `edit_replace`: replace exact text in a file

Always read the file first to find the exact text to replace.
The match is exact: whitespace, indentation, and newlines must match precisely.

- `path` (or `file`), `old_text`, `new_text`.
- `count` is the maximum number of replacements, from the top: 1 unless you say so, 0 for all occurrences.
- `old_text_not_found`: `old_text` is not in the file. Read it again and copy the text from there.

```python
x = 1
old_name = x
print(old_name)
```
```json
{"path": "main.py", "old_text": "x = 1", "new_text": "x = 2"}
```
```json
{"path": "main.py", "old_text": "old_name", "new_text": "new_name", "count": 0}
```

Prefer `edit_replace` over `write_file` when making small changes: it is safer because it only changes what you specify.
Use `multi_edit` when you need to make several changes to the same file.
"""
