// Small parts that every view has: the same for a terminal, refusals, empty states, times.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { post } from './api';
import { past } from './state';
import { plain, visible, when } from './text';
import type { Rec, Reply } from './types';

export const said = signal(''); // what a screen reader is told, and the foot shows for a moment
let timer: ReturnType<typeof setTimeout> | undefined;
export function say(text: string) {
  said.value = plain(text);
  clearTimeout(timer);
  timer = setTimeout(() => { said.value = ''; }, 4000);
}

export async function copy(text: string, what: string) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}.`);
  } catch {
    say(`The browser did not let it be copied: ${text}`);
  }
}

/** The same in a terminal; `wraps`: on as many lines as it needs, each of whole words. */
export function Terminal({ command, label = 'In a terminal', wraps }: { command?: string; label?: string; wraps?: boolean }) {
  return useMemo(() => command ? (
    <p class="terminal">
      <span class="label">{label}</span>
      <code tabIndex={0}>{wraps ? command.split(' ').flatMap((word, i) => [i ? ' ' : '', <span key={i}>{visible(word)}</span>]) : visible(command)}</code>
      <button class="quiet" onClick={() => copy(command, 'the command')}>Copy</button>
    </p>
  ) : null, [command, label]);
}

export function Refused({ reply }: { reply: Reply }) {
  const down = reply.error === 'no_daemon' || reply.error === 'unknown';
  const [starting, set] = useState(false);
  async function start() {
    set(true);
    const { reply: told } = await post('start', {});
    set(false);
    say(told.ok ? 'The daemon runs.' : told.message);
  }
  return (
    <div class="note bad" role="alert">
      <p>{visible(reply.message || 'The call was refused.')}</p>
      {down && <p><button onClick={start} disabled={starting}>{starting ? 'Starting…' : 'Start the daemon'}</button> What is shown comes back by itself.</p>}
    </div>
  );
}

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty"><h2>{title}</h2>{children}</div>
);

export const Wait = ({ what }: { what: string }) => <p class="wait" role="status">{what}</p>;

export const Warnings = ({ reply }: { reply?: Reply }) => (
  <>{(reply?.warnings ?? []).map((one, i) => <p class="note" key={i}>{visible(one.message)}</p>)}</>
);

const minute = signal(0); // what is "3 min ago" now is not in a minute
setInterval(() => { minute.value++; }, 60_000);

export function Time({ at }: { at: string }) {
  void minute.value;
  const exact = when(at, undefined, true);
  return <time dateTime={at} title={plain(`${exact} · ${at}`)}>{past.value ? exact : when(at)}</time>;
}

/** A path whose end is seen where there is room for a part only: the folder gives way, the name stays. */
export function Path({ path, probable }: { path: string; probable?: boolean }) {
  const cut = path.lastIndexOf('/') + 1, told = probable ? `${plain(path)}: written probably by a command that ran then` : plain(path);
  return <span class="path" title={told}>{probable ? '~' : null}{cut > 0 && <bdi class="cut folder">{visible(path.slice(0, cut))}</bdi>}<bdi class="base">{visible(path.slice(cut))}</bdi></span>;
}

const KIND: Record<string, string> = { file_written: 'written', file_deleted: 'deleted', file_moved: 'moved', mode_changed: 'permissions', outside_written: 'saved', outside_deleted: 'deleted', outside_moved: 'moved', edit_refused: 'refused' };

/** What a record says was done, in words. */
export const done = (record: Rec) => record.how ?? (record.evidence === 'captured' ? 'first seen' : KIND[record.kind]) ?? record.kind.replace(/_/g, ' ');

export const Counts = ({ added, removed }: { added?: number; removed?: number }) =>
  added == null ? null : (
    <span class="counts" aria-label={`${added} lines added, ${removed} removed`}>
      <span class="plus">+{added}</span> <span class="minus">−{removed ?? 0}</span>
    </span>
  );
