// A change: lines that went and came, with the words that changed; side by side or in one column.
import { useMemo, useState } from 'preact/hooks';
import { get, right, useAsk } from './api';
import type { Wish } from './choice';
import { Counts, Empty, Path, Refused, Terminal, Wait, Warnings, copy, say } from './parts';
import { type Lines, after, came, numbers, since } from './places';
import { go, here } from './state';
import { many, plain, size, visible } from './text';
import type { Difference, Hunk } from './types';
import { type Line, numbered, sides } from './words';

const FIRST = 600; // lines of a file that are drawn at once; the rest on demand

function Code({ line }: { line: Line | null }) {
  if (!line) return <td class="code none" />;
  if (!line.mark || line.mark[0] >= line.mark[1]) return <td class="code">{visible(line.text, true)}</td>;
  const [a, b] = line.mark;
  return <td class="code">{visible(line.text.slice(0, a), true)}<em>{visible(line.text.slice(a, b), true)}</em>{visible(line.text.slice(b), true)}</td>;
}

const CLASS = { ' ': 'same', '-': 'gone', '+': 'came' } as const;

export function Unified({ lines }: { lines: Line[] }) {
  return <>{lines.map((line, i) => <tr key={i} class={CLASS[line.kind]}><td class="no">{line.old ?? ''}</td><td class="no">{line.new ?? ''}</td><td class="sign">{line.kind}</td>{Code({ line })}</tr>)}</>;
}

function Split({ lines }: { lines: Line[] }) {
  return <>{sides(lines).map(([a, b], i) => (
    <tr key={i} class="split">
      <td class={`no ${a ? CLASS[a.kind] : ''}`}>{a?.old ?? ''}</td><HalfCode line={a} side="old" />
      <td class={`no ${b ? CLASS[b.kind] : ''}`}>{b?.new ?? ''}</td><HalfCode line={b} side="new" />
    </tr>
  ))}</>;
}

function HalfCode({ line, side }: { line: Line | null; side: 'old' | 'new' }) {
  const found = Code({ line });
  const kind = line ? CLASS[line.kind] : 'none';
  return <td {...found.props} class={`code ${kind} ${side}`} />;
}

export function Hunks({ hunks, path, back }: { hunks: Hunk[]; path: string; back?: Backs }) {
  const split = here.mode === 'split';
  const [shown, more] = useState(FIRST);
  return useMemo(() => <Table {...{ hunks, path, back, split, shown, more }} />, [hunks, path, back, split, shown]);
}

const DEFINES = /^\s*(export |public |private |static |async )*(def|class|func|fn|function|interface|struct|impl|module|type)\b/;

const before = (hunk: Hunk) => hunk.lines.findIndex((line) => line[0] !== ' ');

/** The definition that the first change of a hunk stands in; the daemon names the one before the hunk, as git does. */
function within(hunk: Hunk): string {
  const first = before(hunk);
  const near = hunk.lines.slice(0, first + 1).reverse().find((line) => DEFINES.test(line.slice(1)));
  return near ? near.slice(1).trim() : hunk.heading ?? '';
}

function Table({ hunks, path, back, split, shown, more }: { hunks: Hunk[]; path: string; back?: Backs; split: boolean; shown: number; more: (lines: number) => void }) {
  let left = shown;
  const all = hunks.reduce((n, one) => n + one.lines.length, 0);
  return (
    <div class="hunks" role="region" aria-label={`Change of ${plain(path)}`} tabIndex={0}>
      <table class={`diff ${split ? 'two' : ''}`}>
        {split ? <colgroup><col class="no" /><col /><col class="no" /><col /></colgroup> : <colgroup><col class="no" /><col class="no" /><col class="sign" /><col /></colgroup>}
        {hunks.map((hunk, i) => {
          if (left <= 0) return null;
          const lines = numbered(hunk).slice(0, left);
          left -= lines.length;
          return (
            <tbody key={i} class="hunk">
              <tr class="at"><td colSpan={4}><span>Line {(hunk.new_lines ? hunk.new_start : hunk.old_start) + Math.max(0, before(hunk))}</span>{within(hunk) && <code> {visible(within(hunk))}</code>}
                {back && <TakeBack hunk={hunk} back={back} />}
              </td></tr>
              {split ? <Split lines={lines} /> : <Unified lines={lines} />}
            </tbody>
          );
        })}
      </table>
      {all > shown && <p class="more"><button onClick={() => more(shown + 5 * FIRST)}>{many(all - shown, 'more line')}</button></p>}
    </div>
  );
}

const SIGN: Record<string, string> = { added: 'A', removed: 'D', changed: 'M', mode: 'M', replaced: 'M', record_lost: '?' };
const SAID: Record<string, string> = { added: 'new', removed: 'removed', changed: 'changed', mode: 'permissions changed', replaced: 'replaced', record_lost: 'its record is lost' };

