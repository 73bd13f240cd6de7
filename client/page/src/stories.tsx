// What happened: a story a row, the newest first, by pages; news wait above where the reader has scrolled away.
import { computed, signal, useSignal, useSignalEffect } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { address, get, useAsk } from './api';
import { fresh, head } from './live';
import { Counts, Empty, Path, Refused, Terminal, Time, Wait, done, say } from './parts';
import { ahead, kept, keyOf } from './merge';
import { filter, go, here, place, withWord } from './state';
import { gitTitle, many, meanwhile, plain, undoTitle, visible } from './text';
import type { Rec, Reply, Story } from './types';
import { Name, storyName, writerName } from './writers';

const PAGE = 30;
const FEW = 4;
const QUIET_MS = 1500;
export const listed = signal<Story[]>([]);
/** Of those, the one that the reader has chosen. */
export const chosen = computed(() => listed.value.find((one) => String(one.seq) === here.story || String(one.first) === here.story));
const newestTurn = computed(() => listed.value.find((one) => one.form === 'turn' && one.writer.turn)?.writer.turn ?? '');

export function title(story: Story): string {
  switch (story.form) {
    case 'turn': return (story.prompt ?? '').split('\n').find((line) => line.trim())?.trim() || 'without a prompt';
    case 'run': return `$ ${story.commands?.[0] ?? ''}`;
    case 'git': return gitTitle(story.commands, story.hint);
    case 'undo': return undoTitle(story.how, story.undone);
    case 'checkpoint': return `checkpoint ${story.name ?? ''}${story.note ? `: ${story.note}` : ''}`;
    case 'capture': return 'first capture of the checkout';
    case 'person': return 'with Quire’s tools';
    default: return story.candidates?.length ? `may be ${[...new Set(story.candidates.map((one) => `${one.writer} ${one.label}`))].join(' or ')}` : meanwhile(story.hint) || 'saved';
  }
}

export function totals(story: Story): { added: number; removed: number } | null {
  if (!story.files.length || story.files_count > story.files.length || story.files.some((file) => file.added == null)) return null;
  return { added: story.files.reduce((n, f) => n + f.added!, 0), removed: story.files.reduce((n, f) => n + f.removed!, 0) };
}

export function where(story: Story): string {
  if (!story.files_count) return story.form === 'turn' || story.form === 'run' || story.form === 'saves' || story.form === 'undo' || story.form === 'person' ? (story.writes ? 'nothing left changed' : 'changed nothing') : '';
  if (story.files_count === 1 && story.files[0]) return story.files[0].path;
  const count = many(story.files_count, story.unread ? 'write' : 'file');
  const first = story.files[0]?.path ?? story.folders?.join(', ') ?? '';
  return first ? `${count}: ${first}${story.files_count > 1 && story.files[0] ? ` and ${story.files_count - 1} more` : ''}` : count;
}

function Row({ story, on }: { story: Story; on: boolean }) {
  const name = storyName(story);
  const sum = totals(story);
  return (
    <li
      id={`s${story.seq}`} class={`story${on ? ' on' : ''}${story.refused_count ? ' odd' : ''}`} role="option" aria-selected={on} data-seq={story.seq} data-first={story.first}
      onClick={(e) => (e.shiftKey && place.peek().story ? go({ view: 'compare', from: `seq:${Math.min(+here.story!, story.seq)}`, to: `seq:${Math.max(+here.story!, story.seq)}` }) : go({ story: String(story.seq), file: undefined, plan: undefined }))}
    >
      <Name name={name} probable={story.probable} />
      <span class="what">
        {title(story) && <span class="title cut"><span class={story.form === 'turn' && story.prompt ? 'prompt' : ''}>{visible(title(story))}</span></span>}
        <span class={title(story) ? 'where cut' : 'cut'}>{story.refused_count ? <b class="bad">{story.refused_count} refused · </b> : null}{visible(where(story))}</span>
      </span>
      {sum ? <Counts {...sum} /> : <span class="counts" />}
      <Time at={story.ended_at} />
    </li>
  );
}

const rows = new WeakMap<Story, { on: boolean; row: VNode }>();

function rowOf(story: Story, on: boolean): VNode {
  const known = rows.get(story);
  if (known?.on === on) return known.row;
  const row = <Row key={keyOf(story)} story={story} on={on} />;
  rows.set(story, { on, row });
  return row;
}

