// Taking something back: the plan first, in a panel beside what it is about; then, if the reader wants it, done.
import { useEffect, useState } from 'preact/hooks';
import { type Answer, post, right } from './api';
import { fresh } from './live';
import { Counts, Empty, Path, Refused, Terminal, Time, Wait, Warnings, say } from './parts';
import { go, here } from './state';
import { many, visible, when } from './text';
import type { Writer } from './types';
import { Name, writerName } from './writers';

const DOES: Record<string, string> = { write: 'lines go back', create: 'comes back', make: 'comes back', delete: 'is removed', move: 'is moved', mode: 'permissions go back', none: 'stays as it is' };
const WHY: Record<string, string> = { deleted: 'deleted it', moved: 'moved it', mode: 'changed its permissions', occupied: 'put something else there' };
const words = (text: string) => text.replace(/_/g, ' ');

const TOOLS = ['undo', 'redo', 'rollback', 'restore'];
const isPlain = (value: unknown): boolean => value === null || typeof value !== 'object' || (Array.isArray(value) && value.every((one) => typeof one === 'string'));

interface Wish { tool: string; conflicts?: string; probable?: boolean; part?: string; [name: string]: unknown }

function about(wish: Wish): string {
  const verb = wish.tool === 'redo' ? 'Bring back' : wish.tool === 'restore' ? 'Restore' : wish.tool === 'rollback' ? 'Go back' : 'Take back';
  if (wish.tool === 'restore') return `${verb} ${wish.path} as of ${wish.at}`;
  if (wish.lines) return `${verb} ${/\D/.test(String(wish.lines)) ? 'lines' : 'line'} ${String(wish.lines).replace('-', '–')} of ${wish.path} by ${wish.writer}`;
  if (wish.tool === 'rollback') return `${verb} to ${wish.to}, keeping what others did`;
  const whose = wish.turn ? `turn ${String(wish.turn).slice(0, 24)} of ${wish.writer}` : wish.burst != null ? `one call (burst ${wish.burst})` : wish.batch != null ? `one call (${wish.batch})` : wish.git ? 'what git did' : wish.writer === '*' ? 'this' : wish.writer ? `what ${wish.writer} did` : 'the last change';
  return `${verb} ${whose}${where(wish)}${wish.part ? `, the part since ${when(String(wish.part), undefined, true)}` : wish.from && !wish.turn && wish.writer !== '*' ? ' then' : ''}`;
}

function where({ path, paths }: Wish): string {
  const named = [...(Array.isArray(paths) ? paths : []), ...(path ? [path] : [])];
  return named.length ? ` in ${named.length > 2 ? many(named.length, 'file') : named.join(' and ')}` : '';
}

const by = (writer?: Writer, git?: boolean) => (git ? 'git' : writerName(writer));

