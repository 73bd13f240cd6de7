// The live feed: what happened since, resumed behind the last that came. A tab that nobody sees has none: a browser has six
// connections to a server, for all of its tabs together.
import { signal } from '@preact/signals';
import { gate, get } from './api';
import type { Rec } from './types';

export const link = signal<'joining' | 'live' | 'no daemon' | 'lost' | 'crowded'>('joining');
export const head = signal(0); // the newest record
export const fresh = signal(0); // counts messages with news: views that show now ask again
export const lastRecords = signal<Rec[]>([]);

const AGAIN_MS = 3000;
const seqOf = (cursor: string) => Number(/^c(\d+)\./.exec(cursor)?.[1] ?? 0);

export function listen(): () => void {
  let source: EventSource | null = null, cursor = '', timer: ReturnType<typeof setTimeout> | undefined;

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  function open() {
    close();
    if (document.visibilityState === 'hidden') return;
    const opened = (source = new EventSource(`/api/live${cursor ? `?after=${encodeURIComponent(cursor)}` : ''}`));
    opened.onerror = () => {
      if (opened.readyState !== EventSource.CLOSED) { link.value = 'lost'; return; } // it tries again by itself
      void get('key').then(({ reply }) => { // the server refused it: why?
        if (source !== opened) return;
        link.value = reply.ok ? 'crowded' : 'lost';
        if (!gate.peek()) timer = setTimeout(open, AGAIN_MS);
      });
    };
    opened.onopen = () => { if (link.peek() === 'lost' || link.peek() === 'crowded') link.value = 'joining'; };
    opened.addEventListener('lost', () => { link.value = 'no daemon'; });
    opened.addEventListener('records', (message) => {
      const told = JSON.parse((message as MessageEvent).data);
      cursor = told.cursor;
      link.value = 'live';
      head.value = Math.max(told.fresh ? 0 : head.peek(), seqOf(told.cursor));
      lastRecords.value = told.records;
      if (told.records.length || told.fresh) fresh.value++;
    });
  }

  open();
  document.addEventListener('visibilitychange', open);
  return () => { document.removeEventListener('visibilitychange', open); close(); };
}
