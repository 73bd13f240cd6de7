// Stretches of the log that the lanes show: zoom, pan, and which stretch is where; and the calls that stand in one. Pure.
import type { Rec } from './types';

export type Span = [number, number]; // after the first seq, up to the second

export const whole = (head: number): Span => [0, Math.max(head, 1)];

export function span(text: string | undefined, head: number): Span {
  const found = /^(\d+)-(\d+)$/.exec(text ?? '');
  return found && +found[2] > +found[1] ? fit([+found[1], +found[2]], head) : whole(head);
}

/** The same width within the log, as far as it can be. */
export function fit([a, b]: Span, head: number): Span {
  const top = Math.max(head, 1), width = Math.min(Math.max(b - a, 8), Math.max(top, 8));
  const start = Math.round(Math.min(Math.max(a, 0), Math.max(top - width, 0)));
  return [start, Math.round(Math.min(start + width, Math.max(top, start + 8)))];
}

/** Wider or narrower by a factor, with what is at `part` (0 to 1) staying where it is. */
export function zoom([a, b]: Span, part: number, factor: number, head: number): Span {
  const at = a + (b - a) * part;
  return fit([at - (at - a) * factor, at + (b - at) * factor], head);
}

export const pan = ([a, b]: Span, parts: number, head: number): Span => fit([a + (b - a) * parts, b + (b - a) * parts], head);

export const told = ([a, b]: Span, head: number) => (a <= 0 && b >= head ? undefined : `${a}-${b}`);

/** Where a record stands among bounds, 0 to 1. */
export function partOf(seq: number, bounds: number[]): number {
  const n = bounds.length - 1;
  if (n < 1 || seq <= bounds[0]) return 0;
  if (seq >= bounds[n]) return 1;
  let low = 0, high = n;
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (bounds[mid] < seq) low = mid;
    else high = mid;
  }
  const width = bounds[low + 1] - bounds[low];
  return (low + (width ? (seq - bounds[low]) / width : 1)) / n;
}

/** Counts at times as counts in buckets, whose bounds are at `times`; what is before or after goes into the nearest. */
export function placed(writes: [number, number][], times: number[]): [number, number][] {
  const found = new Map<number, number>();
  for (const [at, count] of writes) {
    let low = 0, high = times.length - 1;
    while (high - low > 1) {
      const mid = (low + high) >> 1;
      if (times[mid] <= at) low = mid;
      else high = mid;
    }
    found.set(low, (found.get(low) ?? 0) + count);
  }
  return [...found].sort((a, b) => a[0] - b[0]);
}

/** All records after one seq up to another, the oldest first. */
export interface Stretch { after: number; upto: number; records: Rec[] }

/** The last record of the call before, or of the one behind, a record; undefined where this stretch does not tell. */
export function beside({ after, upto, records }: Stretch, seq: number, by: 1 | -1): Rec | undefined {
  if (by < 0) return seq <= upto + 1 ? records.findLast((one) => one.seq < seq) : undefined;
  const next = seq >= after ? records.find((one) => one.seq > seq) : undefined;
  const last = records.findLast((one) => one.batch === next?.batch);
  return last?.seq === upto ? undefined : last; // its call may go on
}
