"""The manual of `edit`: the guidance of seeds 000 and 002, the disclaimer about line numbers before all else."""

from __future__ import annotations

from typing import Final

EDIT_MANUAL: Final = """\
# `edit`: change lines that are named by hash anchors

In the output of `read_file`, the line number is advisory (snapshot position) only, and the hash is the authoritative \
identity for edit operations.

`read_file` with `hashes: true` shows each line as `LINE#HASH [quality]|text`:

```ts
{{hashedfull 1 "const PORT = 3000;"}}
{{hashedfull 2 "const HOST = process.env.HOST;"}}
{{hashedfull 3 "app.listen(PORT, HOST);"}}
```

Copy the hash (`HASH`, or `LINE#HASH` as a whole) from there; never make one up.

```json
{
  "path": "src/server.ts",
  "operations": [
    {"op": "replace_line", "hash": "{{hashedref 1 "const PORT = 3000;"}}", "content": "const PORT = 4000;"},
    {"op": "insert_after", "hash": "{{hashedref 3 "app.listen(PORT, HOST);"}}", "content": "console.log(HOST, PORT);"}
  ]
}
```

## Anchor freshness

After reading a file with `read_file(hashes: true)`, apply edits to that file in the same response turn or the \
immediate next turn.
Do not read file A, then read file B, then later edit file A — the anchors from A will be stale and cause \
cross-version conflicts.
Process one file completely (read → edit) before reading anchors for another file.

## Anchor selection

Anchor selection guidance: Prefer lines with unique, distinctive content as anchors.
Avoid anchoring on empty lines, closing braces (`}`), or frequently repeated boilerplate (e.g., `position: fixed;`, \
`display: flex;` in CSS, `</div>` in HTML).
For files with repetitive content, use `replace_range` with two unique boundary anchors instead of `replace_line` — \
range operations enforce uniqueness on both endpoints and are rejected if ambiguous.
When a `replace_line` anchor matches multiple lines, use the `occurrence` field (1-indexed) and `line` field \
(advisory line number) together to disambiguate.

The quality says it in advance: `[high]` is a good anchor, `[med]` occurs often, `[low]` (blank, or only brackets, \
quotes, commas and semicolons) is refused as the target of a single-line operation.

## Operation selection

| Situation | Recommended Operation |
|---|---|
| Change a single line with unique content | `replace_line` |
| Change a contiguous block of lines | `replace_range` |
| Insert new content between two existing lines | `insert_after` / `insert_before` |
| Remove a single unique line | `delete_line` |
| Remove a contiguous block of lines | `delete_range` |
| Target line is repetitive (empty line, `}`, boilerplate) | `replace_range` wrapping it with unique neighbor anchors |

## Multi-file editing

Multi-file editing: When modifying multiple files, complete all operations on one file before moving to the next.
Batch operations targeting the same file into a single `edit` call where possible (all operations in one call are \
atomic against the same snapshot).
Avoid interleaving reads and edits across different files — read A → edit A → read B → edit B, not \
read A → read B → edit A → edit B.

## Parameter notes

- Use `path` to specify the file; `file_path` is deprecated and will be rejected. That is four weeks after the \
journal's first event, or after the day in the setting `file_path_until` (`[dialects.edit]`); until \
then a warning names the last day.
- `replace_line` / `delete_line` / `insert_after` / `insert_before` use `hash` (single anchor).
- `replace_range` / `delete_range` use `start_hash` + `end_hash` (two anchors).
- Mixing these (e.g., `start_hash` on a `replace_line`) causes validation failure.
- `content` is whole lines; `""` is one blank line. To remove lines use `delete_line` or `delete_range`.

## After the call

- Applied: lines up to `anchors_valid_through` are as you know them; from `must_refresh_from_line` on, use the anchors \
in `diff`, or read again.
- `anchor_stale`: the file has changed, and the reply says who changed what. Read it again, then edit.
- `anchor_low_entropy`: use one of the `neighbor_anchors`.
- `anchor_ambiguous`, `anchor_context_ambiguous`: choose among the `candidates`.
- `safety_check_failed`: the result would have broken the file (`safety_warnings`). Nothing was written.
"""
