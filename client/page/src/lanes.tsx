// Who did how much, and when: a lane for each writer, those of other hosts last. Below it the slider, which replays the past call by call.
import { effect, signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, useAsk } from './api';
import { fresh, head, link } from './live';
import { Path, say } from './parts';
import { type Span, type Stretch, beside, fit, pan, partOf, placed, span, told, zoom } from './ranges';
import { go, here, place, withWord } from './state';
import { chosen } from './stories';
import { grouped, many, plain, visible, when } from './text';
import type { Rec, Writer } from './types';
import { Name, Shape, look, storyName, writerName } from './writers';

const ROW = 22;

interface Lane { writer: Writer; writes: [number, number][]; refused: [number, number][]; host?: string } // host: of another one, as host:checkout
interface Data { window: Span; axis: string; bounds: number[]; times: number[]; lanes: Lane[] }

const data = signal<Data | null>(null);
const moment = signal<number | null>(null); // where the slider is dragged to, before the views follow

const NONE: Lane[] = [];
const MOST_LANES = 8;
const OTHERS = { id: 'others', agent: '', uid: null } as unknown as Writer; // all who have no lane of their own
const AWAY_MS = 10_000; // how often other hosts are asked for
const MINUTE_MS = 60_000;
const SHARE = 8; // of the daemon's time the lanes have an eighth at most
const LATER_MS = 250; // what happened is told in the list first: of a long log the lanes take the daemon longer
const laneName = (lane: Lane) => (lane.host ? `${lane.host} ${writerName(lane.writer)}` : writerName(lane.writer));
const seqOf = (point?: string) => Number(/^(?:seq:|v)(\d+)$/.exec(point ?? '')?.[1] ?? 0);

function colours(canvas: HTMLElement): Record<number, string> {
  const style = getComputedStyle(canvas);
  const found: Record<number, string> = {};
  for (let hue = -1; hue < 8; hue++) found[hue] = style.getPropertyValue(`--w${hue}`);
  return found;
}

function draw(canvas: HTMLCanvasElement, told: Data, lanes: Lane[], view: Span) {
  const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = lanes.length * ROW;
  if (canvas.width !== width * scale || canvas.height !== height * scale) { canvas.width = width * scale; canvas.height = height * scale; }
  const g = canvas.getContext('2d')!;
  const style = getComputedStyle(canvas), paint = colours(canvas), bad = style.getPropertyValue('--bad'), line = style.getPropertyValue('--line');
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  const n = told.bounds.length - 1;
  // Until the answer for this window is there, the last one is shown where its records belong.
  const stretch = told.axis === 'time' ? 1 : (told.window[1] - told.window[0]) / (view[1] - view[0]);
  const shift = told.axis === 'time' ? 0 : ((told.window[0] - view[0]) / (view[1] - view[0])) * width;
  const x = (bucket: number) => shift + (bucket / n) * width * stretch;
  const bar = Math.max(2, (width / n) * stretch - (width / n > 6 ? 1 : 0));
  const most = lanes.reduce((top, lane) => lane.writes.reduce((m, [, count]) => Math.max(m, count), top), 1);
  lanes.forEach((lane, row) => {
    const base = (row + 1) * ROW - 4;
    g.fillStyle = line;
    g.fillRect(0, base, width, 1);
    g.fillStyle = paint[look(laneName(lane)).hue];
    for (const [bucket, count] of lane.writes) {
      const tall = Math.max(4, (ROW - 8) * Math.sqrt(count / most));
      g.fillRect(x(bucket), base - tall, bar, tall);
    }
    g.strokeStyle = bad;
    g.lineWidth = 2;
    for (const [bucket] of lane.refused) { const at = x(bucket) + bar / 2, wide = bar > 5 ? 5 : 3; g.beginPath(); g.moveTo(at - wide, base - 9 - wide); g.lineTo(at + wide, base - 9 + wide); g.moveTo(at + wide, base - 9 - wide); g.lineTo(at - wide, base - 9 + wide); g.stroke(); }
  });
}