export function Stories() {
  const reply = useSignal<Reply | null>(null);
  const command = useSignal('');
  const news = useSignal(0);
  const reading = useSignal(false);
  const list = useRef<HTMLUListElement>(null);
  const shownHead = useRef(0), shownUntil = useRef<string | undefined>(undefined), asking = useRef(true);
  const f = filter.value;
  const args = { path: f.path, writer: f.writer, turn: f.turn, agent_session: f.agent_session, since: f.since, until: here.at ?? f.until, agents: f.agents, limit: PAGE };
  const key = address('stories', args);
  const running = useRef<AbortController | undefined>(undefined);

  const full = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const away = () => (list.current?.scrollTop ?? 0) > 8;

  function show(found: Story[], at: number) {
    listed.value = kept(found, listed.peek());
    shownHead.current = at;
    shownUntil.current = args.until;
    asking.current = false;
    news.value = 0;
  }

  /** What came: the newest few at once, all that is shown when it is quiet. */
  async function refresh() {
    running.current?.abort();
    clearTimeout(full.current);
    const stop = (running.current = new AbortController());
    const at = head.peek();
    try {
      const { reply: told } = await get('stories', { ...args, limit: FEW }, stop.signal);
      const found = told.ok && reply.peek()?.ok ? ahead(told.stories, listed.peek()) : null;
      if (!found) return void load();
      show(found, at);
      full.current = setTimeout(() => { if (!away()) void load(); }, QUIET_MS);
    } catch { /* a newer question is on its way */ }
  }

  async function load(anew = false) {
    running.current?.abort();
    clearTimeout(full.current);
    const stop = (running.current = new AbortController());
    asking.current = true;
    const at = head.peek();
    try {
      let answer = await get('stories', args, stop.signal);
      const found = [...(answer.reply.stories ?? [])];
      for (let i = 0; answer.reply.ok && answer.reply.next && !found.length && i < 20; i++) {
        const next: any = await get('stories', { ...args, cursor: answer.reply.next }, stop.signal); // where they are rare
        found.push(...(next.reply.stories ?? []));
        answer = { ...next, command: answer.command };
      }
      const below = anew || !answer.reply.ok ? null : ahead(found, listed.peek());
      reply.value = below && below.length > found.length ? { ...answer.reply, next: reply.peek()?.next } : answer.reply;
      command.value = answer.command || command.value;
      show(answer.reply.ok ? below ?? found : listed.peek(), at);
    } catch { /* a newer question is on its way */ }
  }

  async function more() {
    const cursor = reply.value?.next;
    if (!cursor || asking.current) return;
    asking.current = reading.value = true;
    const next = await get('stories', { ...args, cursor });
    asking.current = reading.value = false;
    if (!next.reply.ok) return say(next.reply.message);
    reply.value = { ...next.reply, ok: true };
    listed.value = [...listed.peek(), ...next.reply.stories];
  }

  useEffect(() => { void load(true); if (list.current) list.current.scrollTop = 0; return () => clearTimeout(full.current); }, [key]);

  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const last = useRef(0);
  useSignalEffect(() => {
    if (!fresh.value || place.peek().at) return;
    if (away()) { news.value = head.peek() - shownHead.current; return; }
    if (timer.current) return;
    const wait = Math.max(0, 400 - (performance.now() - last.current)); // the first at once, a stream of them now and then
    timer.current = setTimeout(() => { timer.current = undefined; last.current = performance.now(); void refresh(); }, wait);
  });

  const stories = listed.value;
  const selected = useRef<Story | undefined>(undefined); // that of the last moment, while the list of the next is on its way
  if (chosen.value || args.until === shownUntil.current) selected.current = chosen.value;
  const on = selected.current;
  const words = Object.keys(f).length > 0;
  // Drawn anew only when they differ: the rest of the page changes far more often.
  const shown = useMemo(() => <>{stories.map((story) => rowOf(story, story === on))}</>, [stories, on]);
  return (
    <section class="list" aria-label="What happened">
      {f.wrong && <p class="note">“{visible(f.wrong)}” is not understood: a filter has one path.</p>}
      {news.value > 0 && <button class="news" onClick={() => { if (list.current) list.current.scrollTop = 0; void load(); }}>{many(news.value, 'new record')} · show</button>}
      {reply.value && !reply.value.ok && <Refused reply={reply.value} />}
      <ul ref={list} role="listbox" aria-label="Stories, newest first" tabIndex={0} aria-activedescendant={on && `s${on.seq}`} onScroll={(e) => { const at = e.currentTarget; if (at.scrollTop + at.clientHeight > at.scrollHeight - 400) void more(); }}>
        {shown}
        {reply.value?.next && <li class="more"><button onClick={more}>{reading.value ? 'Reading…' : 'Earlier'}</button></li>}
      </ul>
      {!stories.length && reply.value?.ok && (
        words
          ? <Empty title="Nothing fits this filter."><p><button onClick={() => go({ q: undefined })}>Take the filter away</button></p></Empty>
          : here.at
            ? <Empty title="Nothing had happened by then."><p><button onClick={() => go({ at: undefined })}>Back to now</button></p></Empty>
            : <Empty title="Nothing has happened yet."><p>Save a file in the workspace, or let an agent work: it appears here by itself. <code>quire setup</code> tells agents about Quire.</p></Empty>
      )}
      {!stories.length && !reply.value && <Wait what="Reading what happened…" />}
      <Terminal command={command.value} />
    </section>
  );
}