/** What a file's change is where there are no lines to show: said in place. */
export function InPlace({ file }: { file: Difference }) {
  if (file.truncated) {
    const at = file.to ?? file.from ?? '';
    return <p class="note">The change is too large to be shown here. <a href={`/file?${new URLSearchParams({ path: file.path, at })}`} download>Save the file as it was</a>, or compare it in the terminal.</p>;
  }
  if (file.binary) return <p class="note">It is not text, so there are no lines to compare. It can be saved and restored all the same.</p>;
  if (file.uncaptured) return <p class="note">The journal does not hold all of its bytes, so there is nothing to compare: {visible(file.uncaptured_told)}.</p>;
  if (file.status === 'mode') return <p class="note">Only its permission bits changed: {file.mode?.join(' → ')}.</p>;
  if (file.moved_from && !file.hunks?.length) return <p class="note">Moved from {visible(file.moved_from)}; no line changed.</p>;
  if (file.status === 'record_lost') return <p class="note">The record that would tell is lost to damage of the journal.</p>;
  return <p class="note">{here.space ? 'Only white space changed.' : 'No line differs.'}</p>;
}

export function counts(file: Difference): { added: number; removed: number } | null {
  if (!file.hunks) return null;
  let added = 0, removed = 0;
  for (const hunk of file.hunks) for (const line of hunk.lines) { if (line[0] === '+') added++; else if (line[0] === '-') removed++; }
  return { added, removed };
}

export function DiffTools() {
  const { mode, space } = here;
  return (
    <span class="tools" role="group" aria-label="How the change is shown">
      <button aria-pressed={mode !== 'split'} onClick={() => go({ mode: undefined }, false)}>Unified</button>
      <button aria-pressed={mode === 'split'} onClick={() => go({ mode: 'split' }, false)}>Side by side</button>
      <button aria-pressed={!!space} title="Lines that differ in white space only are equal" onClick={() => go({ space: space ? undefined : '1' }, false)}>Ignore spaces</button>
    </span>
  );
}

/** How lines of a change are taken back: whose they are, and what to offer where they cannot be named, if anything. */
export interface Back { writer: string; probable?: boolean; otherwise?: { wish: Wish; label: string } }

/** The same, for a file whose lines were followed to where they are now. */
interface Backs { lines: (lines: Lines) => Lines | null; take: (lines: Lines) => void; otherwise?: Back['otherwise'] }

function useBacks(path: string, version: string | null | undefined, back?: Back): Backs | undefined {
  const [again, look] = useState(0);
  const may = version && back && right.value === 'write';
  const args = { from: version, paths: [path], context: 0 };
  const now = useAsk(may && back.writer ? 'diff' : null, args, again).reply;
  const key = JSON.stringify([may, path, version, back, now?.files]);
  return useMemo(() => {
    if (!may) return undefined;
    const { writer, probable, otherwise } = back;
    if (!writer) return { lines: () => null, take: () => {}, otherwise };
    if (!now) return undefined;
    const hunks = now.ok ? since(path, now.files) : null;
    const take = async (lines: Lines) => {
      const { reply } = await get('diff', args); // the file may have changed since the button was drawn
      const found = reply.ok ? since(path, reply.files) : null, place = found && after(found, lines);
      if (place) return go({ plan: JSON.stringify({ tool: 'undo', path, lines: numbers(place, '-'), writer, probable }) });
      look((times) => times + 1);
      say('These lines were changed meanwhile.');
    };
    return { lines: (lines) => hunks && after(hunks, lines), take, otherwise };
  }, [key]);
}

/** A button for each run of lines that came and is there still; one for the rest, which has no lines that could be named. */
function TakeBack({ hunk, back }: { hunk: Hunk; back: Backs }) {
  const { runs, gone } = came(hunk), there = runs.filter(back.lines), rest = gone || there.length < runs.length;
  const only = there.length === 1 && !rest;
  return (
    <span class="backs">
      {there.map((lines) => <button key={lines.first} class="quiet" title="Take back exactly these lines; the plan comes first" onClick={() => back.take(lines)}>Take back {only ? 'these lines' : `${lines.first === lines.last ? 'line' : 'lines'} ${numbers(lines)}`}…</button>)}
      {back.otherwise && rest && <button class="quiet" title={there.length ? 'Lines that went, or were changed since, go with all that it did to the file' : ''} onClick={() => go({ plan: JSON.stringify(back.otherwise!.wish) })}>{back.otherwise.label}</button>}
    </span>
  );
}