function ticks(found: Data, width: number): { left: number; text: string }[] {
  const most = Math.max(2, Math.min(8, Math.floor(width / 130))), n = found.bounds.length - 1;
  const days = new Set(found.times.map((time) => new Date(time).toDateString())).size;
  const close = (found.times.at(-1)! - found.times[0]) < 600_000;
  const out: { left: number; text: string }[] = [];
  for (let i = 0; i < most; i++) {
    const part = i / most, text = when(found.times[Math.floor(part * n)], Date.now(), true);
    const clock = text.replace(/^\d{4}-/, '');
    const short = close ? clock : clock.replace(/:\d\d$/, '');
    if (short !== out.at(-1)?.text) out.push({ left: part, text: days > 1 ? short : short.replace(/^\d\d-\d\d /, '') });
  }
  return out;
}

/** Where the chosen story and the replayed moment are: they move with each step, and the lanes below them stay. */
function Marks({ lanes, bounds = [] }: { lanes: Lane[]; bounds?: number[] }) {
  const story = chosen.value, cursor = moment.value ?? seqOf(here.at);
  const row = story ? lanes.findIndex((lane) => !lane.host && writerName(lane.writer) === storyName(story)) : -1;
  const part = (seq: number) => partOf(seq, bounds) * 100;
  return (
    <>
      {story && bounds.length > 0 && <i class="span" style={{ ...(row < 0 ? {} : { top: `${row * ROW}px`, height: `${ROW}px`, bottom: 'auto' }), left: `${part(story.first - 1)}%`, width: `max(3px, ${part(story.seq) - part(story.first - 1)}%)` }} />}
      {cursor > 0 && <><i class="later" style={{ left: `${part(cursor)}%` }} /><i class="cursor" style={{ left: `${part(cursor)}%` }} /></>}
    </>
  );
}

