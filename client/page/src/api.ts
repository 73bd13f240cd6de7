// Calls of the server. A reply of the daemon comes as it is, with the same for a terminal beside it.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { Reply } from './types';

export interface Answer { reply: Reply; command: string }
export type Args = Record<string, string | number | boolean | string[] | undefined | null>;

export const right = signal<'read' | 'write' | ''>('');
export const gate = signal(''); // why nothing can be asked any more

export function address(tool: string, args: Args): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(args)) {
    if (value == null || value === '' || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, one === true ? '1' : String(one));
  }
  const text = query.toString();
  return `/api/${tool}${text ? `?${text}` : ''}`;
}

async function answered(response: Response): Promise<Answer> {
  const command = decodeURIComponent(response.headers.get('quire-command') ?? '');
  if (response.headers.get('content-type') !== 'application/json') {
    const message = (await response.text()).slice(0, 300);
    if (response.status === 401) gate.value = message;
    return { reply: { ok: false, error: `http_${response.status}`, message }, command };
  }
  return { reply: await response.json(), command };
}

const gone = (error: unknown): Answer => ({ reply: { ok: false, error: 'no_page', message: `The page’s server does not answer (${(error as Error).message}). Run \`quire page\` again.` }, command: '' });

export const get = (tool: string, args: Args = {}, signal?: AbortSignal) => ask(address(tool, args), signal);

async function ask(address: string, signal?: AbortSignal): Promise<Answer> {
  try {
    return await answered(await fetch(address, { signal }));
  } catch (error) {
    if (signal?.aborted) throw error;
    return gone(error);
  }
}

export async function post(tool: string, body: object): Promise<Answer> {
  try {
    const headers = { 'content-type': 'application/json', 'x-quire': '1' };
    return await answered(await fetch(`/api/${tool}`, { method: 'POST', headers, body: JSON.stringify(body) }));
  } catch (error) {
    return gone(error);
  }
}

// What was asked lately, by its address: a step of the slider and back costs no call.
const kept = new Map<string, Answer>();
const MOST_KEPT = 300;
const FIXED = /(^|[?&])(at|to|version|until)=/;

function keep(key: string, answer: Answer) {
  kept.set(key, answer);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
}

export interface Asked extends Partial<Answer> { loading: boolean }

/** The answer to a question; `tick` asks again. While the next one is on its way the last one stands. */
export function useAsk(tool: string | null, args: Args, tick: unknown = 0): Asked {
  const key = tool ? address(tool, args) : '';
  const [state, set] = useState<Partial<Answer> & { key: string }>({ key: '' });
  useEffect(() => {
    if (!tool) return;
    const known = kept.get(key);
    if (known && FIXED.test(key)) { set({ ...known, key }); return; }
    const stop = new AbortController();
    ask(key, stop.signal).then((answer) => { if (answer.reply.ok) keep(key, answer); set({ ...answer, key }); }, () => {});
    return () => stop.abort();
  }, [key, tick]);
  return tool ? { ...state, loading: state.key !== key } : { loading: false };
}
