// The lines that came with a change, and where they are now. Pure.
import type { Difference, Hunk } from './types';

/** Lines of a file, first to last, from 1. */
export interface Lines { first: number; last: number }

/** The lines that came with a hunk, one after the other; `gone`: lines went in whose place none came. */
export function came(hunk: Hunk): { runs: Lines[]; gone: boolean } {
  const runs: Lines[] = [];
  let line = hunk.new_lines ? hunk.new_start : hunk.new_start + 1, gone = false;
  for (let at = 0; at < hunk.lines.length; ) {
    if (hunk.lines[at][0] === ' ') { line++; at++; continue; }
    const first = line, began = at;
    for (; at < hunk.lines.length && hunk.lines[at][0] !== ' '; at++) if (hunk.lines[at][0] === '+') line++;
    if (line > first) runs.push({ first, last: line - 1 });
    else if (hunk.lines.slice(began, at).some((one) => one[0] === '-')) gone = true;
  }
  return { runs, gone };
}

/** Where lines of a file are after these hunks, which have no lines around their changes; null where some of them changed. */
export function after(hunks: Hunk[], { first, last }: Lines): Lines | null {
  let shift = 0;
  for (const hunk of hunks) {
    const start = hunk.old_lines ? hunk.old_start : hunk.old_start + 1, end = start + hunk.old_lines; // the first behind
    if (start > last) break;
    if (end > first) return null;
    shift += hunk.new_lines - hunk.old_lines;
  }
  return { first: first + shift, last: last + shift };
}

/** The hunks of what became of a file since; null where its lines cannot be followed. */
export function since(path: string, files: Difference[]): Hunk[] | null {
  const file = files.find((one) => one.path === path);
  if (!file) return files.length ? null : [];
  return file.moved_from ? null : file.hunks ?? (file.status === 'mode' ? [] : null);
}

export const numbers = ({ first, last }: Lines, sign = '–') => (first === last ? `${first}` : `${first}${sign}${last}`);