export function Lanes() {
  const canvas = useRef<HTMLCanvasElement>(null), drag = useRef<{ x: number; view: Span; moved: boolean } | null>(null);
  const [width, measure] = useState(0), took = useRef(0);
  const [now, look_] = useState(0); // the head that the window without a zoom ends at
  const { zoom: text, axis = 'log' } = here;
  const view = span(text, Math.max(now, 1));
  const found = data.value;
  const [beat, setBeat] = useState(0);
  useEffect(() => { const timer = setInterval(() => setBeat((n) => n + 1), AWAY_MS); return () => clearInterval(timer); }, []);
  const ends = text && found ? found.times.at(-1)! : Date.now();
  const away = useAsk(found ? 'elsewhere' : null, { since_ms: Math.floor((found?.times[0] ?? 0) / MINUTE_MS) * MINUTE_MS, until_ms: Math.ceil(ends / MINUTE_MS) * MINUTE_MS }, beat);
  const lanes = useMemo<Lane[]>(() => (found ? [...found.lanes, ...(away.reply?.lanes ?? []).map((lane: any) => ({ writer: lane.writer, host: lane.checkout, writes: placed(lane.writes, found.times), refused: [] }))] : NONE), [found, away.reply]);
  const who = useAsk('who', { present: true }, Math.floor(fresh.value / 20));
  const present = new Set((who.reply?.writers ?? []).filter((one: any) => one.present).map(writerName));
  const leases = new Set((who.reply?.writers ?? []).filter((one: any) => one.on?.leases?.length).map(writerName));

  useEffect(() => {
    const watch = new ResizeObserver(() => measure(canvas.current?.parentElement?.clientWidth ?? 0));
    watch.observe(canvas.current!.parentElement!);
    let timer: ReturnType<typeof setTimeout> | undefined, last = -1000;
    const stop = effect(() => { // the window follows what happens, once a second at most, and less where lanes take long
      const newest = head.value;
      if (!newest || timer) return;
      timer = setTimeout(() => { timer = undefined; last = performance.now(); look_(head.peek()); }, Math.max(0, Math.max(1000, SHARE * took.current) - (performance.now() - last)));
    });
    return () => { watch.disconnect(); stop(); clearTimeout(timer); };
  }, []);

  const key = `${view} ${axis} ${width} ${text ? '' : now} ${link.value === 'live'}`;
  useEffect(() => {
    if (!width || !now) return;
    const stop = new AbortController();
    const wait = setTimeout(() => {
      const begun = performance.now();
      get('lanes', { since: `seq:${view[0]}`, until: `seq:${Math.min(view[1], Math.max(now, head.peek()))}`, buckets: Math.min(Math.max(Math.floor(width / 3), 50), 1000), limit: MOST_LANES, by: axis === 'time' ? 'time' : 'log' }, stop.signal).then(({ reply }) => {
        took.current = performance.now() - begun;
        if (reply.ok) data.value = { window: [reply.bounds[0], reply.bounds.at(-1)], axis, bounds: reply.bounds, times: reply.times_ms, lanes: reply.others.length ? [...reply.lanes, { writer: OTHERS, writes: reply.others, refused: [] }] : reply.lanes };
      }, () => {});
    }, data.peek() ? (text ? 60 : LATER_MS) : 0);
    return () => { clearTimeout(wait); stop.abort(); };
  }, [key]);

  useEffect(() => { if (canvas.current && found) draw(canvas.current, found, lanes, view); }, [found, lanes, key, document.documentElement.dataset.theme]);

  const set = (next: Span) => go({ zoom: told(next, now) }, false);
  const part = (e: MouseEvent) => (e.clientX - canvas.current!.getBoundingClientRect().left) / Math.max(width, 1);
  function wheel(e: WheelEvent) {
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) set(pan(view, (e.deltaX || e.deltaY) / 1000, now));
    else set(zoom(view, part(e), e.deltaY > 0 ? 1.25 : 0.8, now));
  }
  useEffect(() => { const one = canvas.current!; one.addEventListener('wheel', wheel, { passive: false }); return () => one.removeEventListener('wheel', wheel); });
  function hover(e: MouseEvent) {
    const lane = lanes[Math.floor((e.clientY - canvas.current!.getBoundingClientRect().top) / ROW)];
    if (!lane || !found) return;
    const bucket = Math.floor(part(e) * (found.bounds.length - 1)), count = (list: [number, number][]) => list.reduce((n, [one, c]) => (Math.abs(one - bucket) <= 1 ? n + c : n), 0);
    const refused = count(lane.refused);
    canvas.current!.title = plain(`${laneName(lane)}, ${when(found.times[Math.max(0, bucket)] ?? 0, undefined, true)}: ${many(count(lane.writes), 'write')}${refused ? `, ${refused} refused` : ''}`);
  }
  async function pick(e: MouseEvent) {
    if (!found) return;
    const lane = lanes[Math.floor((e.clientY - canvas.current!.getBoundingClientRect().top) / ROW)];
    if (!lane || lane.writer === OTHERS) return;
    if (lane.host) return say(`What ${lane.host} did is told in the terminal: quire log --host ${lane.host}`);
    const n = found.bounds.length - 1, wanted = part(e) * n;
    const bucket = [...lane.writes, ...lane.refused].reduce((best, [one]) => (Math.abs(one + 0.5 - wanted) < Math.abs(best + 0.5 - wanted) ? one : best), -1e9);
    if (bucket < 0) return;
    const name = lane.writer.agent ? `${lane.writer.agent}${lane.writer.agent_session ? `/${lane.writer.agent_session}` : ''}` : lane.writer.uid == null ? 'outside' : 'user';
    const { reply } = await get('stories', { until: `seq:${found.bounds[bucket + 1]}`, writer: name, limit: 1 });
    if (reply.stories?.[0]) go({ view: 'activity', story: String(reply.stories[0].seq), file: undefined });
  }
  function keyed(e: KeyboardEvent) {
    const acts: Record<string, Span> = { w: zoom(view, 0.5, 0.7, now), s: zoom(view, 0.5, 1.4, now), a: pan(view, -0.2, now), d: pan(view, 0.2, now), ArrowLeft: pan(view, -0.2, now), ArrowRight: pan(view, 0.2, now), '+': zoom(view, 0.5, 0.7, now), '-': zoom(view, 0.5, 1.4, now), 0: [0, now] };
    if (acts[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); e.stopPropagation(); set(acts[e.key]); }
  }
  const summary = useMemo(() => plain(`${lanes.length} writers, records ${view[0] + 1} to ${view[1]}: ${lanes.map((lane) => `${laneName(lane)} ${lane.writes.reduce((n, [, c]) => n + c, 0)} writes`).join(', ')}. The list below tells the same.`), [lanes, String(view)]);
  return (
    <section class="lanes" aria-label="Lanes by writer">
      <div class="names">
        {useMemo(() => lanes.map((lane) => {
          const name = laneName(lane), isHere = lane.host ? (away.reply?.hosts ?? []).includes(lane.host) : present.has(name);
          return <button key={name} title={lane.host ? plain(`${name}: on another host`) : plain(`${name}${isHere ? ': here now' : ''}${leases.has(name) ? ', holds a lease' : ''}. Click to see only theirs.`)} disabled={lane.writer === OTHERS || !!lane.host} onClick={() => go({ view: 'activity', q: withWord(place.peek().q ?? '', 'writer', lane.writer.agent ? `${lane.writer.agent}${lane.writer.agent_session ? `/${lane.writer.agent_session}` : ''}` : name) })}>
            <Shape name={name} /><span class="cut">{visible(name)}</span>{leases.has(name) && <span class="lease">lease</span>}{isHere && <i class="here" aria-label="here now" />}
          </button>;
        }), [lanes, who.reply, away.reply])}
      </div>
      <div class="field" style={{ height: `${Math.max(lanes.length, 1) * ROW}px` }}>
        <canvas ref={canvas} tabIndex={0} role="img" aria-label={summary}
          style={{ height: `${Math.max(lanes.length, 1) * ROW}px` }} onKeyDown={keyed}
          onPointerDown={(e) => { drag.current = { x: e.clientX, view, moved: false }; e.currentTarget.setPointerCapture(e.pointerId); }}
          onPointerMove={(e) => { const d = drag.current; if (!d) return hover(e); if (Math.abs(e.clientX - d.x) > 3) d.moved = true; if (d.moved) set(pan(d.view, (d.x - e.clientX) / Math.max(width, 1), now)); }}
          onPointerUp={(e) => { const d = drag.current; drag.current = null; if (d && !d.moved) void pick(e); }} />
        <Marks lanes={lanes} bounds={found?.bounds} />
      </div>
      <div class="zoom" role="group" aria-label="What part of the log">
        <span class="dim" aria-hidden="true">Zoom</span>
        <button class="quiet" aria-label="Nearer" title="Nearer (w, or the wheel)" onClick={() => set(zoom(view, 0.5, 0.5, now))}>+</button>
        <button class="quiet" aria-label="Farther" title="Farther (s)" onClick={() => set(zoom(view, 0.5, 2, now))}>−</button>
        <button class="quiet" disabled={!text} onClick={() => go({ zoom: undefined }, false)}>All</button>
        {(['log', 'time'] as const).map((by) => <button key={by} class="quiet" aria-pressed={axis === by} title={by === 'time' ? 'As much room for as much time' : 'As much room for as many records'} onClick={() => go({ axis: by === 'time' ? by : undefined }, false)}>{by === 'time' ? 'By time' : 'By record'}</button>)}
      </div>
      <div class="axis" aria-hidden="true">{useMemo(() => found && ticks(found, width).map((one) => <span key={one.left} style={{ left: `${one.left * 100}%` }}>{one.text}</span>), [found, width])}</div>
      <Slider view={view} now={now} />
    </section>
  );
}

