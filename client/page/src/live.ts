// The live feed: what happened since, resumed behind the last that came.
import { signal } from '@preact/signals';
import type { Rec } from './types';

export const link = signal<'joining' | 'live' | 'no daemon' | 'lost'>('joining');
export const head = signal(0); // the newest record
export const fresh = signal(0); // counts messages with news: views that show now ask again
export const lastRecords = signal<Rec[]>([]);

const seqOf = (cursor: string) => Number(/^c(\d+)\./.exec(cursor)?.[1] ?? 0);

export function listen(): () => void {
  const source = new EventSource('/api/live');
  source.onerror = () => { link.value = 'lost'; };
  source.onopen = () => { if (link.peek() === 'lost') link.value = 'joining'; };
  source.addEventListener('lost', () => { link.value = 'no daemon'; });
  source.addEventListener('records', (message) => {
    const told = JSON.parse((message as MessageEvent).data);
    link.value = 'live';
    head.value = Math.max(told.fresh ? 0 : head.peek(), seqOf(told.cursor));
    lastRecords.value = told.records;
    if (told.records.length || told.fresh) fresh.value++;
  });
  return () => source.close();
}
