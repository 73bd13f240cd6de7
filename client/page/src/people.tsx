// Who is at work, on what, and where they meet: present callers, leases, collisions, refusals.
import { useAsk } from './api';
import { fresh } from './live';
import { Empty, Path, Refused, Terminal, Time, Wait } from './parts';
import { go } from './state';
import { many, visible } from './text';
import { Name, writerName } from './writers';

const WHY: Record<string, string> = {
  write_conflict: 'It would have replaced a file without having read its newest version. Nothing was written.',
  stale_file: 'Others had changed the file since it was read. Nothing was written.',
  anchor_stale: 'Others had changed these lines since they were read. Nothing was written.',
  lease_held: 'Somebody else keeps others away from it. Nothing was written.',
};

export function People() {
  const tick = fresh.value;
  const who = useAsk('who', { hours: 12 }, tick);
  const claims = useAsk('claims', {}, tick);
  const refusals = useAsk('log', { kind: ['edit_refused'], limit: 50 }, tick);
  const writers: any[] = who.reply?.writers ?? [];
  const here = writers.filter((one) => one.present), gone = writers.filter((one) => !one.present);
  const met: any[] = who.reply?.collisions ?? [];
  const leases: any[] = [...(claims.reply?.leases ?? []), ...(claims.reply?.waiting ?? [])];
  const refused: any[] = refusals.reply?.records ?? [];
  return (
    <section class="view people" aria-label="People and agents">
      <header><h2>Who is at work, and where do they meet?</h2></header>
      {who.reply && !who.reply.ok && <Refused reply={who.reply} />}
      {met.length > 0 && (
        <div class="note"><h3>{many(met.length, 'file was', 'files were')} changed by several of them lately</h3>
          <p class="dim">Nothing is lost: an edit that meets another’s is merged with it, or refused.</p>
          <ul class="rows">{met.map((one) => <li key={one.path}><Path path={one.path} /> {one.writers.map((each: any, i: number) => <Name key={i} name={writerName(each.writer)} />)} {one.symbols?.length ? <span class="dim">all in {visible(one.symbols.join(', '))}</span> : null} <button onClick={() => go({ view: 'history', path: one.path })}>Its history</button></li>)}</ul>
        </div>
      )}
      <h3>Here now</h3>
      {!who.reply ? <Wait what="Asking who is there…" /> : !here.length ? <Empty title="Nobody is at work."><p>Agents appear here as soon as they call. <code>quire setup claude-code</code> tells one about Quire.</p></Empty> : <Table writers={here} />}
      <Terminal command={who.command?.includes('call') ? 'quire who' : who.command} />
      <h3>Leases</h3>
      {!leases.length ? <p class="dim">Nobody keeps others away from a file.</p> : (
        <table class="grid"><thead><tr><th>Who</th><th>Kind</th><th>Where</th><th>Why</th><th>Until</th></tr></thead><tbody>{leases.map((one, i) => (
          <tr key={i}><td><Name name={writerName(one.holder)} /></td><td>{one.lease == null ? `waits for ${one.kind}` : one.kind}</td><td><Path path={one.path} />{one.lines ? `:${one.lines.start}–${one.lines.end}` : ''}</td><td>{visible(one.reason || '–')}</td><td>{one.expires_at ? <Time at={one.expires_at} /> : '–'}</td></tr>
        ))}</tbody></table>
      )}
      <Terminal command={claims.command} />
      <h3>Refused</h3>
      {!refused.length ? <p class="dim">No write was refused.</p> : (
        <table class="grid"><thead><tr><th>When</th><th>Who</th><th>What</th><th>Why</th></tr></thead><tbody>{refused.map((one) => (
          <tr key={one.seq}><td><Time at={one.at} /></td><td><Name name={writerName(one.writer)} /></td><td>{one.path ? <Path path={one.path} /> : '–'}</td><td>{WHY[one.code ?? ''] ?? visible(String(one.code ?? '').replace(/_/g, ' '))}{one.why && !WHY[one.code ?? ''] ? <span class="dim"> · {visible(one.why)}</span> : null}</td></tr>
        ))}</tbody></table>
      )}
      <Terminal command={refusals.command} />
      {gone.length > 0 && <><h3>Earlier today</h3><Table writers={gone} /></>}
    </section>
  );
}

function Table({ writers }: { writers: any[] }) {
  return (
    <table class="grid"><thead><tr><th>Who</th><th>Changed lately</th><th>Last change</th><th>Last call</th><th><span class="sr">What they did</span></th></tr></thead><tbody>{writers.map((one, i) => (
      <tr key={i}>
        <td><Name name={writerName(one)} /></td>
        <td><div class="several">{(one.on?.files ?? []).slice(0, 3).map((file: any, j: number) => <Path key={j} path={file.path} />)}</div>{(one.on?.files ?? []).length > 3 && <span class="dim">and {one.on.files.length - 3} more</span>}{!(one.on?.files ?? []).length && <span class="dim">–</span>}</td>
        <td>{one.last_change?.at ? <Time at={one.last_change.at} /> : <span class="dim">–</span>}</td>
        <td>{one.last_seen ? <Time at={one.last_seen} /> : '–'}</td>
        <td><button onClick={() => go({ view: 'activity', q: `writer:${one.agent ? writerFilter(one) : 'user'}`, story: undefined })}>What they did</button></td>
      </tr>
    ))}</tbody></table>
  );
}

const writerFilter = (one: any) => (one.agent_session ? `${one.agent}/${one.parent || one.agent_session}` : one.agent);
