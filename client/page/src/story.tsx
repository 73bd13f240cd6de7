// One story: who, what for, and what became of each file.
import { useMemo } from 'preact/hooks';
import { right, useAsk } from './api';
import { type Wish, choice, whose, within } from './choice';
import { type Back, DiffTools, FileDiff } from './diff';
import { fresh } from './live';
import { Counts, Empty, Path, Refused, Terminal, Time, Wait, copy } from './parts';
import { go, here, past } from './state';
import { chosen, title, where } from './stories';
import { callEnd, many, plain, visible, when } from './text';
import type { Story, StoryCall, StoryFile } from './types';
import { Name, storyName, writerName } from './writers';

const SIGN: Record<string, string> = { added: 'A', removed: 'D', changed: 'M', mode: 'M', moved: 'R' };
const WORD: Record<string, string> = { added: 'new', removed: 'removed', changed: 'changed', mode: 'permissions changed', moved: 'moved' };

function backOf(story: Story, file: StoryFile): Back {
  const wish = choice(story, file), verb = wish?.tool === 'redo' ? 'Bring back' : 'Take back';
  return { writer: whose(story), probable: story.probable || file.probable, otherwise: wish ? { wish, label: `${verb} all of it in this file…` } : undefined };
}

function File({ file, story, open }: { file: StoryFile; story: Story; open: boolean }) {
  const fold = useMemo(() => (
    <h3>
      <button class="fold" aria-expanded={open} onClick={() => go({ file: open ? '' : file.path }, false)}>
        <span class={`status ${file.status}`} title={WORD[file.status]}>{SIGN[file.status] ?? 'M'}</span>
        <Path path={file.path} probable={file.probable} />
        {file.symbols?.length ? <span class="symbols cut">{visible(file.symbols.join(', '))}</span> : <span />}
        {file.binary ? <span class="counts dim">binary</span> : <Counts added={file.added} removed={file.removed} />}
      </button>
    </h3>
  ), [JSON.stringify(file), open]); // most files of a story are in it a call before or behind, too
  return (
    <li class={open ? 'open' : ''}>
      {fold}
      {open && (
        <>
          <p class="actions">
            <button onClick={() => go({ view: 'files', path: file.path, at: `seq:${story.seq}` })}>File then, and who wrote it</button>
            <button onClick={() => go({ view: 'history', path: file.path, lines: undefined })}>Its history</button>
            {right.value === 'write' && file.before && <button onClick={() => go({ plan: JSON.stringify({ tool: 'restore', path: file.path, at: file.before }) })}>Restore the file as before…</button>}
          </p>
          <FileDiff path={file.path} was={file.moved_from} from={(!file.moved_from && file.before) || `seq:${story.first - 1}`} to={file.version} version={file.version} writer={whose(story)} back={backOf(story, file)} />
        </>
      )}
    </li>
  );
}

function Call({ call, may }: { call: StoryCall; may: boolean }) {
  return useMemo(() => (
    <li><time dateTime={call.at} title={plain(call.at)}>{when(call.at, undefined, true)}</time> <code class="cut">{call.command ? <>$ {visible(call.command)}</> : visible(call.label)}{call.paths?.length ? <span class="dim"> {visible(call.paths.slice(0, 2).join(', '))}{call.paths.length > 2 ? ' …' : null}</span> : null}</code> <span class="dim">{many(call.writes, 'write')}, call #{call.burst ?? call.batch}{callEnd(call) && <>, {callEnd(call)}</>}</span>
      {may && call.writes > 0 && <button class="quiet" onClick={() => go({ plan: JSON.stringify(call.burst != null ? { tool: 'undo', burst: call.burst } : { tool: 'undo', batch: call.batch }) })}>Take back this call…</button>}
    </li>
  ), [JSON.stringify(call), may]);
}

function Purpose({ story }: { story: Story }) {
  if (story.form !== 'turn') return <p class="whole">{visible(title(story))}</p>;
  const prompt = (story.prompt ?? '').trim().replace(/\s*\n\s*/g, ' ↵ ');
  return prompt ? <p class="whole"><span class="prompt">{visible(prompt)}</span></p> : <p class="whole dim">No prompt was told for this turn.</p>;
}

export function Detail() {
  const { story: seq, file } = here, then = past.value, near = chosen.value;
  const found = useAsk(seq && !near ? 'stories' : null, { until: `seq:${seq}`, limit: 1, all: true }, then ? 0 : fresh.value);
  const known: Story | undefined = near ?? (found.loading ? undefined : found.reply?.stories?.[0]);
  const whole = useAsk(known ? 'stories' : null, { ...(known && within(known)), limit: 1, all: true });
  const asked = known ? whole : found;
  const told: Story | undefined = asked.reply?.stories?.[0] ?? known;
  const calls = told?.calls?.filter((call) => call.writes || call.end); // the list has those that wrote, and the answer may have no more
  // Drawn anew only when it differs: a step of the slider changes the rest of the page several times.
  const drawn = useMemo(() => told && <Change story={{ ...told, calls }} opened={file ?? told.files[0]?.path ?? ''} then={then} may={right.value === 'write'} />, [JSON.stringify({ ...told, calls }), file, then, right.value]);
  if (!seq) return <Empty title="Choose what to look at."><p>Click a row, or use <kbd>j</kbd> and <kbd>k</kbd>. <kbd>?</kbd> lists all keys.</p></Empty>;
  if (asked.reply && !asked.reply.ok) return <Refused reply={asked.reply} />;
  if (!drawn) return asked.loading ? <Wait what="Reading…" /> : <Empty title="There is nothing at this address."><p>The journal may be another one, or what it told was dropped.</p></Empty>;
  return <article class="detail" aria-label="What was changed">{drawn}<Terminal command={asked.command} /></article>;
}

