// The frame: where one is, the filter, the link to the daemon, the keys; and in it the view.
import { computed, effect, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { gate, get, right } from './api';
import { Compare } from './diff';
import { Files } from './files';
import { History } from './history';
import { head, link, listen } from './live';
import { Lanes, Moment } from './lanes';
import { People } from './people';
import { Plan } from './plan';
import { Review } from './review';
import { said } from './parts';
import { filter, go, here, past, place, read } from './state';
import { Chips, Records, Stories } from './stories';
import { Detail } from './story';
import { plain, visible } from './text';

const workspace = signal('');
const degraded = signal('');
const theme = signal(localStorage.getItem('quire.theme') ?? 'auto');
const keys = signal(false);
const shape = computed(() => `views ${here.view}${here.plan ? ' planning' : ''}${here.story ? ' chosen' : ''}`);
const inRecords = computed(() => !!(filter.value.contains || filter.value.kind));

effect(() => { document.documentElement.dataset.theme = theme.value; });

const VIEWS: [string, string][] = [['activity', 'Activity'], ['files', 'Files'], ['review', 'Review'], ['people', 'People']];
const LINKS: Record<string, string> = { joining: 'joining…', live: 'live', 'no daemon': 'no daemon', lost: 'lost', crowded: 'not live' };
const TOLD: Record<string, string> = { live: 'What happens appears here by itself.', 'no daemon': 'The daemon ended; the page goes on when it is back.', lost: 'The page’s server does not answer. Run `quire page` again.', crowded: 'Too many tabs follow what happens. Close one, and this one follows, too.', joining: '' };

function Link() {
  return <span class={`link ${link.value.replace(' ', '-')}${past.value ? ' paused' : ''}`} role="status" title={TOLD[link.value]}><i aria-hidden="true" /><span class="told">{link.value === 'live' && past.value ? 'an earlier moment' : LINKS[link.value]}</span></span>;
}

function Head() {
  const box = useRef<HTMLInputElement>(null);
  const shown = here.view;
  useEffect(() => { if (box.current && document.activeElement !== box.current) box.current.value = here.q ?? ''; }, [here.q]);
  return (
    <header class="head">
      <h1><a class="brand" href="/" onClick={(e) => { e.preventDefault(); go({ view: 'activity', story: undefined, file: undefined, at: undefined, q: undefined, plan: undefined, zoom: undefined }); }}>Quire</a></h1>
      <span class="workspace cut" title={plain(workspace.value)}>{visible(workspace.value.split('/').at(-1))}</span>
      <nav aria-label="Views">{VIEWS.map(([view, name]) => <button key={view} aria-current={shown === view || (view === 'files' && shown === 'history') || (view === 'activity' && shown === 'compare') ? 'page' : undefined} onClick={() => go({ view: view as any, plan: undefined })}>{name}</button>)}</nav>
      <form role="search" onSubmit={(e) => { e.preventDefault(); go({ view: 'activity', q: box.current!.value.trim() || undefined, story: undefined }); box.current!.blur(); }}>
        <input ref={box} id="filter" type="search" aria-label="Filter" placeholder='Filter: writer:ada src/ "text" since:2h' autocomplete="off" spellcheck={false} onSearch={(e: any) => { if (!e.currentTarget.value) go({ q: undefined }); }} />
      </form>
      {right.value === 'read' && <span class="badge" title="This link may look only">read-only</span>}
      <Link />
      <button class="quiet" title="Light, dark, or as the system has it" aria-label={`Theme: ${theme.value}`} onClick={() => { theme.value = theme.value === 'auto' ? 'dark' : theme.value === 'dark' ? 'light' : 'auto'; localStorage.setItem('quire.theme', theme.value); }}>{theme.value === 'dark' ? '☾' : theme.value === 'light' ? '☀' : '◐'}</button>
      <button class="quiet" aria-label="Keys" title="Keys" onClick={() => { keys.value = !keys.value; }}>?</button>
    </header>
  );
}

const KEYS: [string, string][] = [['j k', 'next, previous row'], ['[ ]', 'replay: the call before, the next'], ['space', 'play, pause'], ['w s a d', 'on the lanes: nearer, farther, earlier, later'], ['n p', 'next, previous change within a file'], ['o', 'open the next file of the story'], ['/', 'filter'], ['1 2 3 4', 'Activity, Files, Review, People'], ['s', 'side by side'], ['u', 'plan to take back what is chosen; review: reject the place'], ['a', 'review: accept the place'], ['c', 'copy the link'], ['Esc', 'close, or back to now'], ['?', 'these keys']];

function Keys() {
  return (
    <aside class="keys" aria-label="Keys">
      <header><h2>Keys</h2><button class="quiet close" aria-label="Close" onClick={() => { keys.value = false; }}>✕</button></header>
      <dl>{KEYS.map(([key, told]) => <><dt key={key}>{key.split(' ').map((one) => <kbd key={one}>{one}</kbd>)}</dt><dd>{told}</dd></>)}</dl>
      <p class="dim">A filter has words: <code>writer:ada</code> <code>turn:…</code> <code>session:…</code> <code>since:2h</code> <code>until:812</code> <code>"a text"</code> <code>kind:edit_refused</code> <code>agents</code>, and a path.</p>
      <p class="dim"><a href="/LICENSES.txt">Licences</a></p>
    </aside>
  );
}

function step(by: number) {
  const box = document.querySelector<HTMLElement>('[role=listbox], [role=tree]');
  if (!box) return;
  if (box.matches('[role=tree]')) return void box.dispatchEvent(new KeyboardEvent('keydown', { key: by > 0 ? 'ArrowDown' : 'ArrowUp' }));
  const rows = [...box.querySelectorAll<HTMLElement>('[role=option]')];
  const at = rows.findIndex((row) => row.getAttribute('aria-selected') === 'true');
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.click();
  next?.scrollIntoView({ block: 'nearest' });
}

function hunk(by: number) {
  const all = [...document.querySelectorAll<HTMLElement>('tbody.hunk')];
  if (!all.length) return;
  const middle = 160;
  const at = all.findIndex((one) => one.getBoundingClientRect().top > middle - 4);
  const next = by > 0 ? all.find((one) => one.getBoundingClientRect().top > middle + 4) : [...all].reverse().find((one) => one.getBoundingClientRect().top < middle - 4);
  const to = next ?? all[by > 0 ? all.length - 1 : Math.max(0, at - 1)];
  to?.scrollIntoView({ block: 'start' });
  to?.closest<HTMLElement>('.hunks')?.focus({ preventScroll: true });
}

/** The button of this name in the change that has the focus, else the first one. */
function press(name: RegExp) {
  const of = (root?: ParentNode | null) => [...(root?.querySelectorAll<HTMLElement>('button') ?? [])].find((one) => name.test(one.textContent ?? ''));
  (of(document.activeElement?.closest('.hunks')) ?? of(document))?.click();
}

function pressed(e: KeyboardEvent) {
  const target = e.target as HTMLElement;
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === 'Escape') {
    if (target.matches('input')) return target.blur();
    if (keys.value) keys.value = false;
    else if (here.plan) go({ plan: undefined });
    else if (here.at) go({ at: undefined });
    else if (here.story) go({ story: undefined, file: undefined });
    return;
  }
  if (target.matches('input, textarea, select')) return;
  if (target.matches('[role=listbox]') && (e.key === 'ArrowDown' || e.key === 'ArrowUp')) { e.preventDefault(); return step(e.key === 'ArrowDown' ? 1 : -1); }
  const acts: Record<string, () => void> = {
    j: () => step(1), k: () => step(-1), n: () => hunk(1), p: () => hunk(-1),
    o: () => { const files = [...document.querySelectorAll<HTMLElement>('.detail .files .fold')]; const at = files.findIndex((one) => one.getAttribute('aria-expanded') === 'true'); files[(at + 1) % files.length]?.click(); },
    '/': () => document.getElementById('filter')?.focus(), '?': () => { keys.value = !keys.value; },
    1: () => go({ view: 'activity' }), 2: () => go({ view: 'files' }), 3: () => go({ view: 'review' }), 4: () => go({ view: 'people' }),
    s: () => go({ mode: here.mode === 'split' ? undefined : 'split' }, false),
    u: () => press(/^(Take|Bring) back.*…$|^Reject$/), a: () => press(/^Accept$/),
    c: () => { void navigator.clipboard?.writeText(location.href).then(() => { said.value = 'Copied the link.'; }); },
  };
  if (acts[e.key]) { e.preventDefault(); acts[e.key](); }
}

