// Which words of a changed line changed: pairs of lines that came for lines that went, told as ranges. Pure.
export type Range = [number, number];

const TOKEN = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;

/** What differs between two lines, in each: all between their common beginning and their common end, by whole words. */
export function differing(a: string, b: string): [Range, Range] | null {
  const left = a.match(TOKEN) ?? [], right = b.match(TOKEN) ?? [];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end++;
  const common = left.slice(0, start).join('').length, tail = end ? left.slice(-end).join('').length : 0;
  if ((common + tail) * 3 < Math.max(a.length, b.length)) return null; // another line, rather than a changed one
  return [[common, a.length - tail], [common, b.length - tail]];
}

export interface Line { kind: ' ' | '-' | '+'; old?: number; new?: number; text: string; mark?: Range }

/** The lines of a hunk with their numbers, and the words that changed. */
export function numbered(hunk: { old_start: number; old_lines: number; new_start: number; new_lines: number; lines: string[] }): Line[] {
  let old = hunk.old_lines ? hunk.old_start : hunk.old_start + 1, now = hunk.new_lines ? hunk.new_start : hunk.new_start + 1;
  const lines: Line[] = hunk.lines.map((row) => {
    const kind = (row[0] === '-' || row[0] === '+' ? row[0] : ' ') as Line['kind'];
    return { kind, text: row.slice(1), ...(kind !== '+' ? { old: old++ } : {}), ...(kind !== '-' ? { new: now++ } : {}) };
  });
  for (let at = 0; at < lines.length; ) {
    if (lines[at].kind !== '-') { at++; continue; }
    let mid = at;
    while (lines[mid]?.kind === '-') mid++;
    let end = mid;
    while (lines[end]?.kind === '+') end++;
    for (let i = 0; i < Math.min(mid - at, end - mid); i++) {
      if (lines[at + i].text.length + lines[mid + i].text.length > 4000) continue;
      const found = differing(lines[at + i].text, lines[mid + i].text);
      if (found) [lines[at + i].mark, lines[mid + i].mark] = found;
    }
    at = Math.max(end, at + 1);
  }
  return lines;
}

/** Old and new side by side: a pair of lines a row, either of which may be missing. */
export function sides(lines: Line[]): [Line | null, Line | null][] {
  const rows: [Line | null, Line | null][] = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at].kind === ' ') { rows.push([lines[at], lines[at]]); at++; continue; }
    const gone: Line[] = [], came: Line[] = [];
    while (lines[at]?.kind === '-') gone.push(lines[at++]);
    while (lines[at]?.kind === '+') came.push(lines[at++]);
    for (let i = 0; i < Math.max(gone.length, came.length); i++) rows.push([gone[i] ?? null, came[i] ?? null]);
  }
  return rows;
}

/** Where lines first..last of the new text were in the old one, and whether the hunks touch them. */
export function before(hunks: { old_start: number; old_lines: number; new_start: number; new_lines: number; lines: string[] }[], first: number, last: number): { first: number; last: number; touched: boolean } {
  const where = (line: number, up: boolean): [number, boolean] => {
    let shift = 0;
    for (const hunk of hunks) {
      let near: number | null = null;
      for (const row of numbered(hunk)) {
        if (row.kind !== '+') near = row.old!;
        if (row.new === line) return row.kind === ' ' ? [row.old!, false] : [up ? (near ?? hunk.old_start) + 1 : near ?? hunk.old_start, true];
      }
      const end = hunk.new_lines ? hunk.new_start + hunk.new_lines : hunk.new_start + 1;
      if (line >= end) shift = (hunk.old_lines ? hunk.old_start + hunk.old_lines : hunk.old_start + 1) - end;
    }
    return [line + shift, false];
  };
  const [a] = where(first, true), [b] = where(last, false);
  const touched = hunks.some((hunk) => numbered(hunk).some((row, i, all) => row.kind === '+' ? row.new! >= first && row.new! <= last : row.kind === '-' && inside(all, i, first, last)));
  return { first: Math.max(1, Math.min(a, b || a)), last: Math.max(a, b), touched };
}

function inside(rows: Line[], at: number, first: number, last: number): boolean {
  for (let i = at; i >= 0; i--) if (rows[i].new != null) return rows[i].new! >= first && rows[i].new! < last;
  for (let i = at; i < rows.length; i++) if (rows[i].new != null) return rows[i].new! > first && rows[i].new! <= last;
  return false;
}