function offer(story: Story, { tool, part, paths }: Wish, then: boolean): string {
  if (tool === 'redo') return 'Bring back…';
  if (part) return `Take back its part since ${when(part, undefined, true)}…`;
  if (then) return 'Take back what it did up to here…';
  return story.form === 'turn' ? 'Take back this turn…' : story.form === 'crowd' && !paths ? 'Take back all that was saved then…' : 'Take back all of it…';
}

function Change({ story, opened, then, may }: { story: Story; opened: string; then: boolean; may: boolean }) {
  const { files, calls = [] } = story;
  const back = choice(story);
  return (
    <>
      <header>
        <h2><Name name={storyName(story)} probable={story.probable} /> <Time at={story.at} /> {!then && <span class="dim">{when(story.at, undefined, true)}</span>}{story.at.slice(0, 19) !== story.ended_at.slice(0, 19) && <span class="dim"> to {when(story.ended_at, undefined, true)}</span>}</h2>
        <Purpose story={story} />
        <p class="facts dim">
          {story.files_count ? many(story.files_count, story.unread ? 'write' : 'file') : visible(where(story))}
          {story.folders?.length ? <> in {visible(story.folders.join(', '))}</> : null}
          {story.head_before && story.head_after ? <> · {visible(story.head_before)} → {visible(story.head_after)}</> : null}
          {story.writer?.model ? <> · {visible(story.writer.model)}</> : null}
          {story.writer?.turn ? <> · turn {visible(story.writer.turn.slice(0, 24))}</> : null}
          {story.unclaimed && <> · you, or another program: no agent’s call wrote it, as far as Quire knows</>}
          {!story.whole && <> · began earlier</>}
          {story.failed && <> · failed</>}
          {story.form === 'run' && <> · {story.status == null ? 'did not end by itself' : `exit ${story.status}`}</>}
          {story.by_others ? <> · others changed {many(story.by_others, 'file')} meanwhile</> : null}
        </p>
        <p class="actions">
          {back && may && <button class="takeback" onClick={() => go({ plan: JSON.stringify(back) })}>{offer(story, back, then)}</button>}
          <button onClick={() => go({ view: 'files', at: `seq:${story.seq}`, path: undefined })}>The tree then</button>
          <button onClick={() => go({ view: 'compare', from: `seq:${story.seq}`, to: undefined, path: undefined })}>What changed since</button>
          <button class="quiet" onClick={() => copy(`${location.origin}/?story=${story.seq}`, 'the link')}>Copy link</button>
        </p>
      </header>
      {story.refused?.length ? (
        <div class="note bad"><p>{many(story.refused_count ?? story.refused.length, 'write was', 'writes were')} refused:</p><ul>{story.refused.map((one, i) => <li key={i}><Path path={one.path} /> {visible(one.code.replace(/_/g, ' '))}</li>)}</ul></div>
      ) : null}
      {story.candidates?.length ? <p class="note">Who wrote it is not known. It may be {visible([...new Set(story.candidates.map((one) => `${one.writer} (${one.label})`))].join(' or '))}.</p> : null}
      {calls.length > 0 && (
        <details class="calls" open={calls.length < 4}>
          <summary>{many(story.calls_count ?? calls.length, 'call')}, {calls.filter((call) => call.writes).length} of them wrote</summary>
          <ol>{calls.map((call, i) => <Call key={i} call={call} may={may} />)}</ol>
        </details>
      )}
      {files.length > 0 && <div class="bar"><h3 class="count">{many(story.files_count, 'file')}</h3><DiffTools /></div>}
      <ol class="files">{files.map((one) => <File key={one.path} file={one} story={story} open={one.path === opened} />)}</ol>
      {(story.files_more ?? 0) > 0 && <p class="note">{many(story.files_more!, 'more file')}: <button onClick={() => go({ view: 'compare', from: `seq:${story.first - 1}`, to: `seq:${story.seq}`, path: undefined })}>compare before and after</button></p>}
      {!files.length && !story.refused?.length && <Empty title={story.form === 'capture' ? 'The journal begins here.' : story.form === 'checkpoint' ? 'A moment with a name.' : 'No file is different after it.'}><p>{story.form === 'capture' ? `${many(story.files_count, 'file was', 'files were')} there when the journal began.` : 'What was written was as before, or was taken back within it.'}</p></Empty>}
      <span hidden>{writerName(story.writer)}</span>
    </>
  );
}
