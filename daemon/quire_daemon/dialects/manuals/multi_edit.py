"""The manual of `multi_edit`: the notes of seed 001."""

from __future__ import annotations

from typing import Final

MULTI_EDIT_MANUAL: Final = """\
# `multi_edit`: make several search-and-replace edits to one file

Use `multi_edit` when you need to make several changes to the same file: it is more efficient than multiple \
`edit_replace` calls.

- Edits are applied sequentially: each edit sees the result of the previous one.
- Each edit replaces the first place of its `old_text`, which must match precisely.
- If an edit fails (`old_text` not found), it is skipped and reported in `failed`, but remaining edits still proceed.
- The file is only written if at least one edit was applied.

```python
import os
x = 1
DEBUG = False
```
```json
{
  "path": "main.py",
  "edits": [
    {"old_text": "import os", "new_text": "import os\\nimport sys"},
    {"old_text": "x = 1", "new_text": "x = 42"},
    {"old_text": "DEBUG = False", "new_text": "DEBUG = True"}
  ]
}
```

Always read the file first to find exact text for replacement.
"""
