// The past of a file, or of some lines of it: the versions on the left, what each changed on the right.
import { useEffect, useState } from 'preact/hooks';
import { get, right, useAsk } from './api';
import { named } from './choice';
import { DiffTools, FileDiff } from './diff';
import { fresh } from './live';
import { Counts, Empty, Path, Refused, Terminal, Time, Wait, done } from './parts';
import { go, here } from './state';
import { many, visible } from './text';
import type { Rec, Reply, Story, Writer } from './types';
import { Name, writerName } from './writers';
import { before } from './words';

const MOST_PAGES = 10; // of stories, in search of what was asked for
const MADE = /^(written|saved|moved)$/; // what a request says better
const name = (record: Rec) => writerName(record.writer);
const seqOf = (token?: string | null) => (token ? Number(token.replace(/\D/g, '')) : 0);

/** Of these versions of a file, the newest first, those that touched the lines; each with where the lines were. */
async function touching(records: Rec[], path: string, first: number, last: number, told: (done: number) => void): Promise<{ seq: number; lines: string }[]> {
  const found: { seq: number; lines: string }[] = [];
  let name = path;
  for (let i = 0; i < records.length; i++) {
    const record = records[i], older = records[i + 1];
    if (!older) { found.push({ seq: record.seq, lines: `${first}–${last}` }); break; }
    const { reply } = await get('diff', { from: `seq:${older.seq}`, to: `seq:${record.seq}`, paths: [name], context: 0 });
    const file = reply.files?.find((one: any) => one.path === name) ?? reply.files?.[0];
    if (file?.hunks?.length) {
      const was = before(file.hunks, first, last);
      if (was.touched) found.push({ seq: record.seq, lines: first === last ? `${first}` : `${first}–${last}` });
      if (file.status === 'added' && !file.moved_from) break;
      first = was.first; last = Math.max(was.first, was.last);
    }
    if (file?.moved_from) name = file.moved_from;
    told(i + 1);
  }
  return found;
}

const turnOf = (writer: Writer) => `${writerName(writer)} ${writer.turn}`;

/** What was asked for in the turns that made these versions: turn → request. */
function useRequests(records: Rec[]): Map<string, string> {
  const [found, set] = useState<Map<string, string>>(new Map());
  const names = new Map<string, Rec[]>(); // path → its versions by turns, the newest first
  for (const one of records) if (one.writer.turn && one.path) names.set(one.to ?? one.path, [...(names.get(one.to ?? one.path) ?? []), one]);
  const key = [...names].map(([name, some]) => `${name} ${some[0].seq} ${some.at(-1)!.seq}`).join('\n');
  useEffect(() => {
    const stop = new AbortController();
    (async () => {
      const told = new Map<string, string>();
      for (const [path, some] of names) {
        let cursor: string | undefined;
        for (let i = 0; i < MOST_PAGES; i++) {
          const { reply } = await get('stories', { path, agents: true, until: `seq:${some[0].seq}`, limit: 50, cursor }, stop.signal);
          const stories: Story[] = reply.stories ?? [];
          for (const story of stories) if (story.prompt) told.set(turnOf(story.writer), story.prompt);
          set(new Map(told));
          cursor = reply.next;
          if (!cursor || stories.some((story) => story.seq < some.at(-1)!.seq)) break;
        }
      }
    })().catch(() => {});
    return () => stop.abort();
  }, [key]);
  return found;
}

/** Whose lines a version has; '' where they are of those who wrote them before, or were there. */
const whose = (one: Rec) => (one.how || one.evidence === 'captured' || /^git\b/.test(one.hint ?? '') ? '' : named(one.writer));

const ofFile = (reply?: Reply): Rec[] => (reply?.records ?? []).filter((one: Rec) => one.version && !(one as any).abandoned);