/** The change of one file between two points, or one writer's part in it; `was`: its name at the first; `version`: at the second. */
export function FileDiff({ path, was, from, to, version, writer, back }: { path: string; was?: string; from: string; to?: string; version?: string | null; writer?: string; back?: Back }) {
  const asked = useAsk('diff', { from, to, paths: was ? [was, path] : [path], ignore_space: here.space === '1', writer });
  const reply = asked.reply;
  const backs = useBacks(path, version, back);
  if (!reply) return <Wait what="Reading the change…" />;
  if (!reply.ok) return <Refused reply={reply} />;
  const file: Difference | undefined = reply.files.find((one: Difference) => one.path === path) ?? reply.files[0];
  return (
    <div class={`filediff${asked.loading ? ' stale' : ''}`}>
      <Warnings reply={reply} />
      {!file ? <p class="note">{here.space ? 'Only white space changed.' : writer ? `No line of ${plain(writer)} differs between these two points.` : 'Nothing differs between these two points.'}</p> : (
        <>
          {file.others?.length ? <p class="note">Also changed by {visible(file.others.join(', '))} meanwhile.</p> : null}
          {file.moved_from && file.hunks?.length ? <p class="note">Moved from {visible(file.moved_from)}</p> : null}
          {file.hunks?.length ? <Hunks hunks={file.hunks} path={path} back={backs} /> : <InPlace file={file} />}
          <p class="actions">
            {file.patch && <button class="quiet" onClick={() => copy(file.patch!, 'the patch')}>Copy as a patch</button>}
          </p>
        </>
      )}
      <Terminal command={asked.command} />
    </div>
  );
}

/** Any two points, all files. */
export function Compare() {
  const { from = '', to, path } = here;
  const asked = useAsk(from ? 'diff' : null, { from, to, paths: path ? [path] : undefined, ignore_space: here.space === '1' });
  const [more, add] = useState<Difference[]>([]);
  const [open, toggle] = useState<Record<string, boolean>>({});
  const reply = asked.reply;
  const files: Difference[] = [...(reply?.files ?? []), ...more];
  async function further() {
    const next = await get('diff', { from, to, paths: path ? [path] : undefined, cursor: files.at(-1)!.path });
    if (!next.reply.ok) return say(next.reply.message);
    add([...more, ...next.reply.files]);
  }
  return (
    <section class="view compare" aria-label="Compare two moments">
      <header><h2>What differs between two moments?</h2>
        <form class="points" onSubmit={(e) => { e.preventDefault(); const data = new FormData(e.currentTarget); add([]); go({ from: String(data.get('from') || '') || undefined, to: String(data.get('to') || '') || undefined, path: String(data.get('path') || '') || undefined }); }}>
          <label>From <input name="from" value={from} placeholder="v12, HEAD, 2h, a checkpoint" required /></label>
          <label>to <input name="to" value={to ?? ''} placeholder="now" /></label>
          <label>in <input name="path" value={path ?? ''} placeholder="everything" /></label>
          <button class="main">Compare</button>
        </form>
        <DiffTools />
      </header>
      {!from && <Empty title="Choose where to begin."><p>Type a point, or hold Shift and click a second row of a list: it is compared with the one that is chosen.</p></Empty>}
      {from && !reply && <Wait what="Comparing…" />}
      {reply && !reply.ok && <Refused reply={reply} />}
      <Warnings reply={reply} />
      {reply?.ok && !files.length && <Empty title="Nothing differs." />}
      {files.length > 0 && <p class="facts dim">{many(files.length, 'file')}{reply?.next ? ' so far' : ''}</p>}
      <ol class="files">
        {files.map((file, i) => {
          const sum = counts(file);
          const lock = /(^|\/)(package-lock\.json|[^/]*\.lock|[^/]*-lock\.yaml|go\.sum)$/.test(file.path);
          const is = Object.hasOwn(open, file.path) ? open[file.path] : !lock && i < 3;
          return (
            <li key={file.path}>
              <h3><button class="fold" aria-expanded={is} onClick={() => toggle({ ...open, [file.path]: !is })}><span class={`status ${file.moved_from ? 'moved' : file.status}`} title={file.moved_from ? 'moved' : SAID[file.status]}>{file.moved_from ? 'R' : SIGN[file.status] ?? 'M'}</span><Path path={file.path} />{sum && <Counts {...sum} />}</button></h3>
              {is && (file.hunks?.length ? <Hunks hunks={file.hunks} path={file.path} /> : <InPlace file={file} />)}
            </li>
          );
        })}
      </ol>
      {reply?.next && <p class="more"><button onClick={further}>More files</button></p>}
      {reply?.patch && <p class="actions"><button class="quiet" onClick={() => copy(reply.patch, 'the patch')}>Copy all as a patch</button> <span class="dim">{size(reply.patch.length)}</span></p>}
      <Terminal command={asked.command} />
    </section>
  );
}
