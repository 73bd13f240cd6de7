// What agents wrote and nobody has accepted yet: by writer and turn, place for place, accepted here or rejected.
import { useState } from 'preact/hooks';
import { post, right, useAsk } from './api';
import { Unified } from './diff';
import { fresh } from './live';
import { Empty, Path, Refused, Terminal, Wait, Warnings, say } from './parts';
import { go, here } from './state';
import { many, plain, visible } from './text';
import { numbered } from './words';
import { Name, writerName } from './writers';

const HEAD = 'HEAD'; // what git has needs no review; without git, what was there first

interface Place { start: number; end: number; lines: number; writers: any[]; rows: string[]; rows_more: number; whole: boolean; rejected: boolean }
interface File { path: string; status: string; version: string; hunks: Place[] }

const SAID: Record<string, string> = { added: 'new', removed: 'removed', changed: 'changed' };

function where(file: File, one: Place): string {
  if (one.whole || file.status === 'removed') return SAID[file.status] ?? 'changed';
  if (one.end < one.start) return `Removed in front of line ${one.start}`;
  return one.end > one.start ? `Lines ${one.start}–${one.end}` : `Line ${one.start}`;
}

export function Review() {
  const tick = fresh.value;
  const path = here.path;
  const [done, age] = useState(0);
  const git = useAsk('review', { since: HEAD, path }, `${tick} ${done}`);
  const none = git.reply && !git.reply.ok && git.reply.suggested_action === 'name_a_point';
  const bare = useAsk(none ? 'review' : null, { path }, `${tick} ${done}`);
  const asked = none ? bare : git;
  const reply = asked.reply;
  const files: File[] = reply?.files ?? [];
  const may = right.value === 'write';
  const since = none ? {} : { since: HEAD };

  async function mark(tool: 'accept' | 'reject', choice: object) {
    const { reply: told } = await post(tool, { ...since, ...choice, upto: reply!.seq });
    say(told.message);
    age(done + 1);
  }
  const accept = (choice: object) => mark('accept', choice);
  const lines = (one: Place) => (one.end < one.start ? `${one.start}-${one.start}` : `${one.start}-${one.end}`);
  const about = (file: File, one: Place) => ({ path: file.path, ...(one.whole || file.status === 'removed' ? {} : { lines: lines(one) }) });
  return (
    <section class="view review" aria-label="Review">
      <header><h2>What did agents write that nobody has accepted yet?</h2><p class="dim">Accept: somebody has looked at it. Reject: it is taken back, at the latest when its turn has ended; it can be brought back.</p>{path && <p>in <Path path={path} /> <button class="quiet" onClick={() => go({ path: undefined })}>everywhere</button></p>}</header>
      {!reply && <Wait what="Looking for what is to be reviewed…" />}
      {reply && !reply.ok && <Refused reply={reply} />}
      <Warnings reply={reply} />
      {reply?.ok && !files.length && <Empty title="Nothing is left to review."><p>What agents write appears here, until somebody accepts it, takes it back, or commits it.</p></Empty>}
      {files.length > 0 && (
        <table class="grid turns"><thead><tr><th>Who</th><th>Asked for</th><th><span class="sr">Accept</span></th></tr></thead><tbody>{(reply!.by as any[]).map((one, i) => (
          <tr key={i}><td><Name name={writerName(one.writer)} probable={one.writer.probable} /></td><td>{one.prompt ? <span class="prompt">{visible(one.prompt.slice(0, 120))}</span> : <span class="dim">{one.turn ? `turn ${visible(one.turn.slice(0, 20))}` : '–'}</span>}</td>
            <td>{may ? <button onClick={() => accept({ path, writer: one.writer.id === 'outside' ? 'outside' : [one.writer.agent || 'user', one.writer.agent_session].filter(Boolean).join('/'), turn: one.turn || undefined })}>Accept {many(one.lines, 'line')}</button> : many(one.lines, 'line')}</td></tr>
        ))}</tbody></table>
      )}
      <ol class="files">{files.map((file) => (
        <li key={file.path}>
          <div class="bar"><h3><Path path={file.path} /> <span class="dim">{SAID[file.status]}</span></h3><span class="actions">
            <button class="quiet" onClick={() => go({ view: 'history', path: file.path })}>Its history</button>
            {may && <button onClick={() => accept({ path: file.path })}>Accept these places</button>}
          </span></div>
          {file.hunks.map((one, i) => (
            <div key={i} class="hunks" role="region" aria-label={`${where(file, one)} of ${plain(file.path)}`} tabIndex={0}>
              <table class="diff"><colgroup><col class="no" /><col class="no" /><col class="sign" /><col /></colgroup><tbody class="hunk">
                <tr class="at"><td colSpan={4}><span>{where(file, one)}</span> {one.writers.map((writer, n) => <Name key={n} name={writerName(writer)} probable={writer.probable} />)}
                  {one.rejected && <span class="dim">rejected: taken back when its turn has ended</span>}
                  {may && !one.rejected && <button class="quiet" onClick={() => mark('reject', about(file, one))}>Reject</button>}
                  {may && <button class="quiet" onClick={() => accept(about(file, one))}>Accept</button>}
                </td></tr>
                <Unified lines={numbered({ old_start: 1, old_lines: 0, new_start: one.start, new_lines: 1, lines: one.rows }).map((line) => ({ ...line, old: undefined }))} />
                {one.rows_more > 0 && <tr><td colSpan={4} class="dim">{many(one.rows_more, 'more line')}</td></tr>}
              </tbody></table>
            </div>
          ))}
        </li>
      ))}</ol>
      {reply?.more ? <p class="more dim">{many(reply.more, 'more file')}: accept some, and they appear.</p> : null}
      <Terminal command={asked.command} />
    </section>
  );
}