/** Records with a text, or of a kind: stories have neither. */
export function Records() {
  const f = filter.value;
  const args = { path: f.path, writer: f.writer, turn: f.turn, agent_session: f.agent_session, since: f.since, until: here.at ?? f.until, contains: f.contains, kind: f.kind, limit: PAGE };
  const asked = useAsk('log', args, fresh.value);
  const [more, add] = useState<{ of: string; records: Rec[]; next?: string | null }>({ of: '', records: [] });
  const key = address('log', args), mine = more.of === key;
  const records: Rec[] = [...(asked.reply?.records ?? []), ...(mine ? more.records : [])];
  const next = mine ? more.next : asked.reply?.next;
  const selected = here.story;
  async function further() {
    const { reply } = await get('log', { ...args, cursor: next! });
    if (!reply.ok) return say(reply.message);
    add({ of: key, records: [...(mine ? more.records : []), ...reply.records], next: reply.next });
  }
  useEffect(() => { if (asked.reply?.ok && !records.length && next) void further(); }, [asked.reply, next]); // where they are rare
  return (
    <section class="list" aria-label="Records">
      {asked.reply && !asked.reply.ok && <Refused reply={asked.reply} />}
      <ul role="listbox" aria-label="Records, newest first" tabIndex={0} aria-activedescendant={selected && `s${selected}`}>
        {records.map((one) => (
          <li key={one.seq} id={`s${one.seq}`} class={`story${String(one.seq) === selected ? ' on' : ''}`} role="option" aria-selected={String(one.seq) === selected} onClick={() => go({ story: String(one.seq), file: one.to ?? one.path ?? undefined, plan: undefined })}>
            <Name name={writerName(one.writer)} probable={one.evidence === 'during'} />
            <span class="what"><span class="cut">{done(one)} {one.path && <Path path={one.to ?? one.path} />}</span></span>
            <code>{one.version ?? ''}</code><Time at={one.at} />
          </li>
        ))}
        {records.length > 0 && next && <li class="more"><button onClick={further}>Earlier</button></li>}
      </ul>
      {!asked.reply || (asked.reply.ok && !records.length && next) ? <Wait what="Searching…" /> : asked.reply.ok && !records.length && <Empty title="Nothing fits this filter."><p><button onClick={() => go({ q: undefined })}>Take the filter away</button></p></Empty>}
      <Terminal command={asked.command} />
    </section>
  );
}

/** One-click filters, which are words of the filter. */
export function Chips() {
  const q = here.q ?? '';
  const f = filter.value;
  const set = (key: string, value: string) => go({ q: withWord(q, key, value) || undefined, story: undefined });
  const seen = Number(localStorage.getItem('quire.seen') ?? 0);
  return (
    <div class="chips" role="group" aria-label="Filters">
      <button aria-pressed={!!f.agents} onClick={() => set('agents', f.agents ? '' : 'agents')}>Agents only</button>
      <button aria-pressed={!!f.turn} disabled={!f.turn && !newestTurn.value} onClick={() => set('turn', f.turn ? '' : newestTurn.value)}>Last turn</button>
      <button aria-pressed={!!f.since} disabled={!f.since && !seen} title="What happened since you looked last" onClick={() => set('since', f.since ? '' : String(seen))}>Since my last look</button>
      {f.writer && <button aria-pressed="true" onClick={() => set('writer', '')}>by {visible(f.writer)} ✕</button>}
      {f.contains && <button aria-pressed="true" onClick={() => go({ q: q.replace(/(text:)?"[^"]*"|text:\S+/gi, '').trim() || undefined })}>with “{visible(f.contains)}” ✕</button>}
      {f.kind && <button aria-pressed="true" onClick={() => set('kind', '')}>{visible(f.kind.replace(/_/g, ' '))} ✕</button>}
      {f.path && <button aria-pressed="true" onClick={() => go({ q: q.split(/\s+/).filter((w) => /^[a-z]+:/.test(w) && !w.startsWith('path:')).join(' ') || undefined })}>in {visible(plain(f.path))} ✕</button>}
    </div>
  );
}