const SETTLE_MS = 120;
const PLAY_MS = 700;

const AT_ONCE = 50; // records that a step asks for: the next steps find theirs among them

/** The records in front of one, or behind it. */
async function near(seq: number, by: 1 | -1): Promise<Stretch> {
  const upto = Math.max(seq - 1, 0);
  const { reply } = await get('log', by < 0 ? { until: `seq:${upto}`, limit: AT_ONCE } : { since: `seq:${seq}`, order: 'oldest', limit: AT_ONCE });
  const records: Rec[] = reply.records ?? [];
  if (by < 0) records.reverse();
  return by < 0 ? { after: (records[0]?.seq ?? 1) - 1, upto, records } : { after: seq, upto: records.at(-1)?.seq ?? seq, records };
}

export function Slider({ view, now }: { view: Span; now: number }) {
  const [playing, play] = useState(false);
  const [tells, tell] = useState<Rec | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const stretch = useRef<Stretch>({ after: 0, upto: -1, records: [] });
  const at = seqOf(here.at);
  const value = moment.value ?? (at || view[1]);

  /** The last record of the call before, or of the one behind, a record. */
  async function next(seq: number, by: 1 | -1): Promise<Rec | undefined> {
    const known = beside(stretch.current, seq, by);
    if (known) return known;
    const found = (stretch.current = await near(seq, by));
    return beside(found, seq, by) ?? found.records.at(-1);
  }
  const stay = (seq: number, record?: Rec | null) => {
    moment.value = null;
    const follow = record?.path && record.version ? { path: record.to ?? record.path } : {};
    const changes = seq >= head.peek() ? { at: undefined } : { at: `seq:${seq}` };
    go(place.peek().view === 'files' ? { ...changes, ...follow, lines: undefined } : { ...changes, story: record ? String(seq) : undefined, file: undefined }, false);
    tell(record ?? null);
  };
  function dragged(seq: number) {
    moment.value = seq;
    play(false);
    clearTimeout(timer.current);
    timer.current = setTimeout(async () => { // on a call, not between two records of it
      const record = await next(seq + 1, -1);
      if (moment.peek() === seq) stay(seq >= head.peek() ? seq : record?.seq ?? seq, record);
    }, SETTLE_MS);
  }
  async function step(by: 1 | -1): Promise<boolean> {
    const from = place.peek().at;
    const last = by > 0 ? null : tells && tells.seq === at ? tells : await next((at || head.peek()) + 1, -1);
    const record = by > 0 ? (at ? await next(at, 1) : null) : last && (await next(last.batch, -1));
    if (place.peek().at !== from || moment.peek() != null) return true; // the reader went elsewhere meanwhile
    if (!record) { if (by > 0) stay(head.peek()); else say('The journal begins here.'); return false; }
    stay(record.seq, record);
    return true;
  }
  useEffect(() => {
    if (!playing) return;
    let late = false;
    const soon = setTimeout(async () => { if (!(await step(1)) && !late) play(false); }, PLAY_MS);
    return () => { late = true; clearTimeout(soon); };
  }, [playing, at]);
  useEffect(() => {
    const keyed = (e: KeyboardEvent) => {
      if ((e.target as HTMLElement).matches('input:not([type=range]), textarea') || e.ctrlKey || e.metaKey) return;
      if (e.key === '[' || e.key === ']') { e.preventDefault(); void step(e.key === ']' ? 1 : -1); }
      if (e.key === ' ' && (e.target as HTMLElement).matches('body, canvas, [role=listbox]')) { e.preventDefault(); toggle(); }
    };
    addEventListener('keydown', keyed);
    return () => removeEventListener('keydown', keyed);
  });
  async function toggle() {
    if (playing) return play(false);
    if (!at) { // from the beginning of what is shown
      const first = await next(view[0], 1);
      if (!first) return say('There is nothing to play.');
      stay(first.seq, first);
    }
    play(true);
  }
  useEffect(() => {
    if (!at || tells?.seq === at) return;
    let late = false;
    void next(at + 1, -1).then((record) => { if (!late) tell(record ?? null); });
    return () => { late = true; };
  }, [at]);
  return (
    <div class="replay" role="group" aria-label="Replay">
      <span class="buttons">
        <button aria-label={playing ? 'Pause' : 'Play'} title="Play (space)" onClick={toggle}>{playing ? '❚❚' : '▶'}</button>
        <button aria-label="The call before" title="The call before ([)" onClick={() => { play(false); void step(-1); }}>‹</button>
        <button aria-label="The next call" title="The next call (])" disabled={!at} onClick={() => { play(false); void step(1); }}>›</button>
      </span>
      <input type="range" aria-label="Moment" min={view[0]} max={Math.max(view[1], view[0] + 1)} value={Math.min(Math.max(value, view[0]), view[1])} aria-valuetext={at ? `record ${at}` : 'now'} onInput={(e) => dragged(Number(e.currentTarget.value))} />
      <span class="now">{moment.value != null || at ? <button onClick={() => { play(false); stay(head.peek()); }}>Back to now</button> : <span class="dim">now</span>}</span>
      {(moment.value != null || at > 0) && <p class="then" role="status">
        <b>As it was after record {grouped(moment.value ?? at)}</b>
        {tells && tells.seq === at && <> <span class="dim">{when(tells.at, undefined, true)}</span> <Name name={writerName(tells.writer)} />{tells.path ? <Path path={tells.path} /> : null}</>}
      </p>}
    </div>
  );
}

/** The slider without lanes, for views that have no room for them. */
export function Moment() {
  return <section class="lanes slim" aria-label="Replay"><Slider view={fit(span(here.zoom, head.value), head.value)} now={head.value} /></section>;
}
