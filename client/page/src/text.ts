// Text that others wrote: characters that cannot be seen, or that turn or hide others, are shown as marks.
import { type ComponentChildren, h } from 'preact';

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u3164\ufe00-\ufe0f\uffa0\u{16fe4}\u{1d159}\u{e0100}-\u{e01ef}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800]/u;
const NAMES: Record<number, string> = {
  0x09: 'tab', 0x0a: 'line break', 0x0d: 'carriage return', 0x1b: 'escape', 0x00: 'NUL', 0x200b: 'zero-width space', 0x200d: 'zero-width joiner', 0x200c: 'zero-width non-joiner',
  0x202e: 'right-to-left override', 0x202d: 'left-to-right override', 0x2066: 'left-to-right isolate', 0x2067: 'right-to-left isolate', 0x2069: 'end of isolate', 0xfeff: 'byte order mark', 0xad: 'soft hyphen', 0xa0: 'no-break space', 0x2800: 'blank that is no space',
};

/** The pieces of a text: strings that can be shown, and code points that cannot. `tabs`: of a line, which has room for them. */
export function pieces(text: string, tabs = false): (string | number)[] {
  if (!HIDDEN.test(text)) return [text];
  const found: (string | number)[] = [];
  let plain = '';
  for (const sign of text) {
    if (HIDDEN.test(sign) && !(tabs && sign === '\t')) {
      if (plain) found.push(plain);
      found.push(sign.codePointAt(0)!);
      plain = '';
    } else plain += sign;
  }
  if (plain) found.push(plain);
  return found;
}

export const code = (point: number) => point.toString(16).toUpperCase().padStart(4, '0');

/** A text as nodes: never as HTML. Most texts are one string, and not a list of one, which Preact would draw as a component. */
export function visible(text: unknown, tabs = false): ComponentChildren {
  const nodes = pieces(String(text ?? ''), tabs).map((piece) =>
    typeof piece === 'string' ? piece : h('span', { class: 'mark', title: `U+${code(piece)} ${NAMES[piece] ?? 'cannot be seen'}` }, code(piece)),
  );
  return nodes.length === 1 ? nodes[0] : nodes;
}

/** A text for a title or a label, where there are no nodes. */
export const plain = (text: unknown) => pieces(String(text ?? '')).map((piece) => (typeof piece === 'string' ? piece : `⟨${code(piece)}⟩`)).join('');

/** A whole number with a comma between its thousands; `toLocaleString` takes longer than the row that it stands in. */
export const grouped = (n: number) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');

export const many = (n: number, one: string, more = `${one}s`) => `${grouped(n)} ${n === 1 ? one : more}`;

/** The circumstances of a write in words; only the lock of git's index says of some that git ran. */
export function circumstances(hint = ''): string {
  if (hint === 'git' || hint.startsWith('git: index.lock was ')) return 'while git ran';
  if (hint.startsWith('git: ') && !hint.startsWith('git: HEAD')) return gitCommand(hint.slice(5).split(' (HEAD ')[0]!);
  return hint;
}

const IN_HEADS_LOG = /^(?:(checkout|reset): moving (?:from \S+ )?to (\S+)|((?:pull|rebase)\b[^:(]*) \([a-z]+\): .*|((?:merge|pull|rebase)\b[^:]*): (?:Fast-forward|Merge made by |returning to |checkout |updating HEAD).*)$/s;

/** A command of git, or its entry in HEAD's log, which tells the move beside it, as a command. */
export function gitCommand(said: string): string {
  const found = IN_HEADS_LOG.exec(said);
  const command = found ? found[3] ?? found[4] ?? `${found[1]} ${found[2]}` : said;
  return command.startsWith('git ') ? command : `git ${command}`;
}

/** A title of saves that were made beside something. */
export function meanwhile(hint?: string): string {
  const said = circumstances(hint);
  return said && !said.startsWith('while ') ? `while ${said} ran` : said;
}

/** A git operation by its commands, else by what its writes are labelled with. */
export function gitTitle(commands: string[] = [], hint = ''): string {
  const named = [...new Set(commands.map(gitCommand))].slice(0, 2).join(' after ');
  const said = circumstances(hint);
  return named || (said.startsWith('git ') ? said : 'a git command');
}

/** An undo by its calls; a restore or a reject takes back lines, and no calls. */
export const undoTitle = (how = 'undo', undone: number[] = []) => (undone.length ? `${how} of ${many(undone.length, 'call')}` : how);

/** What is known of a call whose end its agent has not reported; '' of another. */
export function callEnd(call: { end?: string; writes: number }): string {
  if (!call.end) return '';
  if (call.end === 'open') return call.writes ? 'running' : 'asked or running';
  return call.writes ? 'its end was not reported' : 'denied, or its end was not reported';
}

export function size(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB'];
  let at = 0;
  while (bytes >= 1000 && at < units.length - 1) { bytes /= 1000; at++; }
  return at === 0 ? `${bytes} bytes` : `${bytes.toFixed(bytes < 10 ? 1 : 0)} ${units[at]}`;
}

const pad = (n: number) => String(n).padStart(2, '0');

/** A time as a person says it: today the time, before that the day as well. */
export function when(at: string | number, now = Date.now(), seconds = false): string {
  const time = new Date(at);
  if (isNaN(+time)) return String(at);
  const past = (now - +time) / 1000;
  if (!seconds && past >= 0 && past < 60) return 'just now';
  if (!seconds && past >= 0 && past < 3600) return `${Math.floor(past / 60)} min ago`;
  const clock = `${pad(time.getHours())}:${pad(time.getMinutes())}${seconds ? `:${pad(time.getSeconds())}` : ''}`;
  const day = `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
  const today = new Date(now);
  if (day === `${today.getFullYear()}-${pad(today.getMonth() + 1)}-${pad(today.getDate())}`) return clock;
  if (seconds) return `${day} ${clock}`;
  return time.getFullYear() === today.getFullYear() ? `${day.slice(5)} ${clock}` : day;
}
