// The tree at a moment, and a file in it: who wrote each line, beside the line.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Answer, get, right, useAsk } from './api';
import { fresh } from './live';
import { Empty, Path, Refused, Terminal, Time, Wait, Warnings, say } from './parts';
import { go, here } from './state';
import { grouped, many, plain, size, visible, when } from './text';
import { Name, Shape, look, writerName } from './writers';

interface Entry { path: string; kind: string; version: string | null; sizeBytes: number; uncaptured?: string; target?: string }

/** All pages of the tree at a point. */
function useTree(at: string | undefined, tick: unknown): { entries: Entry[] | null; answer?: Answer } {
  const [state, set] = useState<{ entries: Entry[] | null; answer?: Answer }>({ entries: null });
  useEffect(() => {
    const stop = new AbortController();
    (async () => {
      const first = await get('tree', { at }, stop.signal);
      const entries: Entry[] = [...(first.reply.entries ?? [])];
      for (let page = first; page.reply.ok && page.reply.next && entries.length < 50_000; ) {
        page = await get('tree', { at: first.reply.at, cursor: page.reply.next }, stop.signal);
        entries.push(...(page.reply.entries ?? []));
      }
      entries.sort((a, b) => (a.path < b.path ? -1 : 1));
      set({ entries, answer: first });
    })().catch(() => {});
    return () => stop.abort();
  }, [at, tick]);
  return state;
}

const ROW = 24;

function toggled(all: Set<string>, one: string): Set<string> {
  const next = new Set(all);
  if (!next.delete(one)) next.add(one);
  return next;
}

function Tree({ entries, chosen }: { entries: Entry[]; chosen?: string }) {
  const [wanted, search] = useState('');
  const [shut, fold] = useState<Set<string>>(new Set());
  const [top, scroll] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => {
    const text = wanted.toLowerCase();
    const found: { path: string; depth: number; name: string; folder: boolean; entry?: Entry; count?: number }[] = [];
    const seen = new Set<string>();
    for (const entry of entries) {
      if (text && !entry.path.toLowerCase().includes(text)) continue;
      const parts = entry.path.split('/');
      let hidden = false;
      for (let i = 1; i < parts.length; i++) {
        const folder = parts.slice(0, i).join('/');
        if (!seen.has(folder)) { seen.add(folder); if (!hidden) found.push({ path: folder, depth: i - 1, name: parts[i - 1], folder: true }); }
        if (shut.has(folder) && !text) hidden = true;
      }
      if (!hidden) found.push({ path: entry.path, depth: parts.length - 1, name: parts.at(-1)!, folder: entry.kind === 'folder', entry });
    }
    return found;
  }, [entries, wanted, shut]);
  const [cursor, point] = useState('');
  const id = (path: string) => `n${rows.findIndex((row) => row.path === path)}`;
  function show(at: number) {
    const box = list.current!;
    if (at * ROW < box.scrollTop) box.scrollTop = at * ROW;
    else if ((at + 1) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (at + 1) * ROW - box.clientHeight;
  }
  function keyed(e: KeyboardEvent) {
    const at = rows.findIndex((row) => row.path === (cursor || chosen)), here = rows[at];
    const to = ({ ArrowDown: Math.min(at + 1, rows.length - 1), ArrowUp: Math.max(at - 1, 0), Home: 0, End: rows.length - 1 } as Record<string, number>)[e.key];
    if (to != null && rows[to]) {
      point(rows[to].path);
      show(to);
      if (!rows[to].folder) go({ path: rows[to].path, lines: undefined }, false);
    } else if (here?.folder && (e.key === 'Enter' || e.key === 'ArrowRight' || e.key === 'ArrowLeft')) {
      if (e.key === 'Enter' || shut.has(here.path) === (e.key === 'ArrowRight')) fold(toggled(shut, here.path));
    } else return;
    e.preventDefault();
    e.stopPropagation();
  }
  const height = list.current?.clientHeight ?? 800;
  const from = Math.max(0, Math.floor(top / ROW) - 10), to = Math.min(rows.length, Math.ceil((top + height) / ROW) + 10);
  useEffect(() => {
    const at = rows.findIndex((row) => row.path === chosen);
    const box = list.current;
    if (box && at >= 0 && (at * ROW < box.scrollTop || at * ROW > box.scrollTop + box.clientHeight - ROW)) box.scrollTop = at * ROW - box.clientHeight / 3;
  }, [chosen, rows.length]);
  return (
    <>
      <input type="search" class="find" placeholder="Find a file" aria-label="Find a file" value={wanted} onInput={(e) => search(e.currentTarget.value)} />
      <div class="tree" ref={list} role="tree" aria-label="Files" tabIndex={0} aria-activedescendant={(cursor || chosen) && id(cursor || chosen!)} onKeyDown={keyed} onScroll={(e) => scroll(e.currentTarget.scrollTop)}>
        <div style={{ height: `${rows.length * ROW}px` }}>
          {rows.slice(from, to).map((row, i) => (
            <div key={row.path} id={`n${from + i}`} role="treeitem" aria-level={row.depth + 1} aria-selected={row.path === chosen} aria-expanded={row.folder ? !shut.has(row.path) : undefined}
              class={`node${row.path === chosen ? ' on' : ''}${row.path === cursor ? ' at' : ''}${row.folder ? ' folder' : ''}`} style={{ top: `${(from + i) * ROW}px`, paddingLeft: `${8 + Math.min(row.depth, 12) * 14}px` }} title={plain(row.path)}
              onClick={() => (point(row.path), row.folder ? fold(toggled(shut, row.path)) : go({ path: row.path, lines: undefined }))}>
              <span class="twist" aria-hidden="true">{row.folder ? (shut.has(row.path) ? '▸' : '▾') : ''}</span><bdi class="cut">{visible(row.name)}</bdi>
              {row.entry?.kind === 'link' && <span class="dim cut"> → {visible(row.entry.target)}</span>}
              {row.entry?.uncaptured && <span class="dim"> not captured</span>}
            </div>
          ))}
        </div>
      </div>
      <p class="dim foot">{many(entries.length, 'file')}{wanted && `, ${many(rows.filter((row) => !row.folder).length, 'found', 'found')}`}</p>
    </>
  );
}

