// Where the reader is: it stands in the address, so that a copied address shows the same.
import { computed, signal } from '@preact/signals';

export interface Place {
  view: 'activity' | 'files' | 'review' | 'people' | 'compare' | 'history';
  story?: string; // seq of its newest record
  file?: string; // of the story
  at?: string; // the moment that is replayed, a point; nothing: now
  path?: string;
  lines?: string; // 3-7
  from?: string;
  to?: string;
  q?: string; // the filter, as it is typed
  zoom?: string; // seqs: 100-900
  axis?: string; // time: as much room for as much time, else for as many records
  mode?: string; // of diffs: split
  space?: string; // 1: lines that differ in white space only are equal
  plan?: string; // what is to be taken back, as JSON
}

const FIELDS = ['view', 'story', 'file', 'at', 'path', 'lines', 'from', 'to', 'q', 'zoom', 'axis', 'mode', 'space', 'plan'] as const;
const VIEWS = ['activity', 'files', 'review', 'people', 'compare', 'history'];

const MOST = 6000; // characters of a field

export function read(search: string): Place {
  const query = new URLSearchParams(search);
  const found: Record<string, string> = {};
  for (const name of FIELDS) {
    const value = query.get(name);
    if (value) found[name] = value.slice(0, MOST);
  }
  return { ...found, view: (VIEWS.includes(found.view) ? found.view : 'activity') as Place['view'] };
}

export function write(place: Place): string {
  const query = new URLSearchParams();
  for (const name of FIELDS) if (place[name] && !(name === 'view' && place.view === 'activity')) query.set(name, String(place[name]));
  const text = query.toString();
  return text ? `?${text}` : '/';
}

export const place = signal<Place>({ view: 'activity' });

/** The place by its fields: who reads one is drawn anew when that one changes, and for no other. */
export const here = {} as Readonly<Place>;
for (const name of FIELDS) {
  const field = computed(() => place.value[name]);
  Object.defineProperty(here, name, { get: () => field.value });
}

/** Go somewhere; `step` puts it into the browser's history. */
export function go(changes: Partial<Place>, step = true) {
  place.value = { ...place.peek(), ...changes };
  const address = write(place.peek());
  if (address === `${location.search || '/'}`) return;
  if (step) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
}

export interface Filter { path?: string; writer?: string; turn?: string; agent_session?: string; since?: string; until?: string; agents?: boolean; contains?: string; kind?: string; wrong?: string }

const KEYS: Record<string, keyof Filter> = { path: 'path', writer: 'writer', by: 'writer', turn: 'turn', session: 'agent_session', since: 'since', until: 'until', kind: 'kind', text: 'contains' };
const AGES: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** A point as people type it: 2h is a time, 812 a record, anything else what it is. */
export function point(text: string, now = Date.now()): string {
  const age = /^(\d+)([smhdw])$/.exec(text);
  if (age) return new Date(now - Number(age[1]) * AGES[age[2]] * 1000).toISOString();
  return /^\d+$/.test(text) ? `seq:${text}` : text;
}

/** The words of a filter: `writer:ada path:src since:2h agents`; a word without a colon is a path, or a text in quotes. */
export function parse(text: string, now?: number): Filter {
  const found: Filter = {};
  for (const [word] of text.matchAll(/(?:[a-z]+:)?"[^"]*"|\S+/gi)) {
    const colon = word.indexOf(':');
    const name = colon > 0 ? word.slice(0, colon).toLowerCase() : '';
    const key = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined;
    const value = (key ? word.slice(colon + 1) : word).replace(/^"(.*)"$/, '$1');
    if (!value) continue;
    if (key === 'since' || key === 'until') found[key] = point(value, now);
    else if (key) (found as any)[key] = value;
    else if (word === 'agents') found.agents = true;
    else if (word.startsWith('"')) found.contains = value;
    else if (found.path) found.wrong = word;
    else found.path = /[*?/.]/.test(value) ? value : `**/*${value}*`;
  }
  return found;
}

/** The filter's text with a word set, or taken out where `value` is "". */
export function withWord(text: string, key: string, value: string): string {
  const rest = [...text.matchAll(/(?:[a-z]+:)?"[^"]*"|\S+/gi)].map(([word]) => word).filter((word) => !word.startsWith(`${key}:`) && word !== key);
  if (value) rest.push(value === key ? key : `${key}:${/\s/.test(value) ? `"${value}"` : value}`);
  return rest.join(' ');
}

export const past = computed(() => !!here.at); // is an earlier moment shown?

export const filter = computed(() => parse(here.q ?? ''));
