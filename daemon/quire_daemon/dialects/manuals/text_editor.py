"""The manual of `text_editor`: the commands of Anthropic's tool, and where this one is more careful."""

from __future__ import annotations

from typing import Final

TEXT_EDITOR_MANUAL: Final = """\
# `text_editor`: view, create and edit a file by commands

- `view`: shows the file with line numbers; `view_range: [first, last]` a part of it, -1 for the end. Of \
a folder it shows what is in it, two levels deep.
- `create`: makes a new file of `file_text`. One that exists is replaced only where `base` is its version.
- `str_replace`: replaces `old_str`, which must be in the file exactly once, by `new_str`. Include enough lines around \
it to make it unique.
- `insert`: puts `insert_text` after line `insert_line`; 0 is the top of the file.
- `undo_edit`: takes back your last edit of the file. What others wrote since stays.

```python
def greet(name):
    return "Hello, " + name
```
```json
{"command": "view", "path": "greet.py"}
```
```json
{"command": "str_replace", "path": "greet.py", "old_str": "\\"Hello, \\" + name", "new_str": "f\\"Hello, {name}!\\""}
```
```json
{"command": "insert", "path": "greet.py", "insert_line": 0, "insert_text": "# Greetings"}
```

View the file before you edit it, and again when it was changed: texts must match exactly, line numbers are those of \
the file as you last saw it.
"""