const LINE = 20;

interface BlameLine { line: number; text: string; version: string; seq: number; writer: any; turn: string; at: string; evidence?: string; unclaimed?: boolean; commit?: any; brought?: any; how?: string }
const authorOf = (line: BlameLine) => (line.commit ? `${line.commit.author || 'somebody'}` : writerName(line.writer));

function Blame({ path, at }: { path: string; at?: string }) {
  const asked = useAsk('blame', { path, at }, at ? 0 : fresh.value);
  const [more, add] = useState<BlameLine[]>([]);
  const [about, tell] = useState<BlameLine | null>(null);
  const [top, scroll] = useState(0);
  const [anchor, setAnchor] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const reply = asked.reply;
  useEffect(() => { add([]); }, [reply?.version, path]);
  useEffect(() => { tell(null); if (box.current) box.current.scrollTop = 0; }, [path, at]);
  const lines: BlameLine[] = useMemo(() => [...(reply?.lines ?? []), ...more], [reply, more]);
  const span = /^(\d+)(?:-(\d+))?$/.exec(here.lines ?? '');
  const first = span ? +span[1] : 0, last = span ? +(span[2] ?? span[1]) : 0;
  if (!reply) return <Wait what="Reading who wrote it…" />;
  if (!reply.ok) return <Unreadable reply={reply} path={path} at={at} />;
  if (!lines.length) return <Empty title="The file is empty." />;

  const next = more.length ? lines.at(-1)!.line + 1 : reply.next_line;
  const left = next && lines.at(-1)!.line < reply.lineCount;
  async function further() {
    const page = await get('blame', { path, at: reply!.version, start_line: next });
    if (!page.reply.ok) return say(page.reply.message);
    add([...more, ...page.reply.lines]);
  }
  function pick(line: number, extend: boolean) {
    if (extend && anchor) return go({ lines: `${Math.min(anchor, line)}-${Math.max(anchor, line)}` }, false);
    setAnchor(line);
    go({ lines: first === line && last === line ? undefined : String(line) }, false);
  }
  const height = box.current?.clientHeight ?? 900;
  const from = Math.max(0, Math.floor(top / LINE) - 20), to = Math.min(lines.length, Math.ceil((top + height) / LINE) + 20);
  const digits = String(reply.lineCount).length;
  return (
    <>
      <Warnings reply={reply} />
      {reply.gaps?.length ? <p class="note">Of {visible(reply.gaps.map((gap: any) => gap.version).join(', '))} and before nothing is known; their lines stand under the next version.</p> : null}
      <div class={`blame${asked.loading ? ' stale' : ''}`} ref={box} tabIndex={0} role="table" aria-label={`Lines of ${plain(path)} and who wrote them`} aria-rowcount={reply.lineCount} onScroll={(e) => scroll(e.currentTarget.scrollTop)}>
        <div class="sheet" style={{ height: `${lines.length * LINE}px` }}>
          {lines.slice(from, to).map((line, i) => {
            const index = from + i, name = authorOf(line), same = index > 0 && lines[index - 1].version === line.version && i > 0;
            const hue = line.commit ? -1 : look(name).hue;
            return (
              <div key={line.line} class={`row edge${hue}${line.line >= first && line.line <= last ? ' chosen' : ''}${about?.version === line.version ? ' kin' : ''}`} role="row" style={{ top: `${index * LINE}px` }}>
                <span role="cell"><button class="who" title={plain(`${name} · ${line.version} · ${when(line.at, undefined, true)}`)} onClick={() => tell(about?.line === line.line ? null : line)}>
                  {same ? <span class="sr">{visible(name)}</span> : <><Shape name={line.commit ? 'git' : name} size={9} /><span class="cut">{line.evidence === 'during' ? '~' : ''}{visible(name)}</span><span class="age">{when(line.commit?.at || line.at).replace(/ \d\d:\d\d$/, '')}</span></>}
                </button></span>
                <span role="cell"><button class="no" style={{ minWidth: `${digits + 2}ch` }} aria-label={`Line ${line.line}`} onClick={(e) => pick(line.line, e.shiftKey)}>{line.line}</button></span>
                <code role="cell">{visible(line.text, true)}</code>
              </div>
            );
          })}
        </div>
      </div>
      {left ? <p class="more"><button onClick={further}>More lines (of {grouped(reply.lineCount)})</button></p> : null}
      {span && <p class="actions chosenlines"><b>{first === last ? `Line ${first}` : `Lines ${first}–${last}`}</b> <button onClick={() => go({ view: 'history' })}>History of {first === last ? 'this line' : 'these lines'}</button> <span class="dim">Shift-click a number for more lines</span> <button class="quiet" onClick={() => go({ lines: undefined }, false)}>Clear</button></p>}
      {about && <Origin line={about} path={path} close={() => tell(null)} />}
      <Terminal command={asked.command} />
    </>
  );
}