export function History() {
  const { path = '', lines, story, at } = here;
  const asked = useAsk(path ? 'log' : null, { path, until: at, limit: 200, stat: true }, at ? 0 : fresh.value);
  const [ranges, set] = useState<{ seq: number; lines: string }[] | null>(null);
  const [looked, look] = useState(0);
  const every = ofFile(asked.reply);
  const span = /^(\d+)(?:-(\d+))?$/.exec(lines ?? '');
  const key = `${path} ${lines} ${every[0]?.seq} ${every.length}`;
  useEffect(() => {
    set(null);
    if (!span || !every.length) return;
    let late = false;
    const first = +span[1], last = +(span[2] ?? span[1]);
    void touching(every, path, Math.min(first, last), Math.max(first, last), (n) => !late && look(n)).then((found) => { if (!late) set(found); });
    return () => { late = true; };
  }, [key]);
  const requests = useRequests(every);
  const shown = span ? (ranges ? every.filter((one) => ranges.some((two) => two.seq === one.seq)) : []) : every;
  const chosen = shown.find((one) => String(one.seq) === story) ?? shown[0];
  const index = every.findIndex((one) => one.seq === chosen?.seq);
  const base = chosen ? chosen.base ?? (every[index + 1] ? every[index + 1].version : null) : null;
  if (!path) return <section class="view"><Empty title="Choose a file first."><p><button onClick={() => go({ view: 'files' })}>Files</button></p></Empty></section>;
  return (
    <section class="view history two" aria-label="History of a file">
      <div class="left">
        <header><h2>How did {span ? `lines ${lines} of ` : ''}<Path path={path} /> come to be?</h2>
          <p class="actions"><button onClick={() => go({ view: 'files' })}>The file</button>{span && <button onClick={() => go({ lines: undefined })}>All of it, not these lines</button>}</p>
        </header>
        {asked.reply && !asked.reply.ok && <Refused reply={asked.reply} />}
        {!asked.reply && <Wait what="Reading its versions…" />}
        {span && !ranges && every.length > 0 && <Wait what={`Following the lines back: ${looked} of ${many(every.length, 'version')}…`} />}
        <ol class="versions" role="listbox" aria-label="Versions, newest first" tabIndex={0} aria-activedescendant={chosen && `v${chosen.seq}`}>
          {shown.map((one) => (
            <li key={one.seq} id={`v${one.seq}`} role="option" aria-selected={one === chosen} class={one === chosen ? 'on' : ''} data-seq={one.seq}
              onClick={(e) => (e.shiftKey && chosen ? go({ view: 'compare', from: `v${Math.min(one.seq, chosen.seq)}`, to: `v${Math.max(one.seq, chosen.seq)}`, path }) : go({ story: String(one.seq) }))}>
              <Name name={name(one)} probable={one.evidence === 'during'} />
              {one.stat?.added != null ? <Counts {...one.stat} /> : <span class="counts" />}<code>{one.version}</code><Time at={one.at} />
              <span class="what"><span class="title cut">{requests.has(turnOf(one.writer)) ? <>{MADE.test(done(one)) ? null : `${done(one)}: `}<span class="prompt">{visible(requests.get(turnOf(one.writer))!.trim().split('\n')[0])}</span></> : done(one)}</span>
                {(one.path !== path || ranges) && <span class="where">{one.to && one.path ? <>moved from {visible(one.path)} </> : one.path !== path && one.path ? <>as {visible(one.path)} </> : null}{ranges && <>lines {ranges.find((two) => two.seq === one.seq)?.lines}</>}</span>}</span>
            </li>
          ))}
        </ol>
        {asked.reply?.ok && !every.length && <Empty title="The journal knows no version of this path."><p>It may be ignored, or spelled otherwise.</p></Empty>}
        {asked.reply?.next && <p class="note">These are the newest 200 versions.</p>}
        <Terminal command={asked.command} />
      </div>
      <div class="right">
        {chosen && (
          <>
            <header class="bar"><h3><Name name={name(chosen)} /> <code>{chosen.version}</code> <Time at={chosen.at} /></h3><DiffTools /></header>
            {requests.has(turnOf(chosen.writer)) && <p class="facts"><span class="prompt">{visible(requests.get(turnOf(chosen.writer))!.trim().replace(/\s*\n\s*/g, ' ↵ ').slice(0, 400))}</span></p>}
            <p class="actions">
              <button onClick={() => go({ view: 'files', path: chosen.to ?? chosen.path ?? path, at: `v${chosen.seq}` })}>The file then</button>
              <button onClick={() => go({ view: 'activity', story: String(chosen.seq), file: chosen.to ?? chosen.path ?? path })}>What else it did</button>
              {right.value === 'write' && <button onClick={() => go({ plan: JSON.stringify({ tool: 'undo', batch: chosen.version, path }) })}>Take back this change…</button>}
              {right.value === 'write' && <button onClick={() => go({ plan: JSON.stringify({ tool: 'restore', path, at: chosen.version }) })}>Make the file as in this version…</button>}
            </p>
            {base || index === every.length - 1 || seqOf(chosen.version) ? <FileDiff path={chosen.to ?? chosen.path ?? path} from={base ?? `seq:${chosen.seq - 1}`} to={chosen.version!} version={chosen.version} back={{ writer: whose(chosen), probable: chosen.evidence === 'during' || undefined }} /> : null}
          </>
        )}
      </div>
    </section>
  );
}