export function Plan() {
  const text = here.plan;
  const [answer, set] = useState<Answer | null>(null);
  const [done, finish] = useState<Answer | null>(null);
  const [busy, work] = useState(false);
  const [stale, age] = useState(0);
  let wish: Wish | null = null;
  try { wish = text ? JSON.parse(text) : null; } catch { /* an address that somebody typed */ }
  const asked = wish && typeof wish === 'object' && TOOLS.includes(wish.tool) && Object.values(wish).every(isPlain) ? wish : null;

  useEffect(() => {
    set(null);
    finish(null);
    if (!asked || right.value !== 'write') return;
    let late = false;
    const { tool, part, ...choice } = asked;
    post(tool, { ...choice, plan: true }).then((found) => { if (!late) { set(found); age(fresh.peek()); } });
    return () => { late = true; };
  }, [text, right.value]);
  if (!text) return null;
  const change = (more: object) => go({ plan: JSON.stringify({ ...asked, ...more }) }, false);
  const close = () => go({ plan: undefined });

  async function carryOut() {
    work(true);
    const done = await post(asked!.tool, { token: answer!.reply.token });
    work(false);
    finish(done);
    say(done.reply.message);
  }

  const reply = (done ?? answer)?.reply;
  const files: any[] = reply?.files ?? [];
  const touched = files.filter((file) => file.action !== 'none');
  const told = files.filter((file) => file.action !== 'none' || file.conflicts?.length), idle = files.filter((file) => !told.includes(file));
  const conflicts = files.reduce((n, file) => n + (file.conflicts?.length ?? 0), 0);
  const kept = new Set(files.flatMap((file) => (file.kept ?? []).filter((one: any) => one.writer?.type !== 'undo').map((one: any) => by(one.writer, one.by_git))));
  const probable = (reply?.left_out ?? []).filter((one: any) => one.why === 'probable').length + (reply?.left_out_more ?? 0);
  return (
    <aside class="plan" aria-label="Plan">
      <header>
        <h2>{asked ? visible(about(asked)) : 'No plan'}</h2>
        <button class="quiet close" aria-label="Close the plan" onClick={close}>✕</button>
      </header>
      {!asked && <Empty title="This address names nothing that could be taken back." />}
      {asked && right.value === 'read' && <p class="verdict">This link may look only; nothing can be taken back with it.</p>}
      {asked && !reply && right.value !== 'read' && <Wait what="Planning; nothing is changed by that…" />}
      {reply && !reply.ok && !files.length && <Refused reply={reply} />}
      {reply && (reply.ok || files.length > 0) && (
        <>
          <p class={`verdict ${done?.reply.ok ? 'good' : reply.ok ? '' : 'bad'}`} role="status">
            {done || !reply.ok ? visible(reply.message) : touched.length ? <>Nothing is changed yet. <b>{touched.length < files.length ? `${touched.length} of ${many(files.length, 'file')}` : many(touched.length, 'file')}</b> would be.</> : 'Nothing can be taken back of that.'}
          </p>
          <ul class="planned">
            {told.map((file) => <PlannedFile key={file.path} file={file} restore={asked?.tool === 'restore'} />)}
          </ul>
          {!done && kept.size > 0 && <p class="note">Kept: {visible([...kept].map((name) => `${String(asked?.writer ?? '').startsWith(name) ? 'other ' : ''}work of ${name}`).join(', '))}.</p>}
          {idle.length > 0 && <details class="idle" open={!touched.length || idle.length < 6}><summary>{many(idle.length, `${told.length ? 'more ' : ''}file stays as it is`, `${told.length ? 'more ' : ''}files stay as they are`)}</summary><ul>{idle.map((file) => <li key={file.path}><Path path={file.path} /> <span class="dim">{file.was && <>was {visible(file.was)} then </>}· {visible(file.why?.replace(` on ${file.path}`, '') || words(file.skipped || 'as before already'))}</span></li>)}</ul></details>}
          {!done && asked?.tool !== 'restore' && conflicts > 0 && (
            <fieldset>
              <legend>Where later work built on it</legend>
              {[['skip', 'keep the later lines'], ['markers', 'write both, between conflict markers']].map(([how, told]) => (
                <label key={how}><input type="radio" name="conflicts" checked={(asked?.conflicts ?? 'skip') === how} onChange={() => change({ conflicts: how })} /> {told}</label>
              ))}
            </fieldset>
          )}
          {!done && probable > 0 && <label class="note"><input type="checkbox" checked={!!asked?.probable} onChange={(e) => change({ probable: e.currentTarget.checked || undefined })} /> {many(probable, 'more write is', 'more writes are')} only probably theirs (~); take them back, too</label>}
          {!done && reply.left_out_by_git > 0 && <p class="note">{many(reply.left_out_by_git, 'write of git stays', 'writes of git stay')}; the story of git’s command takes them back.</p>}
          <Warnings reply={reply} />
          {!done && fresh.value > stale && <p class="note">Something happened since the plan was made. If it moved these files, carrying it out is refused, and nothing is changed. <button onClick={() => go({ plan: JSON.stringify({ ...asked, again: undefined }) + ' ' }, false)}>Plan again</button></p>}
          <p class="actions">
            {!done && touched.length > 0 && right.value === 'write' && <button class="main" disabled={busy || !answer?.reply.token} onClick={carryOut}>{busy ? 'Working…' : asked?.tool === 'redo' ? 'Bring it back' : asked?.tool === 'restore' ? 'Restore' : touched.length < files.length ? `Take back ${touched.length} of ${many(files.length, 'file')}` : 'Take it back'}</button>}
            {done?.reply.ok && done.reply.batch != null && <button onClick={() => go({ plan: JSON.stringify({ tool: asked?.tool === 'redo' ? 'undo' : 'redo', batch: done.reply.batch }) })}>{asked?.tool === 'redo' ? 'Take it back again…' : 'Bring it back…'}</button>}
            <button onClick={close}>{done ? 'Close' : 'Cancel'}</button>
          </p>
        </>
      )}
      <Terminal command={answer?.command} label="This plan in a terminal" wraps />
    </aside>
  );
}

/** How many lines come and go. */
function sum(file: any): { added: number; removed: number } {
  const changed: any[] = file.changed ?? [];
  return { added: changed.reduce((n, one) => n + Math.max(one.end - one.start + 1, 0), 0), removed: changed.reduce((n, one) => n + Math.max(one.was_end - one.was_start + 1, 0), 0) };
}

function PlannedFile({ file, restore }: { file: any; restore: boolean }) {
  return (
    <li>
      <p><Path path={file.path} /> <b class={`does ${file.action}`}>{DOES[file.action] ?? words(file.action)}</b>{file.to ? <> to {visible(file.to)}</> : null} {file.changed?.length ? <Counts {...sum(file)} /> : null}</p>
      {file.was && <p class="sub dim">It was <Path path={file.was} /> then, and was renamed since.</p>}
      {(restore ? file.takes_back : file.kept)?.map((one: any, i: number) => <p key={i} class="sub"><span class="dim">{restore ? 'gives up' : 'stays:'} {one.version} by</span> <Name name={by(one.writer, one.by_git)} probable={one.evidence === 'during'} /> {one.at && <Time at={one.at} />}</p>)}
      {file.conflicts?.map((one: any, i: number) => <p key={i} class="sub">{visible(by(one.writer, one.by_git))} {WHY[one.why] ?? 'built on it'} later, in {one.version}{one.lines?.length ? `, lines ${one.lines.map((l: any) => (l.start === l.end ? l.start : `${l.start}–${l.end}`)).join(', ')}` : ''}</p>)}
      {file.first_seen && <p class="sub dim">It was there when the journal began; that version stays.</p>}
    </li>
  );
}
