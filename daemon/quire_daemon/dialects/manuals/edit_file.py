"""The manual of `edit_file`: what seed 004 says of its edits, its errors and its neighbours."""

from __future__ import annotations

from typing import Final

EDIT_FILE_MANUAL: Final = """\
# `edit_file`: replace exact texts in the version of a file that you read

`expectedSha256` is the `sha256` of your last `read_file`, so concurrent modifications are detected up front.
Every edit names an `oldText` that must match the original file exactly and a `newText` to put in its place.

- Each edit is matched against the original pre-edit snapshot of the file, not against the file as previous edits \
have left it.
- `oldText` must be present exactly once in the snapshot unless `replaceAll: true` is set (or `expectedOccurrences`, \
which says how often).
- Overlapping edits are detected before anything is written: the whole call fails atomically. Edits that touch are fine.
- `read_file` shows LF at every line end, and so `oldText` is matched; the file keeps its own line endings. The BOM is \
never altered.

```ts
const PORT = 3000;
console.log("one");
console.log("two");
```
```json
{
  "path": "src/server.ts",
  "expectedSha256": "a6f7f10e6daf0d6bd18d70127a14f6dd9d11ff89a705ba9d33212c05dbc8e407",
  "edits": [
    {"oldText": "const PORT = 3000;", "newText": "const PORT = 4000;"},
    {"oldText": "console.log(", "newText": "logger.info(", "replaceAll": true}
  ]
}
```

| Error | When | Then |
|---|---|---|
| `not_found` | The path does not exist or is a directory. | Check the path. |
| `stale_file` | `expectedSha256` does not match the bytes on disk. | Re-read and retry. |
| `old_text_not_found` | An edit's `oldText` does not appear in the file. | Copy it from a fresh read. |
| `multiple_matches` | An edit's `oldText` matches more than once without `replaceAll: true`. | Add lines around it. |
| `overlapping_edits` | Two edits would replace intersecting byte ranges. | Make one edit of them. |
| `outside_workspace` | The path escapes the workspace. | Stay inside. |
| `permission_denied` | The path is write-blocked. | Leave it alone. |
| `schema_invalid` | `expectedSha256` is missing. | `call` is the complete call; send it if you know the file. |

Related: `write_file` when the whole file changes; `apply_patch` for multi-file diffs and renames.
"""