/** Who wrote a line, in which turn and call, for which prompt; and what was there before. */
function Origin({ line, path, close }: { line: BlameLine; path: string; close: () => void }) {
  const why = useAsk('why', { path, line: line.line, at: here.at });
  const story = useAsk('stories', { until: `seq:${line.seq}`, limit: 1 });
  const told = story.reply?.stories?.[0];
  const prompt = told && told.first <= line.seq ? told.prompt : '';
  return (
    <aside class="origin" aria-label={`Line ${line.line}`}>
      <header><h3>Line {line.line}: <Name name={line.commit ? 'git' : authorOf(line)} /> <Time at={line.commit?.at || line.at} /></h3><button class="quiet close" aria-label="Close" onClick={close}>✕</button></header>
      {line.commit && <p>commit {visible(line.commit.id.slice(0, 7))} by {visible(line.commit.author)}</p>}
      {prompt && <p class="prompt">{visible(prompt.trim().slice(0, 300))}</p>}
      <dl>
        {line.turn && <><dt>turn</dt><dd>{visible(line.turn)}</dd></>}
        {line.writer?.tool_call && <><dt>tool call</dt><dd>{visible(line.writer.tool_call)}</dd></>}
        {line.writer?.model && <><dt>model</dt><dd>{visible(line.writer.model)}</dd></>}
        {line.how && <><dt>by</dt><dd>{visible(line.how)}</dd></>}
        {line.brought && <><dt>brought by</dt><dd>{visible(line.brought.by)} in {line.brought.version}</dd></>}
        {why.reply?.operation && <><dt>operation</dt><dd>{visible(why.reply.operation)}</dd></>}
      </dl>
      <p class="actions">
        <button onClick={() => go({ view: 'activity', story: String(line.seq), file: path })}>The change</button>
        {why.reply?.record?.base && <button onClick={() => go({ at: why.reply!.record.base, lines: undefined })}>Blame before this</button>}
      </p>
      <Terminal command={why.command} />
    </aside>
  );
}