export function App() {
  useEffect(() => {
    place.value = read(location.search);
    const back = () => { place.value = read(location.search); };
    addEventListener('popstate', back);
    addEventListener('keydown', pressed);
    const stop = listen();
    void get('key').then(({ reply }) => { if (reply.ok) right.value = reply.right; });
    const leave = () => { if (head.peek()) localStorage.setItem('quire.seen', String(head.peek())); };
    addEventListener('pagehide', leave);
    return () => { removeEventListener('popstate', back); removeEventListener('keydown', pressed); removeEventListener('pagehide', leave); stop(); };
  }, []);
  useEffect(() => {
    void get('status').then(({ reply }) => {
      if (!reply.ok) return;
      workspace.value = reply.workspace ?? '';
      document.title = `${plain(workspace.value.split('/').at(-1))} · Quire`;
      const state = reply.coverage?.state;
      degraded.value = state && state !== 'full' ? (reply.coverage.reasons ?? []).map((one: any) => one.message ?? one).join(' ') || 'Not everything is watched.' : '';
    });
  }, [link.value]);
  const { view } = here;
  if (gate.value) return <main class="closed"><h1>Quire</h1><p>{visible(gate.value)}</p></main>;
  return (
    <>
      <Head />
      {['lost', 'no daemon', 'crowded'].includes(link.value) ? <p class="banner bad" role="alert">{TOLD[link.value]}</p> : null}
      {degraded.value && <p class="banner">{plain(degraded.value)} <code>quire doctor</code> tells more.</p>}
      {view === 'activity' && <Lanes />}
      {view === 'files' && <Moment />}
      <main class={shape}>
        {view === 'activity' && <><div class="column"><Chips />{inRecords.value ? <Records /> : <Stories />}</div><div class="column detailed"><button class="back" onClick={() => go({ story: undefined })}>‹ All that happened</button><Detail /></div></>}
        {view === 'files' && <Files />}
        {view === 'history' && <History />}
        {view === 'review' && <Review />}
        {view === 'people' && <People />}
        {view === 'compare' && <Compare />}
        <Plan />
      </main>
      {keys.value && <Keys />}
      <p class="said" role="status" aria-live="polite">{said.value}</p>
    </>
  );
}
