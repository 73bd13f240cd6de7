// Writers: one name, one colour and one shape, the same in every view, and in a tab after every reload.
import { h, type VNode } from 'preact';
import { plain, visible } from './text';
import type { Story, Writer } from './types';

export const HUES = 8;
export const SHAPES = ['M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Z', 'M3 3h10v10H3Z', 'M8 1.6 15 14H1Z', 'M8 1 15 8 8 15 1 8Z', 'M1 2h14L8 14.4Z', 'M6 1.5h4V6h4.5v4H10v4.5H6V10H1.5V6H6Z', 'M4.6 1.6h6.8L15 8l-3.6 6.4H4.6L1 8Z'];
export const SHAPE_NAMES = ['circle', 'square', 'triangle', 'diamond', 'wedge', 'cross', 'hexagon'];
const RING = 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 3a3 3 0 1 1 0 6 3 3 0 0 1 0-6Z';

export interface Look { hue: number; shape: number } // hue -1: nobody's

/** FNV-1a: the same number for the same name, everywhere. */
export function hash(name: string): number {
  let found = 0x811c9dc5;
  for (const sign of new TextEncoder().encode(name)) found = Math.imul(found ^ sign, 0x01000193) >>> 0;
  return found;
}

const hues = new Map<string, number>(); // agent → its hue
const looks = new Map<string, Look>(); // name → its look; a tab keeps it, so that a reload changes none
const KEPT = 'quire.looks';
try {
  for (const [name, one] of JSON.parse(sessionStorage.getItem(KEPT) ?? '[]') as [string, Look][]) {
    if (!(one.hue > 0 && one.hue < HUES && SHAPES[one.shape])) continue;
    looks.set(name, { hue: one.hue, shape: one.shape });
    hues.set(agentOf(name), one.hue);
  }
} catch { /* no storage here, or not ours */ }

function agentOf(name: string): string {
  return name.split('/')[0] ?? name;
}

/** The first of `count` numbers from `start` on that is free; `start` where none is. */
function firstFree(start: number, count: number, taken: (one: number) => boolean): number {
  for (let step = 0; step < count; step++) if (!taken((start + step) % count)) return (start + step) % count;
  return start;
}

/**
 * Outside programs and git are grey, the person is always the first hue. An agent has a hue, its sessions have it too, and
 * no two names have hue and shape in common while some are free: the hash of a name says where the search begins.
 */
export function look(name: string): Look {
  if (name === 'outside' || name === 'git' || name === 'others') return { hue: -1, shape: 0 };
  if (name === 'quire') return { hue: -1, shape: 1 };
  if (name === 'user' || name.startsWith('user/')) return { hue: 0, shape: 0 };
  const known = looks.get(name);
  if (known) return known;
  const agent = agentOf(name);
  const used = [...hues.values()];
  const hue = hues.get(agent) ?? 1 + firstFree(hash(agent) % (HUES - 1), HUES - 1, (one) => used.includes(one + 1));
  hues.set(agent, hue);
  const same = [...looks.values()].filter((one) => one.hue === hue);
  const shape = firstFree((hash(name) >>> 8) % SHAPES.length, SHAPES.length, (one) => same.some((other) => other.shape === one));
  looks.set(name, { hue, shape });
  try { sessionStorage.setItem(KEPT, JSON.stringify([...looks])); } catch { /* no storage here, or full */ }
  return { hue, shape };
}

const SHORT = 14;
export function writerName(writer: Writer | null | undefined): string {
  if (!writer) return 'outside';
  if (!writer.agent && writer.uid != null && writer.agent_session) return `user/${writer.agent_session.slice(0, SHORT)}`;
  if (!writer.agent) return writer.uid == null ? (writer.id && writer.id !== 'outside' && writer.id[0] !== 'w' ? writer.id : 'outside') : 'user';
  const session = writer.parent || writer.agent_session;
  return session ? `${writer.agent}/${session.length > SHORT ? session.slice(0, 8) : session}` : writer.agent;
}

export function storyName(story: Story): string {
  if (story.writer?.agent) return writerName(story.writer);
  if (story.form === 'git') return 'git';
  if (story.form === 'capture') return 'quire';
  return story.writer?.uid != null ? writerName(story.writer) : 'outside';
}

export function Shape({ name, size = 10 }: { name: string; size?: number }): VNode {
  const { hue, shape } = look(name);
  return h('svg', { class: `shape w${hue}`, width: size, height: size, viewBox: '0 0 16 16', 'aria-hidden': 'true' }, h('path', { d: hue < 0 && !shape ? RING : SHAPES[shape] }));
}

export function Name({ name, probable }: { name: string; probable?: boolean }): VNode<any> {
  const told = name === 'outside' ? 'outside: an editor, a person’s shell, or another program' : plain(name);
  return h('span', { class: 'name', title: probable ? `${told}: probably, by a command that ran then` : told }, Shape({ name }), h('span', { class: 'cut' }, probable ? '~' : null, visible(name)));
}