function Unreadable({ reply, path, at }: { reply: any; path: string; at?: string }) {
  const save = <a href={`/file?${new URLSearchParams({ path, at: at ?? '' })}`} download>Save it</a>;
  switch (reply.error) {
    case 'binary_file': return <Empty title="It is not text."><p>There are no lines to show. {at ? save : <button onClick={() => go({ view: 'history' })}>Its history</button>}</p></Empty>;
    case 'file_too_large': return <Empty title="It is too large to be read line by line."><p>{visible(reply.message)} {at ? save : null}</p></Empty>;
    case 'uncaptured': return <Empty title="The journal does not hold its bytes."><p>{visible(reply.message)}</p></Empty>;
    case 'not_found': return <Empty title="It was not there then."><p>{visible(reply.message)} <button onClick={() => go({ view: 'history' })}>Its history</button></p></Empty>;
    default: return <Refused reply={reply} />;
  }
}

export function Files() {
  const { at, path } = here;
  const { entries, answer } = useTree(at, at ? 0 : fresh.value);
  const entry = entries?.find((one) => one.path === path);
  return (
    <section class="view files two" aria-label="Files">
      <div class="left">
        <header><h2>{at ? 'What did the tree look like then?' : 'The files'}</h2>
          {at && <p class="dim">At {visible(at)}{answer?.reply.time ? <> · {when(answer.reply.time, undefined, true)}</> : null} </p>}
          {at && <p class="actions">
            <button onClick={() => go({ view: 'compare', from: at, to: undefined, path: undefined })}>What changed since</button>
            {right.value === 'write' && <button onClick={() => go({ plan: JSON.stringify({ tool: 'restore', path: '.', at }) })}>Restore all of it…</button>}
          </p>}
        </header>
        {answer && !answer.reply.ok && <Refused reply={answer.reply} />}
        <Warnings reply={answer?.reply} />
        {!entries ? <Wait what="Reading the tree…" /> : entries.length ? <Tree entries={entries} chosen={path} /> : answer?.reply.ok ? <Empty title="There was nothing yet."><p>The journal begins later.</p></Empty> : null}
        <Terminal command={answer?.command} />
        {at && /^\w[\w:.-]*$/.test(at) && <Terminal command={`quire export-tree ${at} NEW_FOLDER`} />}
      </div>
      <div class="right">
        {!path ? <Empty title="Choose a file."><p>Each line is shown beside who wrote it. Click a name to see for which prompt, a number to follow the line back.</p></Empty> : (
          <>
            <header class="bar"><h3><Path path={path} /> {entry && <span class="dim">{size(entry.sizeBytes)}{entry.version ? ` · ${entry.version}` : ''}</span>}</h3></header>
            <p class="actions">
              <button onClick={() => go({ view: 'history', lines: undefined })}>Its history</button>
              {at && <button onClick={() => go({ view: 'compare', from: at, to: undefined, path })}>Compare with now</button>}
              {at && right.value === 'write' && <button onClick={() => go({ plan: JSON.stringify({ tool: 'restore', path, at }) })}>Restore this…</button>}
              <a class="button" href={`/file?${new URLSearchParams({ path, at: at ?? entry?.version ?? '' })}`} download>Download</a>
            </p>
            <Blame path={path} at={at} />
          </>
        )}
      </div>
    </section>
  );
}
